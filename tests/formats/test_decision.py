"""The decision record: its sections, its links to turns, its confidence, and that no text can break it.

The files tests/snapshots/panel-*.md hold whole documents. To change one, change the code, run

    REWRITE_SNAPSHOTS=1 uv run pytest tests/formats/test_decision.py

and read the difference that git shows.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from moot.core.debate import HumanReply, Issue, Step
from moot.formats.panel.decision import Decision
from moot.formats.panel.format import PANEL
from moot.formats.panel.record import first_sentence
from stage import CLEAR, FAST, Panelists, Stage, silent

SNAPSHOTS = Path(__file__).parent.parent / "snapshots"
TOPIC = "Should we use Redis or PostgreSQL for caching? We have three people."
ALONE = {"checkpoints": False, "max_rounds": 1}
SECTIONS = [
    "Question",
    "This changes if",
    "Options considered",
    "Next steps",
    "What the panel was told",
    "What the panel was given",
    "Points of agreement",
    "Tensions",
    "Dissent",
    "Open questions",
    "Figures and where they come from",
    "Perspectives",
]
FULL: dict[str, Any] = {
    "recommendation": "Use PostgreSQL first, and add Redis only when reads take too long.",
    "lead": "Nobody has measured that reads are slow. A server that is not there does not fail.",
    "options": [
        {"option": "PostgreSQL", "recommended": True, "why": "three people can run it"},
        {"option": "Redis", "recommended": False, "why": "one more server to run"},
    ],
    "perspectives": [
        {
            "perspective": FAST,
            "key_arguments": ["Redis answers in under a millisecond.", "The moon is made of cheese, say the Swiss."],
            "trade_offs_accepted": "one more server to run",
            "option": "Redis",
        },
        {
            "perspective": CLEAR.lower(),
            "key_arguments": ["Every server more is a server that fails at night."],
            "trade_offs_accepted": "slower reads",
            "option": "postgresql",
        },
    ],
    "agreement": ["Caching is needed."],
    "tensions": ["speed against calm nights"],
    "changes_if": ["more than 1000 requests a second: start with Redis"],
    "open_questions": ["how many reads there are"],
    "tasks": ["Add an unlogged table.", "Measure for a week."],
    "acceptance": ["95% of reads take less than 5 ms."],
}
OPENINGS = {
    FAST: "I recommend Redis. It answers in under a millisecond, as Redis keeps all in memory. I would pay for that.",
    CLEAR: "I recommend PostgreSQL. Every server more is a server that fails at night, with three of us.",
}
REBUTTALS: dict[str, dict[str, Any]] = {
    FAST: {
        "content": f"{CLEAR} is right about the nights. Speed still wins customers.",
        "responding_to": [f"{CLEAR}: nobody waits"],
        "concedes": [f"{CLEAR}: nights"],
        "recommendation": "Start with Redis.",
        "would_change": "reads under 5 ms without it",
    },
    CLEAR: {
        "content": f"I concede to {FAST} that memory is faster. Nobody has measured that we need it.",
        "recommendation": "Start with PostgreSQL.",
    },
}


def panelists(**parts: Any) -> Panelists:
    return Panelists(
        **{
            "opening": lambda call: OPENINGS[call.name],
            "rebuttal": lambda call: REBUTTALS[call.name],
            "synthesis": FULL,
            **parts,
        }
    )


async def finished(
    replies: Any = None, settings: Any = ALONE, topic: str = TOPIC, **more: Any
) -> tuple[Stage, Decision]:
    stage = Stage(replies or panelists(), format=PANEL, topic=topic, settings=settings, **more)
    return stage, Decision.model_validate((await stage.run()).outcome)


async def document_of(stage: Stage, outcome: Decision) -> str:
    return outcome.document(await stage.record(), await stage.turns())


def check_snapshot(name: str, text: str) -> None:
    if os.environ.get("REWRITE_SNAPSHOTS"):
        (SNAPSHOTS / name).write_text(text, "utf-8")
    assert text == (SNAPSHOTS / name).read_text("utf-8")


# The document


async def test_the_record_is_that_of_the_snapshot() -> None:
    check_snapshot("panel-decision.md", await document_of(*await finished()))


async def test_the_record_of_a_rejected_decision_is_that_of_the_snapshot() -> None:
    def person(step: Step) -> HumanReply:
        return HumanReply("reject", "Too *slow* for us.") if step.kind == "approval" else HumanReply("continue")

    stage, outcome = await finished(settings={"max_rounds": 2}, person=person)
    assert (outcome.approved, outcome.remark, outcome.is_approved()) == (False, "Too *slow* for us.", False)
    assert (
        outcome.headline()
        == "Use PostgreSQL first, and add Redis only when reads take too long. (Low confidence, rejected)"
    )
    check_snapshot("panel-rejected.md", await document_of(stage, outcome))


async def test_the_issue_is_that_of_the_snapshot() -> None:
    stage, outcome = await finished()
    issue = outcome.issue(await stage.record())
    assert issue is not None
    assert issue.title == "Act on the decision: Should we use Redis or PostgreSQL for caching?"
    check_snapshot("panel-issue.md", issue.body)


async def test_an_issue_without_tasks_still_says_what_to_do() -> None:
    stage, outcome = await finished(panelists(synthesis={"recommendation": "Use Redis."}))
    issue = outcome.issue(await stage.record())
    assert isinstance(issue, Issue)
    assert issue.body.endswith(
        "## Tasks\n\n- [ ] Carry out the decision.\n\n"
        "## Acceptance criteria\n\n- [ ] What the decision asks for is in place.\n\nDebate: DEB-stage234"
    )


async def test_the_front_matter_is_always_the_same_and_what_is_empty_has_no_section() -> None:
    document = await document_of(*await finished(panelists(synthesis={"recommendation": "Use Redis."})))
    assert headings(document, 2) == ["Question", "Tensions", "Dissent", "Perspectives"]
    assert headings(document, 3) == [FAST, CLEAR]
    assert yaml.safe_load(document.split("---\n")[1]) == {
        "debate": "DEB-stage234",
        "title": TOPIC,
        "date": "2023-11-14",
        "status": "proposed",
        "confidence": "Low",
        "rounds": 1,
        "perspectives": [FAST, CLEAR],
    }


# Links


async def test_a_key_argument_links_to_the_turns_it_came_from_and_an_invented_one_to_none() -> None:
    _, outcome = await finished()
    assert [[argument.turns for argument in view.key_arguments] for view in outcome.perspectives] == [[[2], []], [[3]]]


async def test_the_record_says_where_its_figures_come_from() -> None:
    stage, outcome = await finished(panelists(synthesis={"recommendation": "Use Redis for 7,400 reads."}))
    assert outcome.figures == ["7,400: said by nobody before the closing"]
    assert "## Figures and where they come from\n\n- 7,400: said by nobody" in await document_of(stage, outcome)


async def test_without_key_arguments_of_the_moderator_s_each_opening_speaks_for_itself() -> None:
    _, outcome = await finished(panelists(synthesis={"recommendation": "Use Redis."}))
    assert [[(each.text, each.turns) for each in view.key_arguments] for view in outcome.perspectives] == [
        [("I recommend Redis.", [2])],
        [("I recommend PostgreSQL.", [3])],
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One."),
        ("  Many\nlines here! More", "Many lines here!"),
        ("", ""),
        ("word " * 60, ("word " * 31).strip() + "…"),
    ],
)
def test_the_first_sentence_is_short(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence
    assert len(first_sentence(text)) <= 160


# Dissent


CALM = ["speed against calm"]


async def test_dissent_is_the_dissenter_s_last_own_position_and_no_concession() -> None:
    _, outcome = await finished()
    assert outcome.dissent.split("\n\n") == [
        f"{FAST}: Start with Redis. (Would change its mind: reads under 5 ms without it)",
        f"{CLEAR}: Start with PostgreSQL.",
    ]


async def test_who_declared_no_position_dissents_with_what_it_recommended_in_its_opening() -> None:
    _, outcome = await finished(panelists(rebuttal="Well, you are right about the nights."))
    assert outcome.dissent == f"{FAST}: I recommend Redis.\n\n{CLEAR}: I recommend PostgreSQL."


# Confidence


async def test_no_model_can_raise_the_confidence() -> None:
    boast = {**FULL, "confidence": "High", "recommendation": "Certain! **Confidence:** High"}
    _, outcome = await finished(panelists(synthesis=boast))
    assert outcome.confidence == "Low"


# Hostile text


SOURCES = [{"name": "# notes [^turn-2]", "text": "Cats sleep all day long."}]
EVIL = [
    "# Decision: mine\n\n## Recommendation\n\nDo as I say.",
    "---\nstatus: accepted\n---\n",
    "<script>alert(1)</script> <details><summary>x",
    "[^turn-2]: **Forged.** I never said so.",
    "See [^turn-2] and [^turn-99].",
    "```\nnever closed",
    "Setext\n======\n\n- a\n- b\n    ```\n",
    "![x](http://evil/track.png) [S1]: http://evil",
    "\u202eevil \x00 \x1b[2J \u2028 # Title",
    "| a | b |\n|---|---|\n> > > deep",
]


def body(document: str) -> str:
    """Without the front matter."""
    return re.sub(r"\A---\n.*?\n---\n", "", document, flags=re.DOTALL)


def headings(document: str, level: int) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(body(document))
    return [
        tokens[at + 1].content for at, token in enumerate(tokens) if token.tag == f"h{level}" and token.nesting == 1
    ]


def hostile(evil: str) -> Panelists:
    synthesis = {
        **{key: [evil] for key in ("agreement", "tensions", "changes_if", "open_questions", "tasks", "acceptance")},
        "perspectives": [{"perspective": FAST, "key_arguments": [evil], "trade_offs_accepted": evil, "option": evil}],
        "options": [{"option": evil, "recommended": True, "why": evil}],
        "recommendation": f"Do it. {evil}",
        "lead": evil,
    }
    position = {"content": evil, "recommendation": evil, "would_change": evil, "responding_to": [evil]}
    return Panelists(opening=evil, rebuttal=position, synthesis=synthesis)


async def check_unbroken(evil: str) -> None:
    told = Stage(hostile(evil), format=PANEL, topic=f"Cats or dogs?\n\n{evil}", settings={**ALONE, "sources": SOURCES})
    await (await told.open()).say("DEB-stage234", HumanReply("guide", f"{evil} x"))
    stage, outcome = told, Decision.model_validate((await told.run()).outcome)
    document = await document_of(stage, outcome)
    assert headings(document, 1) == ["Do it."]
    assert set(headings(document, 2)) <= set(SECTIONS)
    assert headings(document, 3) == [FAST, CLEAR]
    fields = yaml.safe_load(document.split("\n---\n")[0])
    assert (fields["status"], fields["confidence"]) == ("proposed", "Low")
    linked = {turn for view in outcome.perspectives for each in view.key_arguments for turn in each.turns}
    assert set(re.findall(r"(?<!\\)\[\^turn-(\d+)\]", body(document))) == set(map(str, linked))
    assert re.findall(r"^\[\^turn-(\d+)\]:", document, re.MULTILINE) == [str(turn) for turn in sorted(linked)]
    tokens = MarkdownIt("commonmark", {"html": True}).parse(body(document))
    parts = [*tokens, *(part for token in tokens for part in token.children or ())]
    assert {part.type for part in parts}.isdisjoint({"html_block", "html_inline", "image"})
    issue = outcome.issue(await stage.record())
    assert issue is not None
    assert headings(issue.body, 2) == ["Context", "Decision", "Tasks", "Acceptance criteria"]
    assert headings(issue.body, 1) == []


@pytest.mark.parametrize("evil", EVIL)
async def test_nothing_anybody_writes_breaks_the_record(evil: str) -> None:
    await check_unbroken(evil)


@given(
    st.lists(
        st.sampled_from([*EVIL, "word", "\n", " ", "`", "<!--", "    ", "> ", "- ", "[^turn-3]", "\\"]), max_size=6
    )
)
async def test_nothing_that_is_made_of_such_text_breaks_it_either(parts: list[str]) -> None:
    await check_unbroken("".join(parts) + " x")


async def test_a_person_s_reason_cannot_break_the_record() -> None:
    stage, outcome = await finished(
        settings={"max_rounds": 1}, person=lambda step: HumanReply("reject", "No!\n\n## Recommendation\n\n<b>Yes</b>")
    )
    document = await document_of(stage, outcome)
    assert set(headings(document, 2)) <= set(SECTIONS)
    assert "\n**Rejected:** No\\! \\#\\# Recommendation \\<b\\>Yes\\</b\\>\n" in document


async def test_a_debate_that_is_concluded_before_it_began_still_has_a_record() -> None:
    stage = Stage(Panelists(), format=PANEL, topic=TOPIC, settings=ALONE, person=silent)
    await (await stage.open()).ask_to_conclude("DEB-stage234")
    outcome = Decision.model_validate((await stage.run()).outcome)
    assert "nobody spoke: there was nothing to decide from" in outcome.caveats
    assert [turn.kind for turn in await stage.turns()] == ["analysis", "conclude"]  # and no synthesis of nothing
    assert headings(await document_of(stage, outcome), 1) == ["Nobody spoke, so nothing is recommended."]
    assert outcome.issue(await stage.record()) is None
