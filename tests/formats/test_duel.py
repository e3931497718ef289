"""The duel: who speaks when, what the judge reads and hands in, and what the outcome admits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moot.core.debate import Status, Usage
from moot.core.trust import Trust
from moot.errors import BadReply
from moot.formats.duel.format import DUEL, SIDES, Ballot, Verdict
from moot.llm.client import Completion, Request
from moot.trust.caveats import model_family
from moot.trust.neutral_names import NAMES, neutral_names
from stage import TOPIC, A, B, Stage, ballot, judged, sensible
from strong_debates import replayed, spoken

ONE = {"max_rounds": 1}
STALE = ballot(no_new_substantive_arguments=True)
FRESH = ballot(no_new_substantive_arguments=False)
VERDICT = {"summary": "Debater A gave the better reasons.", "winner": "a", "score_a": 7.0, "score_b": 4.0, "lead": ""}
FALLBACK = {
    "summary": "The judge's answer could not be read, so neither side is declared the winner.",
    "score_a": 5.0,
    "score_b": 5.0,
    "winner": "undecided",
    "no_new_substantive_arguments": False,
    "lead": "",
}
ONE_MODEL = "one model, scripted:model, spoke in every seat"


async def outcome_of(stage: Stage) -> Verdict:
    ending = await stage.run()
    assert ending.status is Status.FINISHED
    return Verdict.model_validate(ending.outcome)


# Who speaks when


async def test_a_then_b_in_every_round_and_the_judge_once_at_the_end() -> None:
    stage = Stage(judged(STALE))
    ending = await stage.run()
    assert ending.stop_reason == "max_rounds"
    assert await stage.order() == [
        *[(seat, "argument", round) for round in range(1, 6) for seat in SIDES],
        ("judge", "verdict", None),
    ]


@pytest.mark.parametrize(
    ("verdicts", "rounds"),
    [([STALE], 2), ([FRESH, STALE], 3), ([STALE, FRESH, STALE], 4), ([STALE, FRESH, STALE, FRESH], 5), ([FRESH], 5)],
)
async def test_two_rounds_running_without_a_new_argument_end_a_duel_judged_each_round(
    verdicts: list[str], rounds: int
) -> None:
    stage = Stage(judged(*verdicts), settings={"judge": "each_round"})
    ending = await stage.run()
    assert ending.stop_reason == ("max_rounds" if rounds == 5 else "no_new_substantive_arguments")
    assert await stage.order() == [
        (seat, kind, round)
        for round in range(1, rounds + 1)
        for seat, kind in [("debater_a", "argument"), ("debater_b", "argument"), ("judge", "verdict")]
    ]


@pytest.mark.parametrize(("stance_a", "sides"), [("pro", ("FOR", "AGAINST")), ("con", ("AGAINST", "FOR"))])
async def test_each_side_argues_its_stance_whichever_the_user_gave_a(stance_a: str, sides: tuple[str, str]) -> None:
    stage = Stage(judged(ballot()), settings={"stance_a": stance_a, **ONE})
    outcome = await outcome_of(stage)
    assert (outcome.stance_a, outcome.stance_b) == (("pro", "con") if stance_a == "pro" else ("con", "pro"))
    assert outcome.headline() == f"Debater A ({stance_a}) wins, 7 : 4"
    assert outcome.table()[1:] == (("Debater A", outcome.stance_a, "7"), ("Debater B", outcome.stance_b, "4"))
    for request, side in zip(stage.model.requests, sides, strict=False):
        assert f" words {side} this:\n<topic>" in request.messages[-1].content
    for request in stage.model.requests:
        assert f"{A} speaks {sides[0]} it, {B} speaks {sides[1]} it." in request.messages[0].content


# What the judge hands in


async def test_the_judge_s_turn_carries_the_verdict_and_reads_as_a_summary() -> None:
    summary = f"{A} was right about mice. {B}'s dog barked; {A}ley and {A.lower()} stay."
    stage = Stage(judged(ballot(8.5, 6, summary)), settings=ONE)
    outcome = await outcome_of(stage)
    turn = (await stage.turns())[-1]
    assert turn.content == f"Debater A was right about mice. Debater B's dog barked; {A}ley and {A.lower()} stay."
    assert turn.data == {
        "summary": turn.content,
        "score_a": 8.5,
        "score_b": 6.0,
        "winner": "a",
        "no_new_substantive_arguments": False,
        "lead": "",
    }
    assert (turn.marks, stage.shown(2)) == ((), turn.content)
    assert outcome == Verdict(
        summary=turn.content,
        winner="a",
        score_a=8.5,
        score_b=6,
        stance_a="pro",
        stance_b="con",
        no_new_substantive_arguments=False,
        fallback=False,
        models=dict.fromkeys((*SIDES, "judge"), "scripted:model"),
        caveats=[ONE_MODEL],
        language="en",
        trust=Trust(level="Low", reasons=["judged once: whether another judging would say the same is not known"]),
    )


async def test_what_tipped_the_balance_is_told_with_the_titles_of_the_sides() -> None:
    reply = json.dumps({**json.loads(ballot()), "lead": f"{A} had figures, {B} had none."})
    stage = Stage(judged(reply), settings=ONE)
    assert (await outcome_of(stage)).lead == "Debater A had figures, Debater B had none."


@pytest.mark.parametrize(
    ("a", "b", "winner"),
    [(7, 4, "a"), (4, 7, "b"), (6, 6, "undecided"), (6.5, 6, "undecided"), (7, 6, "a"), (0, 10, "b")],
)
@pytest.mark.parametrize("claimed", ["a", "b", "undecided", "nobody", A, 3, None])
async def test_the_winner_follows_from_the_scores_whatever_the_judge_claims(
    a: float, b: float, winner: str, claimed: Any
) -> None:
    stage = Stage(judged(ballot(a, b, winner=claimed)), settings=ONE)
    assert (await outcome_of(stage)).winner == winner
    assert (await stage.turns())[-1].marks == ()


def scored(value: str) -> str:
    return f'{{"summary": "s", "score_{A.lower()}": {value}, "score_{B.lower()}": 5}}'


UNREADABLE = {
    "A wins.": "there is no JSON object in it",
    '{"summary": "A gave': "there is no JSON object in it",
    '{"summary": nothing}': "it is not valid JSON: expected ident at line 1 column 14",
    "{}": f"summary: Field required; score_{A.lower()}: Field required; score_{B.lower()}: Field required",
    scored("NaN"): f"score_{A.lower()}: Input should be a finite number",
    scored("1e999"): f"score_{A.lower()}: Input should be a finite number",
    scored("-Infinity"): f"score_{A.lower()}: Input should be a finite number",
    scored('"very good"'): f"score_{A.lower()}: Input should be a valid number, unable to parse string as a number",
    scored("11"): f"score_{A.lower()}: Input should be less than or equal to 10",
    scored("-1"): f"score_{A.lower()}: Input should be greater than or equal to 0",
    scored("9" * 400): f"score_{A.lower()}: Input should be a finite number",
    ballot(summary="  "): "summary: String should have at least 1 character",
}


@pytest.mark.parametrize(("text", "fault"), UNREADABLE.items(), ids=lambda value: value[:24])
async def test_an_unreadable_verdict_is_asked_for_once_more_and_told_what_was_wrong(text: str, fault: str) -> None:
    stage = Stage(judged(text, ballot()), settings=ONE)
    await outcome_of(stage)
    turn = (await stage.turns())[-1]
    assert (turn.data, turn.marks) == ({**VERDICT, "no_new_substantive_arguments": False}, ("repaired",))
    asked, told = stage.model.requests[2:]
    assert told.messages[: len(asked.messages)] == asked.messages
    assert [(message.role, message.content) for message in told.messages[len(asked.messages) :]] == [
        ("assistant", text),
        (
            "user",
            f"Your answer cannot be used: {fault}. Answer again, more briefly: one JSON object as asked, nothing else.",
        ),
    ]
    (kept,) = await stage.failures()
    assert (kept.code, kept.partial) == (BadReply.code, text)


async def test_a_second_unreadable_verdict_is_replaced_by_a_marked_fallback() -> None:
    stage = Stage(judged("A wins.", scored("NaN")), settings=ONE)
    outcome = await outcome_of(stage)
    turn = (await stage.turns())[-1]
    assert (turn.content, turn.data, turn.marks) == (FALLBACK["summary"], FALLBACK, ("fallback",))
    assert stage.shown(2) == FALLBACK["summary"]
    assert len(stage.model.requests) == 4
    assert turn.usage.calls == 2
    assert (outcome.winner, outcome.fallback, outcome.headline()) == ("undecided", True, "Undecided, 5 : 5")
    assert outcome.caveats == ["the judge's answer could not be read: these scores are a placeholder", ONE_MODEL]


async def test_a_fallback_does_not_count_as_a_round_without_new_arguments() -> None:
    stage = Stage(judged("nonsense"), settings={"judge": "each_round", "max_rounds": 3})
    assert (await stage.run()).stop_reason == "max_rounds"


@pytest.mark.parametrize("around", ["```json\n{}\n```", "Here it is:\n{}\nI hope it helps.", "\n {} \n"])
async def test_a_verdict_is_found_in_whatever_stands_around_it(around: str) -> None:
    stage = Stage(judged(around.replace("{}", ballot())), settings=ONE)
    await outcome_of(stage)
    turn = (await stage.turns())[-1]
    assert (turn.content, turn.marks, stage.shown(2)) == (VERDICT["summary"], (), VERDICT["summary"])


def test_a_ballot_under_the_plain_field_names_is_read_too() -> None:
    assert Ballot.model_validate({"summary": "s", "score_a": 1, "score_b": 3}).winner == "b"


# Neutral names


def test_neutral_names_are_two_and_the_same_for_the_same_topic() -> None:
    names = neutral_names(TOPIC)
    assert names == neutral_names(TOPIC)
    assert len(set(names)) == 2


def test_no_side_is_called_by_a_word_of_the_topic() -> None:
    for first in NAMES:
        for second in NAMES:
            names = neutral_names(f"Is {first.lower()} better than {second.upper()}?")
            assert {first, second}.isdisjoint(names)
    assert len(neutral_names(" ".join(NAMES))) == 2


# Seats


async def test_models_temperatures_and_caps_are_those_of_the_seat() -> None:
    stage = Stage(
        judged(ballot()),
        settings={"temperatures": {"debater_b": 1.2}, "max_tokens": {"judge": 77}, **ONE},
        models={"debater_a": "x:one", "debater_b": "x:two", "judge": "y:three"},
    )
    await stage.run()
    called = [(request.model, request.temperature, request.max_tokens) for request in stage.model.requests]
    assert called == [("one", 0.7, 600), ("two", 1.2, 600), ("three", 0.2, 77)]
    assert [turn.model for turn in await stage.turns()] == ["x:one", "x:two", "y:three"]


@pytest.mark.parametrize(
    ("settings", "models"),
    [
        ({}, (None, None, None)),
        ({"model": "x:m"}, ("x:m", "x:m", "x:m")),
        ({"model_debater": "x:d"}, ("x:d", "x:d", None)),
        ({"model": "x:m", "model_judge": "y:j"}, ("x:m", "x:m", "y:j")),
        ({"models": {"debater_b": "x:b"}, "model_debater": "y:d", "model": "z:m"}, ("y:d", "x:b", "z:m")),
    ],
)
def test_a_seat_s_own_model_goes_before_its_group_s_and_that_before_the_common_one(
    settings: dict[str, Any], models: tuple[str | None, ...]
) -> None:
    checked = DUEL.settings.model_validate(settings)
    chosen = {seat.name: checked.model_for(seat) for seat in DUEL.seats if seat.group != "jury"}
    assert tuple(chosen.values()) == (*models, models[2], models[0]), "a scribe is as the judge, a voter as debater A"


# Caveats


@pytest.mark.parametrize(
    ("models", "caveats"),
    [
        (("x:m", "x:m", "x:m"), ["one model, x:m, spoke in every seat"]),
        (
            ("openai:gpt-5", "ollama:llama3:8b", "openrouter:meta/llama-4"),
            ["the judge is of the same model family (llama) as Debater B"],
        ),
        (
            ("x:qwen3", "y:qwen3", "x:qwen2.5"),
            ["the judge is of the same model family (qwen) as Debater A and Debater B"],
        ),
        (("x:gpt", "x:gpt", "x:claude"), []),
    ],
)
async def test_the_outcome_admits_that_the_judge_may_favour_its_own_kind(
    models: tuple[str, str, str], caveats: list[str]
) -> None:
    stage = Stage(judged(ballot()), settings=ONE, models=dict(zip((*SIDES, "judge"), models, strict=True)))
    assert (await outcome_of(stage)).caveats == caveats


class Verbose:
    """A model that writes as much as it may."""

    async def complete(self, request: Request, on_text: Any) -> Completion:
        text = sensible(request)
        on_text(text)
        length = "stop" if request.schema else "length"
        return Completion(text=text, finish_reason=length, usage=Usage(output_tokens=request.max_tokens, calls=1))  # type: ignore[arg-type]


async def test_the_outcome_admits_that_turns_ran_into_the_cap() -> None:
    stage = Stage(settings=ONE)
    stage.model = Verbose()
    outcome = await outcome_of(stage)
    assert [turn.marks for turn in await stage.turns()] == [("truncated",), ("truncated",), ()]
    assert outcome.caveats == [
        "1 of 1 speeches of Debater A ran into the output cap",
        "1 of 1 speeches of Debater B ran into the output cap",
        ONE_MODEL,
    ]


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("ollama:llama3.3:70b", "llama"),
        ("openrouter:anthropic/claude-sonnet", "claude"),
        ("http://127.0.0.1:8080/v1#Qwen3-8B", "qwen"),
        ("deepseek:deepseek-chat", "deepseek"),
        ("my-own.server:mistral-small", "mistral"),
        ("local:42", "42"),
    ],
)
def test_a_model_s_family_is_the_first_word_of_its_name(model: str, family: str) -> None:
    assert model_family(model) == family


async def test_the_judge_is_asked_for_a_score_under_each_neutral_name() -> None:
    stage = Stage(settings=ONE)
    await stage.run()
    schema = stage.model.requests[-1].schema
    score = {"type": "integer", "minimum": 0, "maximum": 10}
    assert schema.name == "ballot"
    assert [(name, field["type"]) for name, field in schema.schema["properties"].items()] == [
        ("summary", "string"),
        (f"score_{A.lower()}", "integer"),
        (f"score_{B.lower()}", "integer"),
        ("no_new_substantive_arguments", "boolean"),
        ("lead", "string"),
    ]
    assert schema.schema["required"] == list(schema.schema["properties"])
    assert schema.schema["properties"][f"score_{A.lower()}"] == score


# Giving in, and last words


def giving_in(seat: str, round: int) -> Callable[[Request], str]:
    """Everybody argues, until this debater gives in."""
    said = iter(range(100))
    turn = (round - 1) * 2 + SIDES.index(seat)

    def reply(request: Request) -> str:
        if request.schema:
            return ballot(4, 7)
        return "You are right, I have nothing left.\n\nCONCEDED" if next(said) == turn else "A reason."

    return reply


@pytest.mark.parametrize(("seat", "winner"), [("debater_a", "b"), ("debater_b", "a")])
async def test_a_debater_that_concedes_ends_the_debate_and_the_other_wins_whatever_the_scores(
    seat: str, winner: str
) -> None:
    stage = Stage(giving_in(seat, 2))
    outcome = await outcome_of(stage)
    assert (outcome.winner, outcome.conceded) == (winner, seat[-1])
    assert outcome.headline() == (
        f"Debater {winner.upper()} ({'pro' if winner == 'a' else 'con'}) wins: Debater {seat[-1].upper()} conceded"
    )
    order = await stage.order()
    assert order[-2:] == [(seat, "argument", 2), ("judge", "verdict", None)]
    assert (await stage.record()).stop_reason == "conceded"
    assert f"{dict(zip(SIDES, (A, B), strict=True))[seat]} gave in" in stage.model.requests[-1].messages[-1].content


@pytest.mark.parametrize("speech", ["CONCEDED", "You are right.\n\n**CONCEDED**", "So be it.\n `CONCEDED`. \n"])
async def test_a_debater_concedes_by_its_last_line_whatever_marks_it_has(speech: str) -> None:
    outcome = await outcome_of(Stage(lambda request: ballot(7, 4) if request.schema else speech))
    assert (outcome.winner, outcome.conceded) == ("b", "a")


@pytest.mark.parametrize(
    "speech",
    ["I concede that mice run.", "CONCEDED is a word.", "Nothing is CONCEDED", "CONCEDED\nNot so fast."],
)
async def test_a_debater_that_speaks_of_conceding_gives_nothing_up(speech: str) -> None:
    stage = Stage(lambda request: ballot(7, 4) if request.schema else speech, settings={"max_rounds": 2})
    outcome = await outcome_of(stage)
    assert (outcome.conceded, len(await stage.turns())) == (None, 5)


async def test_the_judge_is_told_whose_last_speech_nobody_could_answer() -> None:
    stage = Stage(judged(ballot()), settings={"max_rounds": 2})
    await stage.run()
    assert f"{B} spoke last, so nobody could answer that speech" in stage.model.requests[-1].messages[-1].content
    assert "Make no new argument" in stage.model.requests[-2].messages[-1].content


async def test_where_each_side_speaks_once_both_speeches_count() -> None:
    stage = Stage(judged(ballot()), settings=ONE)
    await stage.run()
    assert "spoke last" not in stage.model.requests[-1].messages[-1].content


@pytest.mark.parametrize(("a", "b", "said"), [(4, 7, "7 : 4"), (7, 4, "7 : 4"), (8.2, 7.2, "8.2 : 7.2")])
async def test_the_winner_s_score_comes_first(a: float, b: float, said: str) -> None:
    stage = Stage(judged(ballot(a, b)), settings=ONE)
    assert (await outcome_of(stage)).headline().endswith(f"wins, {said}")


async def test_a_duel_in_german_has_its_fixed_words_in_german() -> None:
    topic = "Sind Katzen besser als Hunde?"
    first, second = (f"score_{name.lower()}" for name in neutral_names(topic))
    reply = json.dumps({"summary": "Gut.", first: 4, second: 7})
    outcome = await outcome_of(Stage(judged(reply), topic=topic, settings=ONE))
    assert outcome.headline() == "Debater B (con) gewinnt, 7 : 4"
    assert outcome.table()[0] == ("", "Seite", "Punkte")


# Debates of a strong model


async def test_a_recording_of_version_1_plays_under_its_rules(tmp_path: Path) -> None:
    topic = "A team of six should write its next backend in Rust instead of Python"
    outcome = await replayed("duel-rust.cassette", "duel@1", topic, {"max_rounds": 2}, tmp_path)
    assert (outcome["winner"], outcome["score_a"], outcome["score_b"]) == ("b", 6, 7)


async def test_a_duel_in_arabic_is_debated_and_judged_in_arabic() -> None:
    topic, said = spoken("duel-arabic.json")
    stage = Stage(said, topic=topic, settings={"max_rounds": 2})
    outcome = await outcome_of(stage)
    assert (outcome.headline(), outcome.conceded) == ("Debater B (con) wins, 7 : 6", None)
    assert outcome.lead.startswith("رجحت كفة Debater B لأن Debater A سلّم")
    assert all("the language in which" in request.messages[0].content for request in stage.model.requests)
