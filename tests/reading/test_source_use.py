"""What a debate has made of its sources, as every surface reads it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from moot.core.debate import Turn
from moot.core.quoting import false_quotes, quotes_of
from moot.core.stored import StoredDebate
from moot.formats.duel.format import DUEL, Verdict
from moot.reading.debate import Reading
from moot.reading.sources import fault_text, read_text, source_with_text, sources_view, summary_lines
from stage import Stage

GIVEN = {"name": "notes.md", "text": "The winter was long, and nobody came to swim before noon."}
FOUND = {"calls": [{"tool": "search", "arguments": {"query": "pools"}, "text": "In 2023 the pool had 1,850 guests."}]}
NEW = Stage(topic="Soll das Freibad schließen, und wann?").new


def reading(*turns: Turn, **settings: Any) -> Reading:
    return Reading(StoredDebate(replace(NEW, settings={**NEW.settings, **settings}), turns), DUEL)


def said(position: int, text: str) -> Turn:
    return Turn(position=position, seat="debater_a", kind="argument", round=1, content=text)


def test_what_was_found_on_the_way_is_cited_like_what_was_given() -> None:
    found = Turn(position=0, seat="researcher", kind="research", round=1, content="", data=FOUND)
    read = reading(found, said(1, 'It says "the pool had 1,850 guests" [S2], and S1 is old.'), sources=[GIVEN])
    assert [(each.tag, each.name, each.use) for each in read.sources.sources] == [
        ("S1", "notes.md", "cited"),
        ("S2", "search: pools (search)", "cited"),
    ]
    assert source_with_text(read, "S2").passages[0].text == "the pool had 1,850 guests"
    assert read.sources.unresolved == ()


def test_nobody_can_quote_what_was_found_only_later() -> None:
    quote = 'It says "the pool had 1,850 guests" [S2].'
    found = Turn(position=1, seat="researcher", kind="research", round=1, content="", data=FOUND)
    read = reading(said(0, quote), found, said(2, quote), sources=[GIVEN])
    assert [(each.turns, [passage.turns for passage in each.passages]) for each in read.sources.sources] == [
        ((), []),
        ((2,), [(2,)]),
    ]
    assert [fault_text(read, each) for each in read.sources.unresolved] == [
        "Debater A, Beitrag 0: “the pool had 1,850 guests” [S2] – das wurde erst später gefunden"
    ]
    debate = DUEL.open(read.record)
    for turn in read.turns:
        debate.add(turn)
    assert [quotes_of(debate, read.turns[at])[0].verdict for at in (0, 2)] == ["no_source", "verified"]
    assert [each.position for each in false_quotes(debate)] == [0]


def test_a_debate_s_language_is_that_of_what_is_said_of_its_sources() -> None:
    read = reading(said(0, '"das Bad ist immer voll" [S1] und [S9]'), sources=[GIVEN])
    assert list(summary_lines(read)) == ["Zitiert: S1 notes.md", "Verweise, die ins Leere führen: 2"]
    assert [fault_text(read, each) for each in read.sources.unresolved] == [
        "Debater A, Beitrag 0: “das Bad ist immer voll” [S1] – das steht nicht in der Quelle",
        "Debater A, Beitrag 0: [S9] – eine solche Quelle gibt es nicht",
    ]


def test_sources_that_another_version_stored_otherwise_are_left_out() -> None:
    read = reading(said(0, "[S1]"), sources=[GIVEN, {"title": "?"}, 7], max_rounds="many")
    assert [each.name for each in read.sources.sources] == ["notes.md"]
    assert reading(said(0, "[S1]"), sources="none", max_rounds="many").sources.sources == ()


def test_what_the_winner_of_a_duel_cites_carried_its_verdict() -> None:
    verdict = Verdict(
        summary="The first side was clearer.",
        winner="a",
        score_a=8,
        score_b=5,
        stance_a="pro",
        stance_b="con",
        no_new_substantive_arguments=False,
        fallback=False,
        models={},
    )
    won = reading(said(0, "As [S1] says."), replace(said(1, "But [S2]."), seat="debater_b"), sources=[GIVEN, GIVEN])
    ended = replace(won.record, outcome=verdict.model_dump(mode="json"))
    read = Reading(StoredDebate(ended, won.turns), DUEL)
    assert [each.use for each in read.sources.sources] == ["carried", "cited"]


def test_what_was_read_of_long_sources_is_told_while_the_debate_goes_on() -> None:
    handed = [{"id": "a", "cited": "S1 p. 2", "text": "x"}, {"id": "b", "cited": "S1 p. 3", "text": "y"}]
    data = {"evidence": {"debater_a": handed}, "total": 9}
    found = Turn(position=0, seat="library", kind="evidence", round=1, content="", data=data)
    sources = [{"name": "long.pdf", "text": "word " * 20_000}, GIVEN]
    read = reading(found, sources=sources, whole_sources=10_000)
    assert sources_view(read).model_dump()["coverage"] == {"read": 2, "total": 9, "passages": ["S1 p. 2", "S1 p. 3"]}
    assert [read_text(read), read_text(read, "S1"), read_text(read, "S2")] == [
        "gelesen wurden 2 von 9 Stellen der Quellen: S1 p. 2–3",
        "Gelesen: S1 p. 2–3",
        "Niemand hat etwas davon gelesen.",
    ]
    whole = reading(sources=[GIVEN])
    assert (whole.coverage, read_text(whole), read_text(whole, "S1")) == (None, "", "")
