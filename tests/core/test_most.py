"""What an estimate announces as the most a debate can take, no run exceeds: not in calls, tokens or money.

The model here is everybody's worst: it writes all it may, fills forms to the brim or hands in what cannot be read, has
everything looked up twice, and now and then says a word, so that there is room for more rounds.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from moot import formats
from moot.app import App
from moot.core.debate import Action, Status, Usage
from moot.core.replay import next_steps
from moot.llm.client import Completion, Request
from moot.settings import Price
from moot.testing import scripted_app
from moot.text.plain import CHARACTERS_PER_TOKEN, estimated_tokens

PRICES = {
    "scripted:model": Price(input=3, output=15),
    "scripted:other": Price(input=1, output=60),
}
MOODS = ("long", "short")
TOPIC = "Should we rewrite the server in Rust?"


class Worst:
    """A model of one mood or of all."""

    def __init__(self, mood: str, seed: int) -> None:
        self._mood = mood
        self._random = random.Random(f"{mood} {seed}")

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        text = self._reply(request)[: request.max_tokens * CHARACTERS_PER_TOKEN]
        on_text(text)
        read = sum(len(message.content) for message in request.messages)
        usage = Usage(input_tokens=estimated_tokens(read), output_tokens=estimated_tokens(len(text)), calls=1)
        return Completion(text=text, finish_reason="stop", usage=usage)

    def _reply(self, request: Request) -> str:
        mood = self._random.choice(["long", "broken", "short"]) if self._mood == "all" else self._mood
        room = 40 if mood == "short" else request.max_tokens * CHARACTERS_PER_TOKEN
        if request.schema is None:
            return "Aye. " if mood == "short" else self._words(room)
        again = request.messages[-1].content.startswith("Your answer cannot be used")
        if mood == "broken" and not again:
            return '{"' + self._words(room - 2)
        return self._filled(request.schema.schema, room)

    def _filled(self, schema: Any, room: int) -> str:
        """A form as long as there is room for: texts are made longer until it is full."""
        best, length = "", 4
        state = self._random.getstate()
        while True:
            self._random.setstate(state)
            text = json.dumps(self._value(schema, length), separators=(",", ":"))
            if len(text) > room or length > room:
                return best or text if len(text) > room else text
            best, length = text, length * 5 // 4 + 1

    def _value(self, schema: Any, length: int, name: str = "") -> Any:
        choose = self._random.choice
        if "anyOf" in schema:
            return self._value(choose(schema["anyOf"]), length, name)
        if "enum" in schema:
            return choose(schema["enum"])
        if "const" in schema:
            return schema["const"]
        match schema.get("type"):
            case "object":
                return {key: self._value(part, length, key) for key, part in schema.get("properties", {}).items()}
            case "array":
                return [self._value(schema.get("items", {}), length, name) for _ in range(choose((1, 3, 6)))]
            case "boolean":
                return name in ("more", "too_vague")
            case "integer" | "number":
                return self._random.randint(schema.get("minimum", 1), schema.get("maximum", 10))
            case "null":
                return None
        return "folder" if name == "tool" else self._words(length)

    def _words(self, length: int) -> str:
        letters = "".join(self._random.choices("klmnoprstu", k=4 * (length // 5 + 1)))
        return " ".join(letters[at : at + 4] for at in range(0, len(letters), 4))[:length].strip() or "word"


async def wish(app: App, debate_id: str) -> Action:
    """What leads on to more."""
    record, turns = (stored := await app.load(debate_id)).record, stored.turns
    (step,) = next_steps(record, turns, formats.of_record(app.formats, record))
    assert step.question
    return "guide" if "guide" in step.question.actions else step.question.actions[0]


async def run(app: App, format: str, settings: dict[str, Any]) -> Usage:
    """To its end, with a person who always wants something else, in a word."""
    record = await app.create(format, TOPIC, settings)
    for _ in range(100):
        ended = await app.run(record.id, lambda event: None)
        if ended.status is not Status.WAITING:
            break
        await app.reply(record.id, await wish(app, record.id), "No.")
    assert ended.status is Status.FINISHED
    turns = (await app.load(record.id)).turns
    return sum((turn.usage for turn in turns), Usage())


SOURCE = {
    "name": "Rust",
    "text": "\n\n".join(f"Rust of {year} was quick, and servers in it kept up." * 9 for year in range(300)),
}
IDEA: dict[str, Any] = {
    "idea": "A bakery that is open at night, and bakes what was ordered by phone.",
    "topics": [
        {"name": f"Topic {at}", "category": "problem", "advocate": "It is so.", "challenger": "It is not."}
        for at in range(3)
    ],
    "exchanges": 2,
}
OTHERS = {
    "duel": "debater_a",
    "critique": "proposer",
    "panel": "debater_1",
    "evaluation": "advocate",
    "poll": "voter_2",
}
SETTINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "many rounds in few words": {"max_rounds": 9, "max_total_output_tokens": 6000},
    "for little money": {"max_cost": 0.4, "max_rounds": 6},
    "with another model": {"models": "other"},
    "with long sources": {"sources": [SOURCE], "max_rounds": 3},
    "with research": {"sources": [SOURCE], "research": True, "max_rounds": 3},
}
OWN: dict[str, dict[str, dict[str, Any]]] = {
    "duel": {"judged each round": {"judge": "each_round"}},
    "critique": {"at once": {"min_rounds": 1}, "with many templates": {"rag_top_k": 20, "max_rounds": 2}},
    "panel": {"with a person": {"checkpoints": True}, "by vote": {"decision": "borda", "perspectives": 2}},
    "evaluation": {"scored first": {"evaluation": None}},
    "poll": {"of many": {"ballots": 40, "options": ["ask"]}},
}
DEPTHS = ("quick", "normal", "careful")
CASES = [
    (format, name, DEPTHS[at % 3] if format != "poll" else "", mood)
    for format in OTHERS
    for at, name in enumerate((*SETTINGS, *OWN[format]))
    for mood in ("broken", "all")
    if not (format == "poll" and name == "with research")
]
CASES += [
    (format, "as it is", depth, mood) for format in OTHERS if format != "poll" for depth in DEPTHS for mood in MOODS
]
"""Every setting at some depth, and every mood at every depth."""
SETTINGS["in next to no words"] = {"max_total_output_tokens": 1}
CASES += [
    (format, "in next to no words", depth if format != "poll" else "", mood)
    for format in OTHERS
    for depth, mood in (("careful", "broken"), ("normal", "all"))
]


def settings_of(format: str, name: str, depth: str) -> dict[str, Any]:
    chosen = {"max_rounds": 4, **(SETTINGS | OWN[format])[name]}
    if chosen.get("models"):
        chosen["models"] = {OTHERS[format]: "scripted:other"}
    if format == "evaluation":
        chosen |= IDEA
    if format == "panel":
        chosen = {"checkpoints": False, **chosen}
    return chosen | ({"depth": depth} if depth else {})


@pytest.mark.parametrize(("format", "name", "depth", "mood"), CASES)
async def test_no_run_takes_more_than_the_most_that_was_announced(
    format: str, name: str, depth: str, mood: str
) -> None:
    app = scripted_app(Worst(mood, 1), prices=PRICES)
    settings = settings_of(format, name, depth)
    most = (await app.estimate(format, TOPIC, settings)).most
    used = await run(app, format, settings)
    assert used.calls <= most.calls
    assert used.output_tokens <= most.output_tokens
    assert used.input_tokens <= most.input_tokens
    assert used.cost is not None
    assert most.cost is not None
    assert used.cost <= most.cost * 1.000001
