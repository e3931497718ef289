from __future__ import annotations

import cProfile
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from moot import formats
from moot.app import App
from moot.core.debate import Status, Step, Usage
from moot.core.estimate import TYPICAL_SHARE, Estimate, estimate
from moot.core.events import Event
from moot.core.format import AnyFormat
from moot.core.measure import Measure, mark
from moot.core.prompts import Part, Prompts
from moot.core.script import Debate
from moot.errors import InvalidInput
from moot.formats.duel.format import Ballot, verdict
from moot.llm.client import Request
from moot.settings import Price
from moot.testing import ScriptedModel, scripted_app
from moot.text.plain import CHARACTERS_PER_TOKEN

SIDES = {"debater_a": "Cedar", "debater_b": "Flint"}
VERDICT = '{"summary": "A was better.", "score_a": 8, "score_b": 3}'


def longest_replies(request: Request) -> str:
    """A model that writes as much as it may: a token is a word of four letters here."""
    return VERDICT if request.schema else "word" + " abc" * (request.max_tokens - 1)


async def test_the_most_a_debate_can_take_is_what_a_talkative_model_takes() -> None:
    model = ScriptedModel(longest_replies)
    app = scripted_app(model)
    found = await app.estimate("duel", "Cats are better than dogs")
    most, typical = found.most, found.typical
    assert model.requests == []
    record = await app.create("duel", "Cats are better than dogs")
    await app.run(record.id, lambda event: None)
    assert (most.calls, most.output_tokens, most.estimated) == (12, 10 * 600 + 2 * 400, True)  # judged again if need be
    characters = sum(len(message.content) for request in model.requests for message in request.messages)
    again = sum(len(message.content) for message in model.requests[-1].messages) + 400 * 4
    assert most.input_tokens == pytest.approx((characters + again) / 4, rel=0.05)
    assert typical.input_tokens < most.input_tokens
    assert 0 < typical.cached_tokens < typical.input_tokens


async def test_an_estimate_with_a_price_has_a_cost_and_one_without_has_none() -> None:
    app = scripted_app(ScriptedModel(longest_replies))
    assert (await app.estimate("duel", "Cats?")).most.cost is None
    priced = scripted_app(ScriptedModel(longest_replies), prices={"scripted:model": Price(input=1, output=2)})
    most = (await priced.estimate("duel", "Cats?")).most
    assert most.cost == pytest.approx((most.input_tokens + 2 * most.output_tokens) / 1e6)


async def test_a_debate_ends_before_the_round_that_would_exceed_max_cost() -> None:
    app = scripted_app(ScriptedModel(longest_replies), prices={"scripted:model": Price(input=0, output=1000)})
    record = await app.create("duel", "Cats?", {"max_cost": 3.0})
    events: list[Event] = []
    ending = await app.run(record.id, events.append)
    turns = (await app.load(record.id)).turns
    assert (ending.status, ending.stop_reason) == (Status.FINISHED, "max_cost")
    assert [turn.seat for turn in turns] == ["debater_a", "debater_b"] * 2 + ["judge"]
    assert [event.type for event in events].count("limit_reached") == 1


async def test_max_cost_without_a_price_is_refused() -> None:
    app = scripted_app(ScriptedModel(longest_replies))
    with pytest.raises(InvalidInput, match="max_cost needs a price for scripted:model"):
        await app.create("duel", "Cats?", {"max_cost": 1.0})


TOPIC = "Should we rewrite the Moderator in Rust? Cedar and <topic> say no."
TEXTS = {
    "SHORT": "Rust is quick. " * 30,
    "LONG": "Rust is quick. " * 600,
    "IDEA": "A bakery that is open at night. " * 20,
}
WRITTEN_OUT = json.loads((Path(__file__).parent / "estimates.json").read_text())
"""Estimates that were made by writing out every prompt in full: input, cached and output tokens, and calls."""


def written_in_full(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: written_in_full(each) for name, each in value.items()}
    if isinstance(value, list):
        return [written_in_full(each) for each in value]
    return TEXTS.get(value, value) if isinstance(value, str) else value


def numbers(usage: Usage) -> list[int]:
    return [usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.calls]


async def estimated(format: str, settings: dict[str, Any]) -> Estimate:
    prices = {f"scripted:{name}": Price(input=1, output=2) for name in ("model", "other", "third")}
    app = scripted_app(ScriptedModel(longest_replies), prices=prices)
    found = await app.estimate(format, TOPIC, written_in_full(settings))
    return Estimate(found.most, found.typical)


