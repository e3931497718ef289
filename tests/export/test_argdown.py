"""Argument maps: what each format tells, and that no text becomes syntax."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.critics import Critics, critique, issue
from formats.critics import staged as staged_critique
from moot.core.debate import Record, Seat, SeatSettings, Status, Turn
from moot.core.format import AnyFormat, Format
from moot.core.points import Point
from moot.core.script import Debate
from moot.core.stored import StoredDebate
from moot.export import argdown as export
from moot.export.argdown import MAX_TEXT, MAX_TITLE
from moot.formats import load
from moot.formats.duel.format import DUEL
from moot.formats.evaluation.format import EVALUATION
from moot.formats.panel.format import PANEL
from moot.llm.client import Request
from moot.reading.debate import Reading
from stage import CLEAR, FAST, SYNTHESIS, Panelists, Stage, judged
from web.hostile import PAYLOADS


def argdown(record: Record, turns: Iterable[Turn], format: AnyFormat) -> str:
    return export.argdown(Reading(StoredDebate(record, tuple(turns)), format))


async def mapped(stage: Stage) -> str:
    """The map of a debate that was just played; what tells the debate apart comes before its heading."""
    await stage.run()
    text = argdown(await stage.record(), await stage.turns(), stage.format)
    return text.partition("===\n\n")[2]


def in_turn(*replies: str) -> Any:
    """These speeches one after the other."""
    left = list(replies)
    return lambda request: left.pop(0)


# What formats tell


async def test_a_duels_speeches_are_for_and_against_the_motion_and_answer_each_other() -> None:
    verdict = '{"summary": "B was clearer.", "score_a": 3, "score_b": 8}'
    speeches = ("Cats are clean.", "Dogs are loyal.", "Loyal, but loud.")
    stage = Stage(in_turn(*speeches, "You get used to it.", verdict), settings={"max_rounds": 2})
    assert (
        await mapped(stage)
        == """\
# Cats are better than dogs

[Motion]: Cats are better than dogs

<Debater A, argument of round 1>: Cats are clean. #(Debater A) {turns: [0]}
  +> [Motion]

<Debater B, argument of round 1>: Dogs are loyal. #(Debater B) {turns: [1]}
  -> [Motion]
  -> <Debater A, argument of round 1>

<Debater A, argument of round 2>: Loyal, but loud. #(Debater A) {turns: [2]}
  +> [Motion]
  -> <Debater B, argument of round 1>

<Debater B, argument of round 2>: You get used to it. #(Debater B) {turns: [3]}
  -> [Motion]
  -> <Debater A, argument of round 2>
"""
    )


async def test_the_front_matter_says_which_debate_it_is_and_how_it_ended() -> None:
    stage = Stage(judged('{"summary": "A.", "score_a": 7, "score_b": 4}'), topic='Is a === "b"?\n===')
    await stage.run()
    head, _, rest = argdown(await stage.record(), await stage.turns(), DUEL).partition("===\n\n")
    assert head == (
        "===\n"
        'title: "Is a =\\u003d= \\"b\\"? =\\u003d="\n'
        'debate: "DEB-stage234"\n'
        'format: "duel"\n'
        'date: "2023-11-14"\n'
        'status: "finished"\n'
        'outcome: "Debater A (pro) wins, 7 : 4"\n'
    )
    assert rest.startswith('# Is a \\=\\== "b"? \\=\\==\n\n[Motion]: ')


async def test_a_critiques_issues_attack_the_proposals_and_what_stayed_open_the_answer() -> None:
    first = "Suppose it were p/q. Then p is even, and so is q."
    second = "Issue 1: q is even because 2q² = p² makes it so."
    critiques = [critique(issue(), issue("It is long.", "minor", "")), critique(score=9, ready=True, upheld=[2])]
    replies = Critics(critiques, [first, second], "It is irrational.")
    assert (
        await mapped(staged_critique(replies, {"max_rounds": 2}, topic="Is √2 a fraction?"))
        == """\
# Is √2 a fraction?

[Answer]: It is irrational. #(Synthesizer) {turns: [5]}

<Proposer, proposal of round 1>: Suppose it were p/q. Then p is even, and so is q. #(Proposer) {turns: [1]}
  +> [Answer]

