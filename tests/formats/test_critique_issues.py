"""The skeptic's issues: how its form is read, what becomes of each issue, and what that leaves of the score."""

from __future__ import annotations

import json
from typing import Any

import pytest
from critics import PROPOSAL, REVIEW, critique, fine, issue, proposal, review
from hypothesis import given
from hypothesis import strategies as st

from moot.core.debate import Turn
from moot.formats.critique.answers import Raised
from moot.formats.critique.issues import TrackedIssue, auto_score, judged, replied, tracked
from moot.formats.critique.version_1 import Critique, replies
from moot.players.answer import Unreadable, parse

OPEN = TrackedIssue(
    number=1, severity="critical", text="Why is q even?", passage="so is q", quoted=True, raised=1, upheld=1
)


def after(*turns: Turn) -> list[tuple[int, str, str]]:
    return [(each.number, each.status, each.severity) for each in tracked(turns)]


def test_an_issue_is_answered_when_the_proposer_replies_and_the_skeptic_does_not_take_it_up_again() -> None:
    said = (proposal(PROPOSAL, 1), review(critique(), 1), proposal("Issue 1: because q² = 2r².", 2))
    assert tracked(said[:2]) == (OPEN,)
    waiting = TrackedIssue(
        number=1,
        severity="critical",
        text="Why is q even?",
        passage="so is q",
        quoted=True,
        raised=1,
        upheld=1,
        status="open",
        reply="because q² = 2r².",
        replied=2,
    )
    assert tracked(said) == (waiting,)
    settled = TrackedIssue(
        number=1,
        severity="critical",
        text="Why is q even?",
        passage="so is q",
        quoted=True,
        raised=1,
        upheld=1,
        status="answered",
        reply="because q² = 2r².",
        replied=2,
    )
    assert tracked((*said, review(fine(), 2))) == (settled,)


REPLIED = (proposal(PROPOSAL, 1), review(critique(), 1), proposal("Issue 1: because q² = 2r².", 2))
UNREPLIED = (*REPLIED[:2], proposal(PROPOSAL, 2))


@pytest.mark.parametrize(
    ("said", "now", "status"),
    [
        (REPLIED, fine(upheld=[1]), "open"),
        (REPLIED, fine(withdrawn=[1]), "withdrawn"),
        (REPLIED, fine(withdrawn=[1], upheld=[1]), "open"),
        (REPLIED, fine(None), "open"),
        (UNREPLIED, fine(), "open"),
        (UNREPLIED, fine(withdrawn=[1]), "withdrawn"),
        (UNREPLIED, fine(None, withdrawn=["Issue 1"]), "withdrawn"),
        (UNREPLIED, fine(withdrawn=[2, 0, -1, 99]), "open"),
    ],
)
def test_only_the_skeptic_s_form_settles_an_issue(said: tuple[Turn, ...], now: str, status: str) -> None:
    assert after(*said, review(now, 2)) == [(1, status, "critical")]


def test_an_issue_raised_again_word_for_word_is_the_same_issue_and_open_again() -> None:
    again = critique(issue("WHY is q  even?!", "minor", ""), issue("And what of p?", "major"))
    assert after(*REPLIED, review(again, 2)) == [(1, "open", "minor"), (2, "open", "major")]
    assert after(*REPLIED, review(fine(), 2), review(again, 3)) == [(1, "open", "minor"), (2, "open", "major")]


def test_what_was_withdrawn_stays_so_and_gets_a_new_number_when_it_is_raised_again() -> None:
    said = (*REPLIED, review(fine(withdrawn=[1]), 2), review(fine(upheld=[1]), 3), review(critique(), 4))
    assert after(*said) == [(1, "withdrawn", "critical"), (2, "open", "critical")]


def test_an_issue_upheld_needs_another_reply() -> None:
    upheld = (*REPLIED, review(fine(upheld=[1]), 2))
    assert after(*upheld, proposal(PROPOSAL, 3), review(fine(), 3)) == [(1, "open", "critical")]
    assert after(*upheld, proposal("Issue 1: see above.", 3), review(fine(), 3)) == [(1, "answered", "critical")]


def test_a_critique_that_could_not_be_read_settles_nothing_and_the_next_one_does() -> None:
    unread = (*REPLIED, review(fine(None), 2), proposal(PROPOSAL, 3))
    assert after(*unread) == [(1, "open", "critical")]
    assert after(*unread, review(fine(), 3)) == [(1, "answered", "critical")]