async def test_twice_the_tokens_to_examine_a_panel_with_are_no_more_work() -> None:
    app = scripted_app(ScriptedModel(longest_replies))
    settings = {**largest("panel", 100), "depth": "careful", "ledger": "end"}
    await calls(app, "panel", settings)  # reads the prompt files
    few, many = [
        await calls(app, "panel", {**settings, "max_check_output_tokens": tokens}) for tokens in (16_000, 24_000)
    ]
    assert many < 1.2 * few


@pytest.mark.parametrize("case", WRITTEN_OUT, ids=lambda case: str(case["name"]))
async def test_an_estimate_is_what_writing_out_every_prompt_would_give(case: dict[str, Any]) -> None:
    most, typical = await estimated(f"{case['format']}@1", case["settings"])  # whose prompts were written out
    # In a panel of several rounds the made-up speeches repeated each other, which its prompts then said.
    several = case["format"] == "panel" and case["settings"]["max_rounds"] > 1
    exactly = {"rel": 0.001 if several else 0.0, "abs": 0}
    assert all(now >= written for now, written in zip(numbers(most), case["most"], strict=True))
    assert numbers(typical) == pytest.approx(case["typical"], **exactly)


class WrittenOutPrompts(Prompts):
    """Counts the characters of every prompt as it would be sent, with each made-up turn in full."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = 0

    def instruction(self, format: AnyFormat, debate: Debate[Any], step: Step, at: int) -> str:
        text = super().instruction(format, debate, step, at)
        if at == len(debate.transcript) and debate.rehearsed == "typical":
            read = "".join(part.text for part in self.read(format, debate, step))
            whole = self.rules(format, debate, step) + read + text
            caps = [whole.count(mark(at)) * (step.max_tokens or 0) for at, step in enumerate(debate.steps)]
            self.sent += len(whole) + round(sum(caps) * TYPICAL_SHARE * CHARACTERS_PER_TOKEN)
        return text


@pytest.mark.parametrize("depth", ["quick", "normal", "careful"])
async def test_a_critique_s_estimate_has_all_that_scores_are_given_again_on(depth: str) -> None:
    app = scripted_app(ScriptedModel(longest_replies))
    app.prompts = written = WrittenOutPrompts()
    limits = {"max_rounds": 9, "max_total_output_tokens": 1_000_000, "rag_top_k": 0, "depth": depth}
    typical = (await app.estimate("critique", TOPIC, limits)).typical
    assert typical.input_tokens * CHARACTERS_PER_TOKEN == pytest.approx(written.sent, rel=0.01)


async def test_a_panel_s_estimate_has_all_its_rounds() -> None:
    settings = {"perspectives": 2, "checkpoints": False, "max_total_output_tokens": 1_000_000}
    calls = [(await estimated("panel", {**settings, "max_rounds": rounds})).most.calls for rounds in (1, 3, 5, 7)]
    assert calls == [13, 31, 49, 67]  # rebuttals, evaluations and the record may be asked for again


@pytest.mark.parametrize(
    ("format", "settings", "each"),
    [
        ("duel", {"depth": "normal", "judge": "each_round"}, 6),
        ("panel", {"depth": "careful", "perspectives": 2, "checkpoints": False}, 13),
    ],
    ids=["duel", "panel"],
)
async def test_an_estimate_has_all_rounds_where_claims_are_noted_in_each(
    format: str, settings: dict[str, Any], each: int
) -> None:
    limits = {"max_total_output_tokens": 1_000_000, "max_check_output_tokens": 1_000_000}
    calls = [(await estimated(format, {**settings, **limits, "max_rounds": n})).most.calls for n in (4, 6, 8)]
    assert [after - before for before, after in pairwise(calls)] == [2 * each, 2 * each]


class CountedPrompts(Prompts):
    """Counts the characters it renders."""

    rendered = 0
    rules_rendered = 0

    def rules(self, format: AnyFormat, debate: Debate[Any], step: Step) -> str:
        self.rules_rendered += 1
        return self._count(super().rules(format, debate, step))

    def instruction(self, format: AnyFormat, debate: Debate[Any], step: Step, at: int) -> str:
        return self._count(super().instruction(format, debate, step, at))

    def read(self, format: AnyFormat, debate: Debate[Any], step: Step, since: int = 0) -> Iterator[Part]:
        for part in super().read(format, debate, step, since):
            self._count(part.text)
            yield part

    def _count(self, text: str) -> str:
        self.rendered += len(text)
        return text


@pytest.mark.parametrize("models", [{}, {"debater_a": "scripted:other"}], ids=["one model", "two models"])
async def test_twice_the_rounds_are_twice_the_work_however_long_the_turns(models: dict[str, str]) -> None:
    app = scripted_app(ScriptedModel(longest_replies))
    work = []
    for rounds in (25, 50, 100):
        app.prompts = CountedPrompts()
        caps = dict.fromkeys(["debater_a", "debater_b", "judge"], 1_000_000)
        limits = {"max_rounds": rounds, "max_total_output_tokens": 1_000_000_000}
        most = (await app.estimate("duel", "Cats?", {**limits, "models": models, "max_tokens": caps})).most
        assert most.output_tokens == (2 * rounds + 2) * 1_000_000
        work.append(app.prompts.rendered)
    assert work[1] < 2.1 * work[0]
    assert work[2] < 2.1 * work[1]


async def calls(app: App, format: str, settings: dict[str, Any]) -> int:
    """How many functions an estimate calls."""
    record = await app.create(format, "Cats?", settings)
    profile = cProfile.Profile()
    profile.runcall(estimate, record, app.formats[format], app.prompts, lambda model, usage: None)
    return sum(entry.callcount for entry in profile.getstats())


def largest(format: str, rounds: int) -> dict[str, Any]:
    """Settings of a debate that is as large as it can be with so many rounds; an evaluation's are its topics."""
    if format == "evaluation":
        topic = {"category": "problem", "advocate": "It is.", "challenger": "It is not."}
        topics = [{**topic, "name": f"Topic {number}"} for number in range(rounds)]
        return {"topics": topics, "exchanges": 3, "parallel_topics": 1}
    panel = {"perspectives": 4, "token_budget_per_round": 0} if format == "panel" else {}
    return {"max_rounds": rounds, "max_total_output_tokens": 1_000_000_000, **panel}