<Proposer, proposal of round 2>: Issue 1: q is even because 2q² = p² makes it so. #(Proposer) {turns: [3]}
  +> [Answer]

[Issue 1]: Why is q even? #(Skeptic) #(critical) #(standing) {turns: [2]}
  -> <Proposer, proposal of round 1>
  -> [Answer]

[Reply to issue 1]: q is even because 2q² = p² makes it so. #(Proposer) #(contested) {turns: [3]}
  -> [Issue 1]

[Issue 2]: It is long. #(Skeptic) #(minor) #(unanswered) {turns: [2]}
  -> <Proposer, proposal of round 1>
  -> [Answer]
"""
    )


async def test_a_panels_arguments_support_options_and_rebuttals_attack_whom_they_contest() -> None:
    openings = {FAST: "Memory is faster than any disk.", CLEAR: "One process less breaks less often."}
    synthesis = {
        **SYNTHESIS,
        "options": [
            {"option": "Redis", "recommended": True, "why": "reads are slow"},
            {"option": "No cache", "recommended": False, "why": "it is too slow"},
        ],
        "perspectives": [
            {"perspective": FAST, "key_arguments": ["Memory is faster than any disk"], "option": "redis"},
            {"perspective": CLEAR, "option": "No cache"},
        ],
        "agreement": ["Some cache is needed."],
    }
    panel = Panelists(
        opening=lambda call: openings[call.name],
        rebuttal=lambda call: {
            "content": f"{call.name} answers.",
            "responding_to": [f"{FAST}: speed", "Nobody: x", f"{CLEAR}: nights"],
            "agrees_with": [CLEAR] if call.name == FAST else [],  # who concedes attacks nothing
            "recommendation": "Mine first.",
        },
        synthesis=synthesis,
    )
    assert (
        await mapped(Stage(panel, format=PANEL, topic="Redis or not?", settings={"max_rounds": 1}))
        == """\
# Redis or not?

[Redis]: reads are slow

[No cache]: it is too slow

<Performance Advocate, key argument 1>: Memory is faster than any disk #(Performance Advocate) {turns: [2]}
  +> [Redis]

<Operational Simplicity, key argument 1>: One process less breaks less often. #(Operational Simplicity) {turns: [3]}
  +> [No cache]

<Performance Advocate, opening of round 1>: Memory is faster than any disk. #(Performance Advocate) {turns: [2]}
  +> <Performance Advocate, key argument 1>

<Operational Simplicity, opening of round 1>: One process less breaks less often. #(Operational Simplicity) {turns: [3]}
  +> <Operational Simplicity, key argument 1>

<Performance Advocate, rebuttal of round 1>: Performance Advocate answers. #(Performance Advocate) {turns: [4]}
  +> [Redis]

<Operational Simplicity, rebuttal of round 1>: Operational Simplicity answers. #(Operational Simplicity) {turns: [5]}
  +> [No cache]
  -> <Performance Advocate, opening of round 1>

[Recommendation]: Use Redis. It is fast enough. #(Moderator) {turns: [7]}

<Agreement 1>: Some cache is needed. #(Moderator) {turns: [7]}
  +> [Recommendation]

<Dissenting view>: Performance Advocate: Mine first. Operational Simplicity: Mine first. #(Moderator) {turns: [7]}
  -> [Recommendation]
