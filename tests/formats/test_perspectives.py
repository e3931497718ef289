"""The catalog of perspectives, which of them are opposed, and which a question calls for."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from moot.errors import InvalidInput
from moot.formats.panel.perspectives import Perspective, by_keywords, catalog, fault, find, opposed
from moot.formats.panel.settings import PanelSettings

CACHING = "Should we use Redis or PostgreSQL for caching?"
BUILT_IN = catalog((), 6)
"""Those for software, which version 1 knows."""
WIDER = catalog(())
PERFORMANCE, SIMPLICITY, SECURITY, FLEXIBILITY, EXPERIENCE, OPERATIONS = BUILT_IN
COMPLIANCE = Perspective(
    name="Compliance First",
    priorities=("audit trails", "data residency", "SOC2 requirements"),
    trade_offs="Will accept development slowdown for compliance",
)


def test_a_perspective_with_a_wrong_letter_is_known_by_the_nearest() -> None:
    with pytest.raises(ValidationError, match=r"named 'Security Advocat', did you mean Security Advocate\? known: "):
        PanelSettings.model_validate({"perspectives": ["Security Advocat", "Public Purse"]})


def made(name: str, values: str = "", costs: str = "", keywords: str = "") -> Perspective:
    return Perspective(
        name=name,
        priorities=("something",),
        trade_offs="Will accept this for that",
        values=tuple(values.split()),
        costs=tuple(costs.split()),
        keywords=tuple(keywords.split()),
    )


def names(perspectives: tuple[Perspective, ...]) -> list[str]:
    return [perspective.name for perspective in perspectives]


# The catalog


def test_six_perspectives_are_built_in() -> None:
    assert [(each.name, each.priorities, each.trade_offs) for each in BUILT_IN] == [
        ("Performance Advocate", ("latency", "throughput", "resource efficiency"), "Will accept complexity for speed"),
        (
            "Simplicity Advocate",
            ("readability", "fewer dependencies", "team familiarity"),
            "Will accept slower performance for maintainability",
        ),
        (
            "Security Advocate",
            ("attack surface", "data protection", "compliance"),
            "Will accept UX friction for security guarantees",
        ),
        (
            "Future Flexibility",
            ("extensibility", "schema evolution", "decoupling"),
            "Will accept upfront investment for adaptability",
        ),
        (
            "User Experience",
            ("responsiveness", "intuitiveness", "error recovery"),
            "Will accept backend complexity for frontend simplicity",
        ),
        (
            "Operational Simplicity",
            ("debuggability", "monitoring", "deployment ease"),
            "Will accept feature limitations for operational clarity",
        ),
    ]


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("Should a town close its outdoor pool?", ["Public Purse", "Everyday Users"]),
        ("Should schools ban smartphones?", ["Personal Freedom", "Learning and Development"]),
        ("Should the city ban cars from the old town for the climate?", ["Climate and Nature"]),
    ],
)
def test_questions_beyond_software_have_perspectives_of_their_own(topic: str, expected: list[str]) -> None:
    chosen = names(by_keywords(topic, WIDER, 3))
    assert set(expected) <= set(chosen)
    assert not set(chosen) & {"Performance Advocate", "Future Flexibility", "Operational Simplicity"}


def test_everybody_in_the_wider_catalog_has_an_opponent() -> None:
    lonely = [a.name for a in WIDER if not any(opposed(a, b) for b in WIDER)]
    assert lonely == []
    assert len(WIDER) == 17


def test_the_user_s_own_come_last_and_one_of_the_same_name_takes_the_built_in_s_place() -> None:
    other = made("security  ADVOCATE", "security", "speed")
    assert catalog([COMPLIANCE, other], 6) == (
        PERFORMANCE,
        SIMPLICITY,
        other,
        FLEXIBILITY,
        EXPERIENCE,
        OPERATIONS,
        COMPLIANCE,
    )


@pytest.mark.parametrize(
    ("name", "found"),
    [("User Experience", EXPERIENCE), ("  user   EXPERIENCE ", EXPERIENCE), ("User", None), ("", None)],
)
def test_a_perspective_is_found_by_its_name_in_any_case_and_spacing(name: str, found: Perspective | None) -> None:
    assert find(BUILT_IN, name) == found


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": " \t"},
        {"name": "x" * 61},
        {"name": "two\nlines"},
        {"name": "a</topic>"},
        {"name": 'a"b'},
        {"name": "a\x1b[2J"},
        {"priorities": []},
        {"priorities": ["x"] * 9},
        {"priorities": ["x" * 81]},
        {"priorities": ["<x>"]},
        {"trade_offs": ""},
        {"trade_offs": "x" * 301},
        {"trade_offs": "one\ntwo"},
        {"persona": "Senior Engineer Bob"},
    ],
    ids=str,
)
def test_a_perspective_is_a_few_short_lines_that_end_no_tag(change: dict[str, Any]) -> None:
    given = {"name": "A", "priorities": ["x"], "trade_offs": "Will accept x for y"}
    assert Perspective.model_validate(given).name == "A"
    with pytest.raises(ValidationError, match=next(iter(change))):
        Perspective.model_validate({**given, **change})


def test_names_and_axes_are_tidied() -> None:
    tidy = Perspective.model_validate(
        {"name": " A ", "priorities": [" x "], "trade_offs": " y ", "values": [" Speed"], "keywords": [" k "]}
    )
    assert tidy == Perspective(name="A", priorities=("x",), trade_offs="y", values=("speed",), keywords=("k",))


# Opposition


def test_two_are_opposed_when_one_pays_with_what_the_other_values() -> None:
    assert [(a.name, b.name) for a, b in combinations(BUILT_IN, 2) if opposed(a, b)] == [
        ("Performance Advocate", "Simplicity Advocate"),
        ("Performance Advocate", "Operational Simplicity"),
        ("Simplicity Advocate", "Future Flexibility"),
        ("Simplicity Advocate", "User Experience"),
        ("Security Advocate", "User Experience"),
        ("Future Flexibility", "Operational Simplicity"),
        ("User Experience", "Operational Simplicity"),
    ]
    assert all(opposed(a, b) == opposed(b, a) for a, b in product(BUILT_IN, repeat=2))


@pytest.mark.parametrize(
    ("trade_offs", "opponents"),
    [
        ("Will accept complexity for speed", ["Simplicity Advocate", "Operational Simplicity"]),
        ("Accepts slower responses in exchange for less work", ["Performance Advocate"]),
        ("Will sacrifice UX to gain certainty", ["User Experience"]),
        ("No security at any price", ["Security Advocate"]),
        ("Nothing that anybody would miss", []),
    ],
)
def test_what_a_perspective_pays_with_is_read_from_its_trade_offs(trade_offs: str, opponents: list[str]) -> None:
    mine = Perspective(name="Mine", priorities=("something",), trade_offs=trade_offs)
    assert [other.name for other in BUILT_IN if opposed(mine, other)] == opponents


def test_what_a_perspective_values_is_read_from_its_priorities_and_its_trade_offs() -> None:
    assert [other.name for other in BUILT_IN if opposed(COMPLIANCE, other)] == ["Simplicity Advocate"]
    usable = Perspective(name="Mine", priorities=("happy users",), trade_offs="Will accept anything for calm")
    clear = Perspective(name="Mine", priorities=("something",), trade_offs="Will accept anything for simplicity")
    assert [other.name for other in BUILT_IN if opposed(usable, other)] == ["Security Advocate"]
    assert [other.name for other in BUILT_IN if opposed(clear, other)] == ["Performance Advocate", "User Experience"]


def test_stated_axes_count_and_not_what_the_text_reads_like() -> None:
    stated = Perspective(
        name="Mine",
        priorities=("latency",),
        trade_offs="Will accept complexity for speed",
        values=("calm",),
        costs=("noise",),
    )
    assert [other.name for other in BUILT_IN if opposed(stated, other)] == []
    assert opposed(stated, made("Loud", values="noise"))


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ((), "a panel takes 2 to 4 perspectives, not 0; choose 2 more"),
        ((SECURITY,), "a panel takes 2 to 4 perspectives, not 1; choose 1 more"),
        (BUILT_IN, "a panel takes 2 to 4 perspectives, not 6; choose 2 fewer"),
        ((SECURITY, EXPERIENCE, SECURITY), "'Security Advocate' is chosen twice; choose each perspective once"),
        (
            (PERFORMANCE, SECURITY, FLEXIBILITY),
            "nothing to debate: none of Performance Advocate, Security Advocate, Future Flexibility values what "
            "another gives up; exchange one for another that does",
        ),
        ((PERFORMANCE, SECURITY, SIMPLICITY), None),
        (BUILT_IN[:4], None),
    ],
)
def test_a_set_that_cannot_debate_is_told_why(chosen: tuple[Perspective, ...], said: str | None) -> None:
    assert fault(chosen) == said


# What a question calls for


@pytest.mark.parametrize(
    ("topic", "chosen"),
    [
        (CACHING, ["Performance Advocate", "Operational Simplicity"]),
        ("Should we use GraphQL or REST for the public API?", ["Future Flexibility", "Simplicity Advocate"]),
        ("Passkeys or passwords for login?", ["Security Advocate", "User Experience"]),
        (
            "How should we structure the plugin system?",
            ["Security Advocate", "Future Flexibility", "Simplicity Advocate"],
        ),
        ("Should we adopt Kubernetes?", ["Operational Simplicity", "Performance Advocate", "Simplicity Advocate"]),
        (
            "How do we authenticate users of our mobile app?",
            ["User Experience", "Security Advocate", "Performance Advocate"],
        ),
        (
            "Rewrite the legacy monolith in Rust, Go or Java?",
            ["Simplicity Advocate", "Performance Advocate", "Operational Simplicity"],
        ),
        (
            "We need to ship fast: which framework for the frontend?",
            ["Simplicity Advocate", "Performance Advocate", "User Experience"],
        ),
        ("", ["Performance Advocate", "Simplicity Advocate", "Security Advocate"]),
    ],
)
def test_the_words_of_a_question_choose_two_for_one_or_the_other_and_three_for_the_rest(
    topic: str, chosen: list[str]
) -> None:
    assert names(by_keywords(topic, BUILT_IN, None)) == chosen


def test_a_user_s_perspective_is_called_by_its_name_its_priorities_and_its_keywords() -> None:
    mine = (*BUILT_IN, COMPLIANCE, made("Thrift", "cost", "speed", "bill"))
    for topic in ["Is compliance worth it?", "Does data residency matter?", "What are the SOC2 requirements?"]:
        assert COMPLIANCE in by_keywords(topic, mine, 2)
    assert names(by_keywords("Who pays the bills?", mine, 2)) == ["Thrift", "Performance Advocate"]


@pytest.mark.parametrize("number", [2, 3, 4])
def test_the_number_asked_for_is_the_number_chosen(number: int) -> None:
    assert len(by_keywords(CACHING, BUILT_IN, number)) == number


@pytest.mark.parametrize("number", [-1, 0, 1, 5])
def test_a_panel_of_another_size_is_refused(number: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        by_keywords(CACHING, BUILT_IN, number)
    assert str(refused.value) == f"a panel takes 2 to 4 perspectives, not {number}"


def test_the_least_relevant_gives_way_to_the_most_relevant_opponent() -> None:
    agreeing = [made(name, "speed", "", "cache") for name in ("A", "B", "C")]
    late, later = made("D", "", "speed"), made("E", "", "speed", "redis")
    assert names(by_keywords("cache on redis", [*agreeing, late, later], 3)) == ["A", "B", "E"]
    assert names(by_keywords("cache", [*agreeing, late, later], 3)) == ["A", "B", "D"]


def test_an_opposed_pair_comes_in_when_nobody_is_opposed_to_the_relevant_ones() -> None:
    agreeing = [made(name, "calm", "", "cache") for name in ("A", "B", "C")]
    pair = [made("D", "speed"), made("E", "", "speed")]
    assert names(by_keywords("cache", [*agreeing, *pair], 3)) == ["A", "D", "E"]
    assert names(by_keywords("cache", [*agreeing, *pair], 2)) == ["D", "E"]


def test_a_catalog_in_which_all_agree_cannot_hold_a_panel() -> None:
    with pytest.raises(InvalidInput) as refused:
        by_keywords("cache", [made(name, "speed") for name in "ABC"], None)
    said = "no two perspectives of the catalog oppose each other; add one that values what another gives up"
    assert str(refused.value) == said


def test_the_given_ones_stay_and_the_rest_is_what_the_topic_calls_for() -> None:
    assert by_keywords(CACHING, BUILT_IN, 3, [SECURITY]) == (SECURITY, PERFORMANCE, OPERATIONS)
    assert by_keywords(CACHING, BUILT_IN, None, [SECURITY]) == (SECURITY, EXPERIENCE)
    assert by_keywords(CACHING, BUILT_IN, 3, [COMPLIANCE, SECURITY]) == (COMPLIANCE, SECURITY, SIMPLICITY)
    assert by_keywords(CACHING, BUILT_IN, None, [SECURITY, FLEXIBILITY, OPERATIONS]) == (
        SECURITY,
        FLEXIBILITY,
        OPERATIONS,
    )


def test_of_too_many_or_doubled_ones_the_first_stay() -> None:
    assert by_keywords(CACHING, BUILT_IN, 2, [SECURITY, SECURITY, EXPERIENCE, OPERATIONS]) == (SECURITY, EXPERIENCE)
    assert by_keywords(CACHING, BUILT_IN, None, BUILT_IN) == BUILT_IN[:4]


AXES = st.lists(st.sampled_from(["speed", "simplicity", "calm", "cost"]), max_size=2).map(" ".join)
PERSPECTIVES = st.lists(
    st.builds(
        made, st.sampled_from([*"ABCDEFGH", "a", "b"]), AXES, AXES, st.sampled_from(["cache", "login", "cloud x"])
    ),
    max_size=8,
)
TOPICS = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(["cache", "login", "cloud", "or"])).map(" ".join))


@given(PERSPECTIVES, PERSPECTIVES, TOPICS, st.sampled_from([None, 2, 3, 4]))
def test_whatever_the_catalog_and_the_choice_the_set_can_debate_if_any_set_can(
    known: list[Perspective], chosen: list[Perspective], topic: str, number: int | None
) -> None:
    distinct = {each.name.casefold(): each for each in [*known, *chosen]}
    if not any(opposed(a, b) for a, b in combinations(distinct.values(), 2)):
        with pytest.raises(InvalidInput, match="no two perspectives"):
            by_keywords(topic, known, number, chosen)
        return
    team = by_keywords(topic, known, number, chosen)
    assert fault(team) is None
    assert set(team) <= set(distinct.values())
    if number:
        assert len(team) == min(number, len(distinct))
    assert team == by_keywords(topic, known, number, chosen)


@given(st.lists(st.sampled_from(BUILT_IN), min_size=2, max_size=4, unique=True), TOPICS, st.sampled_from([None, 4]))
def test_a_choice_that_can_debate_is_kept(chosen: list[Perspective], topic: str, number: int | None) -> None:
    assume(fault(chosen) is None)
    assert by_keywords(topic, BUILT_IN, number, chosen)[: len(chosen)] == tuple(chosen)


@given(PERSPECTIVES, TOPICS)
def test_with_the_built_in_ones_a_panel_can_always_be_held(custom: list[Perspective], topic: str) -> None:
    assert fault(by_keywords(topic, catalog(custom), None)) is None