@pytest.mark.parametrize("format", ["duel", "critique", "panel", "evaluation"])
async def test_twice_the_rounds_are_twice_the_calls_of_functions_in_every_format(format: str) -> None:
    app = scripted_app(ScriptedModel(longest_replies))
    await calls(app, format, largest(format, 2))  # reads the prompt files
    few, many = [await calls(app, format, largest(format, rounds)) for rounds in (12, 48)]
    assert many < 4.5 * few


async def test_an_estimate_does_not_read_through_long_sources() -> None:
    def sources(words: int) -> dict[str, Any]:
        return {"sources": [{"name": f"Numbers {number}", "text": "1234 " * words} for number in range(10)]}

    app = scripted_app(ScriptedModel(longest_replies))
    await calls(app, "panel", sources(2000))  # reads the prompt files
    short, long = [await calls(app, "panel", sources(words)) for words in (2000, 8000)]  # both too long for prompts
    assert long < 1.1 * short


async def test_an_estimate_renders_the_same_rules_once_for_each_topic() -> None:
    app = scripted_app(ScriptedModel(longest_replies))
    app.prompts = CountedPrompts()
    await app.estimate("evaluation", "Cats?", largest("evaluation", topics := 40))
    assert app.prompts.rules_rendered == 1 + topics  # for who prepares, and for each topic


class ReadPrompts(Prompts):
    """Counts how often a part of a prompt is read where the most is rehearsed."""

    parts = 0

    def read(self, format: AnyFormat, debate: Debate[Any], step: Step, since: int = 0) -> Iterator[Part]:
        for part in super().read(format, debate, step, since):
            self.parts += debate.rehearsed == "most"
            yield part


LONG_SOURCE = {"sources": [{"name": "Numbers", "text": "1234 " * 20_000}]}
MANY_TOPICS: dict[str, dict[str, Any]] = {
    "of one model": {},
    "one at a time": {"parallel_topics": 1},
    "of two models": {"models": {"advocate": "scripted:other"}},
    "judged often": {"judgings": 12, "max_check_output_tokens": 1_000_000, "parallel_topics": 20},
    "with research": {**LONG_SOURCE, "research": True, "models": {"arbiter": "scripted:other"}},
    "whose tokens end late": {**LONG_SOURCE, "research": True, "max_total_output_tokens": 60_000},
}