"""
    )


async def test_a_panel_without_a_decision_shows_its_speeches() -> None:
    stage = Stage(Panelists(synthesis="no form"), format=PANEL, settings={"max_rounds": 1})
    await stage.run()
    titles = re.findall(r"^[\[<](.+?)[\]>]:", argdown(await stage.record(), await stage.turns(), PANEL), re.M)
    assert titles == [
        FAST,
        CLEAR,
        *(f"{name}, {kind} of round 1" for kind in ("opening", "rebuttal") for name in (FAST, CLEAR)),
    ]


def test_a_panel_that_was_not_cast_yet_has_an_empty_map() -> None:
    record = Stage(format=PANEL).new
    assert argdown(record, (), PANEL).partition("===\n\n")[2] == "# Cats are better than dogs\n"


async def test_an_evaluations_arguments_speak_for_and_against_its_topics() -> None:
    def reply(request: Request) -> str:
        if request.schema and request.schema.name == "judgment":
            return json.dumps({"reasoning": "Even.", "score_advocate": 5, "score_challenger": 5})
        claims = {"advocate": ["People wait."], "challenger": ["Few wait.", "It rains.", "It is late."]}
        side = "advocate" if "Your position: It is real." in request.messages[-1].content else "challenger"
        if request.schema and request.schema.name == "reply":
            conceded = {"grants": [2]} if side == "advocate" else {"gives_up": [3]}
            return json.dumps({"answer": f"The {side} answers.", **conceded})
        said = [{"claim": claim, "reasoning": "They said so.", "evidence": ""} for claim in claims[side]]
        return json.dumps({"case": "So it is.", "arguments": said})

    settings = {
        "evaluation": {"categories": {"problem": 6}},
        "topics": [
            {"name": "Need: real?", "category": "problem", "advocate": "It is real.", "challenger": "It is not."}
        ],
        "challenges": ["Nobody asked for it.", {"challenge": "It is niche.", "category": "problem"}],
        "exchanges": 1,
    }
    assert (
        await mapped(Stage(reply, format=EVALUATION, topic="A queue app", settings=settings))
        == """\
# A queue app

[Need: real?]: It is real.

<Challenge 1>: Nobody asked for it. #(medium)
  -> [Need: real?]

<Challenge 2>: It is niche. #(medium)
  -> [Need: real?]

[Advocate on Need: real?, 1]: People wait. They said so. #(Advocate) #(contested) {turns: [0]}
  +> [Need: real?]

[Challenger on Need: real?, 1]: Few wait. They said so. #(Challenger) #(contested) {turns: [1]}
  -> [Need: real?]

[Challenger on Need: real?, 2]: It rains. They said so. #(Challenger) #(conceded) {turns: [1]}
  -> [Need: real?]

[Challenger on Need: real?, 3]: It is late. They said so. #(Challenger) #(withdrawn) {turns: [1]}

<Advocate, answer of round 1>: The advocate answers. #(Advocate) {turns: [2]}
  +> [Need: real?]
  -> [Challenger on Need: real?, 1]
  -> [Challenger on Need: real?, 3]

<Challenger, answer of round 1>: The challenger answers. #(Challenger) {turns: [3]}
  -> [Need: real?]
  -> <Advocate, answer of round 1>
