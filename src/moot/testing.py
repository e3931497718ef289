"""Fakes for tests, ours and our users': moot without a database and without a model."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from math import log2
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from moot.app import App
from moot.core.debate import Status, Usage
from moot.core.format import AnyFormat
from moot.core.prompts import Prompts
from moot.errors import ModelError
from moot.formats import load
from moot.llm.client import Client, Completion, Request
from moot.llm.http import prompt_characters
from moot.llm.models import Models
from moot.llm.recording import Recorder, Recording
from moot.settings import AppSettings, Price
from moot.store.sqlite import Memory
from moot.store.store import Store
from moot.telemetry.telemetry import Telemetry


class MemoryStore(Store):
    """A store that forgets everything with the process and otherwise is the one of SQLite."""

    def __init__(
        self, now: Callable[[], float] = time.time, hooks: Mapping[Status, Sequence[str]] | None = None
    ) -> None:
        super().__init__(Memory(now), hooks)


class ScriptedModel:
    """A model client that answers from a function or a list, word by word; it ships for users' tests too.

    Give it to `moot.app.build(settings, clients={"scripted": ScriptedModel(...)})` and name models `scripted:any`.
    `faults` maps the number of a call (from 1) to the error it ends in, after half of its text.
    """

    def __init__(
        self,
        replies: Callable[[Request], str] | Sequence[str],
        *,
        faults: Mapping[int, ModelError] | None = None,
        pace: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._replies = replies
        self._faults = faults or {}
        self._pace = pace
        self.requests: list[Request] = []

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        self.requests.append(request)
        number = len(self.requests)
        text = self._replies(request) if callable(self._replies) else self._replies[number - 1]
        words = re.findall(r"\S+\s*|\s+", text)
        fault = self._faults.get(number)
        for word in words[: len(words) // 2] if fault else words:
            if self._pace:
                await self._pace()
            on_text(word)
        if fault:
            raise fault
        usage = Usage(input_tokens=prompt_characters(request) // 5, output_tokens=len(words), calls=1)
        return Completion(text=text, finish_reason="stop", usage=usage)


@dataclass(frozen=True, slots=True)
class SimulatedJudge:
    """Debaters whose speeches say their merit, and a judge with known faults that scores what its prompt shows it.

    `merits` are those of the side that argues for, and of the one that argues against. The judge finds them in the
    speeches, adds `order` points to the side it reads first, `label` points to whose name comes first in the alphabet,
    `length` points for each doubling of a side's words, and noise; then it rounds, and fills in the form. What it is
    not shown it cannot know. The same request always gets the same reply.
    """

    merits: tuple[float, float]
    _: KW_ONLY
    order: float = 0.0
    label: float = 0.0
    length: float = 0.0
    noise: float = 0.0
    seed: int = 0

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        return _said(self.reply(request), on_text)

    def reply(self, request: Request) -> str:
        asked = request.messages[-1].content
        if request.schema:
            keys = request.schema.schema["properties"]
            return self._judged(request, list(keys) if isinstance(keys, dict) else [])
        return f"A reason with merit={self.merits[0] if ' words FOR this:' in asked else self.merits[1]}"

    def _judged(self, request: Request, keys: Sequence[str]) -> str:
        speeches = _SPEECH.findall("\n".join(message.content for message in request.messages))
        if "claims" in keys:  # it is asked as the scribe
            noted = [{"quote": text.strip(), "text": f"{name} has a reason."} for name, text in speeches]
            return json.dumps({"note": "It turns on reasons.", "claims": noted})
        shown = list(dict.fromkeys(name for name, _ in speeches))
        words = {name: sum(len(text.split()) for by, text in speeches if by == name) for name in shown}
        chance = Random(f"{self.seed} {request.messages}")  # noqa: S311 - a simulation
        scores: dict[str, object] = {"summary": f"{' and '.join(shown)} were heard."}
        for key in (key for key in keys if key.startswith("score_")):
            name = next(name for name in shown if name.lower() == key.removeprefix("score_"))
            merit = fmean(float(said) for by, text in speeches if by == name for said in _MERIT.findall(text))
            merit += self.order * (name == shown[0]) + self.label * (name == min(shown))
            merit += self.length * log2(words[name]) + chance.gauss(0, self.noise)
            scores[key] = min(10, max(0, round(merit)))
        return json.dumps(scores)


@dataclass(frozen=True, slots=True)
class SimulatedVoter:
    """Voters who know the truth of a question, which says `truth=…`, with a known chance, and have known faults.

    Asked alone each is right with the chance `right`; `alike` is how much what is hard for one is hard for all, from 0
    to 1. They say `yes` to anything, or take what stands first, as often as `yes` and `first` say. A panelist says its
    answer in its speech; a vote after a debate adopts the first answer it has read as often as `conforming` says. The
    same request always gets the same reply.
    """

    right: float
    _: KW_ONLY
    alike: float = 0.0
    yes: float = 0.0
    first: float = 0.0
    conforming: float = 0.0
    seed: int = 0

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        return _said(self.reply(request), on_text)

    def reply(self, request: Request) -> str:
        asked = request.messages[-1].content
        options = dict(line.split(": ", 1) for line in asked.splitlines() if _LETTER.match(line))
        letters = list(options) or ["yes", "no"]
        chance = self._chance(asked.rpartition("</turn>")[2])
        read = _ANSWER.findall(asked)
        if chance.random() < self.yes + self.first and not read:
            return self._written(letters[0], letters, request)
        told = read[0] if read and chance.random() < self.conforming else self._answer(asked, chance, options)
        return self._written(self._letter(told, options, asked), letters, request)

    def says(self, name: str, topic: str, options: Sequence[str]) -> str:
        """What somebody of this name answers, having heard nobody."""
        return self._answer(topic, self._chance(f"{name} {topic}"), dict(enumerate(options)))

    def _chance(self, text: str) -> Random:
        return Random(f"{self.seed} {text}")  # noqa: S311 - a simulation

    def _answer(self, asked: str, chance: Random, options: Mapping[Any, str]) -> str:
        truth = _TRUTH.findall(asked)[-1]
        others = [option for option in options.values() if option != truth] or [_OPPOSITE.get(truth, truth)]
        return truth if chance.random() < self._known(asked) else chance.choice(others)

    def _known(self, asked: str) -> float:
        """How likely anybody is right on this question: beta-distributed, so that errors of a question go together."""
        if not self.alike:
            return self.right
        sure = (1 - self.alike) / self.alike
        topic = _TOPIC.findall(asked)[-1]
        return self._chance(topic).betavariate(self.right * sure, (1 - self.right) * sure)

    def _letter(self, answer: str, options: Mapping[str, str], asked: str) -> str:
        if options:
            return next(letter for letter, option in options.items() if option == answer)
        return "yes" if (answer == "for") != ("Is it false" in asked) else "no"

    def _written(self, letter: str, letters: Sequence[str], request: Request) -> str:
        properties = request.schema.schema["properties"] if request.schema else {}
        several = isinstance(properties, dict) and "items" in str(properties.get("choice"))
        ranking = [letter, *(each for each in letters if each != letter)]
        return json.dumps({"reason": "So it is.", "choice": ranking if several else letter})


def _said(text: str, on_text: Callable[[str], None]) -> Completion:
    on_text(text)
    return Completion(text=text, finish_reason="stop", usage=Usage(output_tokens=len(text.split()), calls=1))


_LETTER = re.compile(r"[A-H]: ")
_TRUTH = re.compile(r"truth=([\w-]+)")
_ANSWER = re.compile(r"answer=([\w-]+)")
_TOPIC = re.compile(r"<topic>\n(.*?)\n</topic>", re.DOTALL)
_OPPOSITE = {"for": "against", "against": "for"}
_SPEECH = re.compile(r'^<turn by="(.*?)".*?>\n(.*?)\n</turn>$', re.DOTALL | re.MULTILINE)
_MERIT = re.compile(r"merit=(\d+(?:\.\d+)?)")


def scripted_app(
    model: Client,
    store: Store | None = None,
    formats: Mapping[str, AnyFormat] | None = None,
    prices: Mapping[str, Price] | None = None,
) -> App:
    """An app with `model` in every seat, on an in-memory store unless another is given."""
    settings = AppSettings(model="scripted:model")
    telemetry = Telemetry()
    models = Models({}, clients={"scripted": model}, prices=prices, meter=telemetry)
    return App(settings, store or MemoryStore(), lambda: models, formats or load(), Prompts, telemetry=telemetry)


def recorded(path: Path, client: Client) -> Client:
    """`client` with its calls recorded to `path`; once that file exists, a client that replays it and calls nobody.

    To record anew, after a prompt has changed or a first run has failed, delete the file.
    """
    if path.exists():
        return Recording.load(path).client("recorded")
    return Recorder(path).wrap("recorded", client)