def unlike_topics(number: int) -> dict[str, Any]:
    words = {"advocate": "It is so. ", "challenger": "It is not. "}
    topics = [
        {
            "name": f"Topic {'x' * (7 * at % 40)}",
            "category": ("problem", "market")[at % 3 == 0],
            **{side: text * (1 + (at * len(text)) % 13) for side, text in words.items()},
        }
        for at in range(number)
    ]
    return {**largest("evaluation", number), "topics": topics}


async def test_an_estimate_reads_through_no_more_prompts_for_more_topics() -> None:
    parts = []
    for topics in (20, 40):
        app = scripted_app(ScriptedModel(longest_replies))
        app.prompts = prompts = ReadPrompts()
        settings = {**unlike_topics(topics), **LONG_SOURCE, "research": True, "depth": "careful"}
        await app.estimate("evaluation", "Cats?", {**settings, "models": {"advocate": "scripted:other"}})
        parts.append(prompts.parts)
    few, many = parts
    assert 0 < many == few


@pytest.mark.parametrize("case", MANY_TOPICS)
async def test_topics_count_as_if_each_of_their_prompts_were_read_through(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**unlike_topics(23), **MANY_TOPICS[case]}
    quick = await estimated("evaluation", settings)
    monkeypatch.setattr(Measure, "_alike", lambda *_: None)
    whole = await estimated("evaluation", settings)
    assert numbers(quick.most) == numbers(whole.most)
    tokens, cached, *rest = numbers(quick.typical)
    assert [tokens, *rest] == [numbers(whole.typical)[0], *numbers(whole.typical)[2:]]
    assert cached == pytest.approx(whole.typical.cached_tokens, rel=0.03)


async def test_an_estimate_needs_no_outcome() -> None:
    def never() -> Any:
        raise AssertionError("nobody has debated")

    def script(debate: Debate[Any]) -> Any:
        yield from debate.ask("debater_a", "argument", 1, aliases=SIDES, stance="pro", last=False)
        return never

    quick, _ = await both_ways("duel", {}, script)
    assert quick.most.calls == 1


LONG: dict[str, tuple[str, dict[str, Any]]] = {
    "a duel": ("duel", {}),
    "a duel of version 1": ("duel@1", {}),
    "a duel of two models": ("duel", {"models": {"debater_a": "scripted:other"}}),
    "a duel with a judge in each round": ("duel", {"judge": "each_round"}),
    "a duel whose tokens end late": ("duel", {"max_total_output_tokens": 70_000}),
    "a duel whose money ends late": ("duel", {"max_cost": 5.0}),
    "a duel with caps of a word": ("duel", {"max_tokens": {"debater_a": 1, "debater_b": 1}}),
    "a critique": ("critique", {}),
    "a critique of version 1": ("critique@1", {}),
    "a critique of two models": ("critique", {"models": {"proposer": "scripted:other"}}),
    "a critique whose tokens end late": ("critique", {"max_total_output_tokens": 130_000}),
    "a panel": ("panel", {"perspectives": 2}),
    "a panel of version 1": ("panel@1", {"perspectives": 2}),
    "a panel of two models": ("panel", {"perspectives": 2, "models": {"debater_1": "scripted:other"}}),
    "a panel whose tokens end late": ("panel", {"perspectives": 2, "max_total_output_tokens": 200_000}),
    "a panel with long sources": ("panel", {"perspectives": 2, "sources": [{"name": "Rust", "text": "LONG"}]}),
    "a duel that looks things up": (
        "duel",
        {"research": True, "sources": [{"name": "Rust", "text": "LONG"}], "whole_sources": 0},
    ),
    "a panel that has found all it may before its end": (
        "panel",
        {
            "perspectives": 4,
            "research": True,
            "whole_sources": 0,
            "max_rounds": 100,
            "sources": [{"name": "Rust", "text": "LONG"}],
        },
    ),
    "a panel that examines itself until its tokens for that end": (
        "panel",
        {"perspectives": 2, "depth": "careful", "ledger": "end", "max_check_output_tokens": 15_000},
    ),
    "a panel that asks nobody": ("panel", {"perspectives": 2, "checkpoints": False, "token_budget_per_round": 0}),
}


async def both_ways(format: str, settings: dict[str, Any], script: Any = None) -> tuple[Estimate, Estimate]:
    """As it is made, and with every round rehearsed."""
    prices = {f"scripted:{name}": Price(input=1, output=2, cached=0.1) for name in ("model", "other")}
    app = scripted_app(ScriptedModel(longest_replies), prices=prices)
    limits = {"max_total_output_tokens": 1_000_000_000, "max_rounds": 60}
    record = await app.create(format, TOPIC, written_in_full({**limits, **settings}))
    rules = formats.of_record(app.formats, record)
    how = (record, replace(rules, script=script) if script else rules, app.prompts, app.models.prices.cost)
    return estimate(*how), estimate(*how, alike=range(0))