@pytest.mark.parametrize("echo", ["Why is q even?", "why is q even “so is q”", "…", "**"])
def test_who_only_repeats_an_issue_has_not_replied_to_it(echo: str) -> None:
    assert replied([OPEN], proposal(f"Issue 1 (critical): {echo}", 2)) == (OPEN,)


def test_a_reply_that_settled_an_issue_is_kept() -> None:
    later = (*REPLIED, review(fine(), 2), proposal("Issue 1: as I said.", 3))
    assert [(each.status, each.reply, each.replied) for each in tracked(later)] == [
        ("answered", "because q² = 2r².", 2)
    ]


def test_no_more_than_twelve_issues_are_taken_from_one_critique() -> None:
    many = critique(*(issue(f"Gap {number}") for number in range(20)))
    assert [each.text for each in tracked([review(many, 1)])] == [f"Gap {number}" for number in range(12)]


def test_the_same_issue_twice_in_a_critique_is_one() -> None:
    assert after(proposal(PROPOSAL, 1), review(critique(issue("x"), issue("y"), issue("X!", "minor")), 1)) == [
        (1, "open", "critical"),
        (2, "open", "critical"),
    ]


@pytest.mark.parametrize(
    ("passage", "quoted"),
    [("Then p is even, and", True), ("then P IS even", True), ("p is odd", False), ("", False), ("…", False)],
)
def test_a_passage_is_quoted_when_it_stands_in_the_proposal_word_for_word(passage: str, quoted: bool) -> None:
    (found,) = tracked([proposal(PROPOSAL, 1), review(critique(issue(passage=passage)), 1)])
    assert (found.passage, found.quoted) == (passage, quoted)


TEXTS = ["Why is q even?", "What of p?", "Which terms?", "why is Q even"]
NUMBERS = st.lists(st.integers(-1, 9), max_size=4)
CRITIQUES = st.builds(
    Critique,
    review=st.just(REVIEW),
    upheld=NUMBERS,
    withdrawn=NUMBERS,
    issues=st.lists(
        st.builds(Raised, severity=st.sampled_from(["critical", "major", "minor"]), text=st.sampled_from(TEXTS)),
        max_size=3,
    ),
    score=st.none() | st.integers(0, 10),
    ready=st.booleans(),
)
PROPOSALS = st.lists(st.integers(0, 9), max_size=4).map(
    lambda numbers: "\n\n".join([*(f"Issue {number}: it is so." for number in numbers), PROPOSAL])
)
ALLOWED = {
    ("open", "open"),
    ("open", "answered"),
    ("open", "withdrawn"),
    ("answered", "answered"),
    ("answered", "open"),
    ("answered", "withdrawn"),
    ("withdrawn", "withdrawn"),
}


@given(st.lists(st.tuples(PROPOSALS, CRITIQUES), max_size=8))
def test_no_issue_is_ever_lost_renumbered_or_settled_in_another_way(rounds: list[tuple[str, Critique]]) -> None:
    issues: tuple[TrackedIssue, ...] = ()
    turns: list[Turn] = []
    for round, (words, form) in enumerate(rounds, 1):
        heard = replied(issues, proposal(words, round))
        assert [each.status for each in heard] == [each.status for each in issues]
        now = judged(heard, form, words, round)
        assert [each.number for each in now] == list(range(1, len(now) + 1))
        for was, became in zip(heard, now, strict=False):
            check_step(was, became, form)
        still = {each.text.casefold().strip("?") for each in now if each.status == "open"}
        assert {raised.text.casefold().strip("?") for raised in form.issues} <= still
        issues = now
        turns += [
            proposal(words, round),
            Turn(
                position=0, seat="skeptic", kind="critique", round=round, content="", data=form.model_dump(mode="json")
            ),
        ]
    assert tracked(turns) == issues


def check_step(was: TrackedIssue, became: TrackedIssue, form: Critique) -> None:
    same = ("number", "text", "passage", "quoted", "raised", "reply", "replied")
    assert [getattr(was, name) for name in same] == [getattr(became, name) for name in same]
    assert (was.status, became.status) in ALLOWED
    if became.status != was.status == "open":
        withdrawn = became.number in form.withdrawn
        assert withdrawn if became.status == "withdrawn" else became.replied > became.upheld and not withdrawn


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Issue 1: It is not so.", {1: "It is not so."}),
        ("**Issue 1 (critical):** It is\nnot so.\n\nThe answer is 2.", {1: "It is not so."}),
        ("### Issue 12\n\nIt is not so.\n\nMore.", {12: "It is not so."}),
        ("- issue #3 is mistaken: see above", {3: "is mistaken: see above"}),
        ("Issues 1, 2 and 4: conceded.", {1: "conceded.", 2: "conceded.", 4: "conceded."}),
        ("First, issue 1: yes. Then issue 2 — no.", {1: "yes. Then", 2: "no."}),
        ("I will not speak of issue 1. Nor of issue 2, ever.", {}),
        ("Issue 1:\n\nIssue 2:   \n", {}),
        ("A tissue 1: no. Issue one: no. Issue 12345: no.", {}),
        ("Issue 1: a.\nIssue 1: b.", {1: "b."}),
        ("", {}),
    ],
)
def test_replies_are_read_from_prose_by_number(text: str, found: dict[int, str]) -> None:
    assert replies(text) == found