"""
    )


@pytest.mark.parametrize("name", ["critique", "duel", "evaluation", "panel"])
async def test_a_debate_that_was_stopped_anywhere_has_a_map_whose_arrows_lead_somewhere(name: str) -> None:
    stage = Stage(format=load()[name], settings={"max_rounds": 2})
    await stage.run()
    record, turns = replace(await stage.record(), status=Status.STOPPED, stop_reason="stopped"), await stage.turns()
    sizes = []
    for played in range(len(turns) + 1):
        made = argdown(record, turns[:played], stage.format)
        points = re.findall(r"^([\[<].+?[\]>]): ", made, re.MULTILINE)
        arrows = re.findall(r"^  [+-]> (.+)$", made, re.MULTILINE)
        assert set(arrows) <= set(points)
        assert len(set(points)) == len(points)
        sizes.append(len(points) + len(arrows))
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]


# Any text at all


def with_points(*points: Point) -> AnyFormat:
    """A format that tells exactly these."""

    def told(debate: Debate[Any]) -> Iterable[Point]:
        return points

    return replace(DUEL, points=told)


def blocks(*points: Point, turns: tuple[Turn, ...] = ()) -> str:
    record = Record(
        id="DEB-map23456", format="duel", format_version=1, topic="What now?", settings={}, seats={}, created_at=0.0
    )
    return argdown(record, turns, with_points(*points)).partition("# What now?")[2].strip("\n")


def test_a_format_that_tells_nothing_of_its_own_shows_what_its_models_said() -> None:
    plain: AnyFormat = Format(
        "plain", 1, "", DUEL.settings, (Seat("poet", "Poet", "x", max_tokens=9),), DUEL.outcome, None, None
    )  # type: ignore[arg-type]
    record = Record(
        id="DEB-map23456",
        format="plain",
        format_version=1,
        topic="Rain",
        settings={},
        seats={"poet": SeatSettings("m", 0, 9)},
        created_at=0.0,
    )
    turns = (
        Turn(position=0, seat="poet", kind="poem", round=1, content="Drops."),
        Turn(position=1, seat="human", kind="remark", round=None, content="Nice."),
        Turn(position=2, seat="poet", kind="end", round=None, content=""),
    )
    assert argdown(record, turns, plain).partition("# Rain")[2] == (
        "\n\n<Poet, poem of round 1>: Drops. #(Poet) {turns: [0]}\n"
    )


def test_two_points_of_one_title_stay_two() -> None:
    assert blocks(Point("a", "one", title="T"), Point("b", "two", title="T", attacks=("a", "gone"))) == (
        "<T>: one\n\n<T, no. 2>: two\n  -> <T>"
    )


def test_titles_and_texts_are_cut_at_a_word_where_there_are_words() -> None:
    made = blocks(Point("a", "漢" * 1000, title="long " * 100), Point("b", "word " * 1000, title="字" * 100))
    assert made == "\n\n".join(
        [
            f"<{' '.join(['long'] * 15)}…>: {'漢' * (MAX_TEXT - 1)}…",
            f"<{'字' * (MAX_TITLE - 1)}…>: {' '.join(['word'] * 119)}…",
        ]
    )


FORGERIES = [
    "[Motion]: forged\n  +> [Motion]",
    "x\n\n<Forged>: y\n  -> [Motion]",
    "===\ntitle: x\n===",
    "{turns: [99]}",
    "a // b",
    "https://a.example/*x*/",
    "<!-- x",
    "\\",
    "x\\",
    "e.g. :smile: @[Motion] @<x> #tag #(tag)",
    "**b** _i_",
    "x\r[y]: z\u2028<z>: y\x85<u>: v",
    "]: b",
    ">: b",
]
text = st.text() | st.sampled_from([*FORGERIES, *PAYLOADS]) | st.text("[]<>{}()#@*_/\\=.:-+ \nab1")
WORDS = re.compile(r"\\.|[^\\]")
SYNTAX = re.compile(r"[@#*_\[<{\\]|//|/\*|===|[.:]\S|[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class Read(NamedTuple):
    title: str
    text: str
    rest: list[str]


def read(block: str) -> Read:
    """A point as Argdown reads it: text in which nothing but what is escaped could be syntax."""
    line, *rest = block.split("\n")
    found = re.fullmatch(
        r"([\[<][^-\[\]<>{}@#][^\[\]<>{}@#]*[\]>]): (.+?)( #\([^()]+\))*( \{turns: \[[\d, ]+\]\})?", line
    )
    assert found, line
    letters = WORDS.findall(found[2])
    assert not SYNTAX.search("".join("x" if len(letter) == 2 else letter for letter in letters))
    return Read(found[1], "".join(letter[-1] for letter in letters), rest)


@given(text, text, text)
def test_no_text_becomes_anything_but_text(title: str, said: str, tag: str) -> None:
    speech = Turn(position=0, seat="debater_a", kind="argument", round=1, content=said)
    point = Point("a", f"a {said}"[:400], (0,), title=title, tags=(f"t {tag}",), supports=("b",))
    made = blocks(point, Point("b", "The motion.", title="Motion!", claim=True), turns=(speech,)).split("\n\n")
    first, second = map(read, made)
    assert " ".join(first.text.split()) == first.text
    letters = [letter for letter in f"a {said}"[:400] if letter.isprintable() and not letter.isspace()]
    assert [letter for letter in first.text if letter.isprintable() and letter != " "] == letters
    assert (first.rest, second) == (["  +> [Motion!]"], Read("[Motion!]", "The motion.", []))


@pytest.mark.parametrize("topic", [*FORGERIES, *PAYLOADS])
def test_no_topic_breaks_the_head_of_a_map(topic: str) -> None:
    record = replace(Stage().new, topic=topic)
    head, body = argdown(record, (), DUEL).removeprefix("===\n").split("\n===\n\n", 1)
    assert (head.count("\n"), "===" in head) == (4, False)
    heading, motion = body.rstrip("\n").split("\n\n")
    assert heading.startswith("# ")
    assert read(motion).title == "[Motion]"