def assert_same(quick: Estimate, whole: Estimate) -> None:
    assert [numbers(usage) for usage in quick] == [numbers(usage) for usage in whole]
    assert [usage.cost for usage in quick] == pytest.approx([usage.cost for usage in whole])


@pytest.mark.parametrize("case", LONG)
async def test_rounds_that_are_passed_over_count_as_if_they_were_rehearsed(case: str) -> None:
    format, settings = LONG[case]
    quick, whole = await both_ways(format, settings)
    assert_same(quick, whole)


def windowed(debate: Debate[Any]) -> Any:
    """Who speaks reads only the last two turns."""
    with debate.until_closing():
        for round in debate.rounds(["debater_a"], closing=["judge"]):
            there = len(debate.transcript)
            visible = frozenset(range(max(0, there - 2), there))
            yield from debate.ask(
                "debater_a", "argument", round, aliases=SIDES, visible=visible, stance="pro", last=False
            )
    return (yield from closed(debate))


def keeping_books(debate: Debate[Any]) -> Any:
    """Looks up in a list of its own what was said in the last round."""
    said = [""]
    with debate.until_closing():
        for round in debate.rounds(["debater_a"], closing=["judge"]):
            before = said[round - 1]
            turn = yield from debate.ask("debater_a", "argument", round, aliases=SIDES, stance=before, last=False)
            said.append(turn.content)
    return (yield from closed(debate))


def with_another_end(debate: Debate[Any]) -> Any:
    """In the last rounds the other side speaks as well."""
    with debate.until_closing():
        for round in debate.rounds(["debater_a"], closing=["judge"]):
            for seat in list(SIDES)[: 2 if round > debate.settings.max_rounds - 3 else 1]:
                yield from debate.ask(seat, "argument", round, aliases=SIDES, stance="pro", last=False)
    return (yield from closed(debate))


def ever_faster(debate: Debate[Any]) -> Any:
    """What is asked grows with the square of the round."""
    with debate.until_closing():
        for round in debate.rounds(["debater_a"], closing=["judge"]):
            stance = "pro" * round * round
            yield from debate.ask("debater_a", "argument", round, aliases=SIDES, stance=stance, last=False)
    return (yield from closed(debate))


JUDGING: dict[str, Any] = {"sides": ("A", "B"), "last_speaker": "", "conceding": "", "wording": 0}


def closed(debate: Debate[Any]) -> Any:
    judged = yield from debate.ask("judge", "verdict", answer=Ballot, aliases=SIDES, **JUDGING)
    return verdict(debate, judged)


@pytest.mark.parametrize("script", [windowed, keeping_books, with_another_end, ever_faster])
async def test_a_script_of_any_kind_is_estimated_as_if_every_round_were_rehearsed(script: Any) -> None:
    assert_same(*await both_ways("duel", {}, script))


async def test_a_script_that_stumbles_over_rounds_it_was_not_asked_for_is_told_in_the_log(caplog: Any) -> None:
    await both_ways("duel", {}, keeping_books)
    assert caplog.messages == ["the script of duel needs every round rehearsed: IndexError('list index out of range')"]


async def test_a_fault_of_a_script_is_told_the_first_time_it_shows() -> None:
    begun = []

    def broken(debate: Debate[Any]) -> Any:
        begun.append(debate)
        yield from debate.ask("debater_a", "argument", 1, aliases=SIDES, stance="pro", last=False)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await both_ways("duel", {}, broken)
    assert len(begun) == 1


@pytest.mark.parametrize("research", [False, True])
@pytest.mark.parametrize("format", ["duel", "critique", "panel"])
async def test_a_hundred_rounds_render_hardly_more_than_twenty(format: str, research: bool) -> None:
    app = scripted_app(ScriptedModel(longest_replies))
    more = (
        written_in_full({"research": True, "sources": [{"name": "Rust", "text": "LONG"}], "whole_sources": 0})
        if research
        else {}
    )

    async def rendered(rounds: int) -> int:
        app.prompts = CountedPrompts()
        await app.estimate(format, "Cats?", {**largest(format, rounds), **more})
        return app.prompts.rendered

    assert await rendered(100) < 1.5 * await rendered(20)