@given(
    st.lists(st.sampled_from(["issue", "issues", " ", "1", ",", "and", "(", ")", "*", ":", "\n", "#", "x"])).map(
        "".join
    )
)
def test_whatever_a_proposal_says_its_replies_are_numbers_and_words(text: str) -> None:
    assert all(0 <= number <= 9999 and reply.strip() == reply != "" for number, reply in replies(text).items())


# What the skeptic hands in


@pytest.mark.parametrize(
    ("sloppy", "read"),
    [
        ({}, {}),
        ({"score": "7/10"}, {"score": 7}),
        ({"score": 7.5, "ready": None}, {"score": 7.5}),
        ({"score": None}, {"score": None}),
        ({"ready": "yes"}, {"ready": True}),
        ({"issues": None, "upheld": None, "withdrawn": "none"}, {}),
        (
            {"upheld": ["Issue 2", {"number": 3}, 4.0, True], "withdrawn": "1, 5"},
            {"upheld": [2, 3, 4], "withdrawn": [1, 5]},
        ),
        (
            {"issues": {"issue": "a \n gap", "severity": "🔴 Critical", "passage": None}},
            {"issues": [{"text": "a gap", "severity": "critical", "passage": ""}]},
        ),
        (
            {"issues": [{"text": " "}, {"text": "", "description": "x", "severity": "MINOR", "passage": ["a", "b"]}]},
            {"issues": [{"text": "x", "severity": "minor", "passage": "a b"}]},
        ),
    ],
)
def test_a_sloppy_form_is_read_all_the_same(sloppy: dict[str, Any], read: dict[str, Any]) -> None:
    usual = {"review": REVIEW, "upheld": [], "withdrawn": [], "issues": [], "score": 5, "ready": False}
    made = parse(json.dumps({"review": REVIEW, "score": 5, **sloppy}), Critique)
    assert made.model_dump() == {**usual, **read}
    assert Critique.model_validate(made.model_dump()) == made


@pytest.mark.parametrize(
    ("form", "fault"),
    [
        ("Ready for Synthesis ✅", "there is no JSON object in it"),
        ("{}", "review: Field required; score: Field required"),
        (critique(score=11), "score: Input should be less than or equal to 10"),
        (critique(score="high"), "score: Input should be a valid number, unable to parse string as a number"),
        (
            critique({"text": "x", "severity": "blocker"}),
            "issues.0.severity: Input should be 'critical', 'major' or 'minor'",
        ),
        (critique({"text": "x"}), "issues.0.severity: Field required"),
        (fine(ready="Ready for Synthesis ✅"), "ready: Input should be a valid boolean, unable to interpret input"),  # type: ignore[arg-type]
    ],
)
def test_a_form_that_cannot_be_read_says_why(form: str, fault: str) -> None:
    with pytest.raises(Unreadable) as raised:
        parse(form, Critique)
    assert str(raised.value) == fault


# The automatic score


@pytest.mark.parametrize(
    ("score", "severities", "auto"),
    [
        (9, [], 9),
        (9, ["minor"], 8.75),
        (8.5, ["major", "minor", "minor"], 7),
        (9, ["critical", "major"], 5),
        (4, ["critical", "critical"], 0),
        (None, [], None),
        (None, ["critical"], None),
    ],
)
def test_the_automatic_score_is_the_last_score_less_what_stayed_open(
    score: float | None, severities: list[Any], auto: float | None
) -> None:
    held = [
        TrackedIssue(number=at, severity=severity, text="x", passage="", quoted=False, raised=1, upheld=1)
        for at, severity in enumerate(severities, 1)
    ]
    settled = [
        TrackedIssue(
            number=8, severity="critical", text="x", passage="", quoted=False, raised=1, upheld=1, status="answered"
        ),
        TrackedIssue(
            number=9, severity="major", text="x", passage="", quoted=False, raised=1, upheld=1, status="withdrawn"
        ),
    ]
    assert auto_score(score, [*held, *settled]) == auto
