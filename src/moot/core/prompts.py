"""Turn a debate and a step into chat messages: a pure function of both and of the format's prompt files.

Prompts only grow. What all seats share (rules, topic) comes first and never changes, then the turns in
order, and last what this seat is to do now; so every call repeats most of an earlier one as its prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import jinja2

from moot.core.debate import Step, Turn
from moot.core.format import AnyFormat
from moot.core.own_prompts import OwnPrompts
from moot.core.script import Debate
from moot.text.chat_tokens import without_chat_tokens

WORDS_PER_TOKEN = 0.45
"""How many words to ask for, per token of the cap: replies then end by themselves, well before it."""

LEFT_OUT = "[earlier turns left out]"
PERSON = "the person who asked"

_SPEECH = re.compile(r"^<turn by=.*?^</turn>$", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"<(?=\s*(?:/\s*)?(?:turn|topic|source)\b)", re.IGNORECASE)


Role: TypeAlias = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


class Part(NamedTuple):
    """A piece of a message, and the position of the turn whose words it holds."""

    role: Role
    text: str
    position: int | None = None


class _Environment(jinja2.Environment):
    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """In one dict: a chain of them takes longer to go through than a prompt to render."""
        return {**self.globals, **(d or {})}


class Prompts:
    """The prompt files of all formats; a file `<overrides>/<format>/<kind>.md` replaces the format's own."""

    def __init__(self, overrides: Path | None = None) -> None:
        self.own = OwnPrompts(overrides, data) if overrides else None
        self._environments: dict[tuple[str, int], jinja2.Environment] = {}

    def messages(self, format: AnyFormat, debate: Debate[Any], step: Step) -> tuple[Message, ...]:
        now = Part("user", self.instruction(format, debate, step, len(debate.transcript)))
        grouped = groupby([*self.read(format, debate, step), now], key=lambda part: part.role)
        texts = ((role, "\n\n".join(part.text for part in parts)) for role, parts in grouped)
        rules: tuple[Role, str] = ("system", self.rules(format, debate, step))
        return tuple(Message(role, without_chat_tokens(text)) for role, text in (rules, *texts))

    def read(self, format: AnyFormat, debate: Debate[Any], step: Step, since: int = 0) -> Iterator[Part]:
        """What the turns from `since` on add to a prompt: one growing text for all seats that read each other, or the
        seat's own turns as its replies, each after the instruction that asked for it."""
        alone = layout(format, debate, step) == "per_seat"
        for at in _places(debate, step)[since:]:
            turn = debate.transcript[at]
            if alone and turn.seat == step.seat and _sees(step, turn):
                yield Part("user", self.instruction(format, debate, debate.steps[at], at))
                yield Part("assistant", _blinded(format, step, turn.content), at)
            elif _reads(format, step, turn):
                yield Part("user", _speech(format, step, turn), at)

    def rules(self, format: AnyFormat, debate: Debate[Any], step: Step) -> str:
        names = step.aliases or {}
        return self._render(format, "rules", topic=debate.topic, s=debate.settings, names=names, **step.variables)

    def instruction(self, format: AnyFormat, debate: Debate[Any], step: Step, at: int) -> str:
        seat = format.seat(step.seat)
        cap = step.max_tokens or debate.output_cap(seat.name)
        return self._render(
            format,
            step.prompt or step.kind,
            topic=debate.topic,
            s=debate.settings,
            seat=seat,
            round=step.round,
            first=not any(_reads(format, step, turn) for turn in _readable(debate, step, at)),
            words=max(20, int(cap * WORDS_PER_TOKEN) // 10 * 10),
            names=step.aliases or {},
            **step.variables,
        )

    def _render(self, format: AnyFormat, name: str, **variables: object) -> str:
        if self.own and (own := self.own.render(format.name, name, variables)) is not None:
            return own
        return self._environment(format).get_template(f"{name}.md").render(variables).strip()

    def _environment(self, format: AnyFormat) -> jinja2.Environment:
        version = format.name, format.version
        if version not in self._environments:
            environment = _Environment(
                loader=jinja2.FileSystemLoader(format.folder),
                undefined=jinja2.StrictUndefined,
                trim_blocks=True,
                lstrip_blocks=True,
                auto_reload=False,
            )
            environment.filters["data"] = data
            self._environments[version] = environment
        return self._environments[version]


def shortened(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages without the older half of what was said, in place of which one line says so."""
    speeches = [len(_speeches(message)) for message in messages]
    left = sum(speeches) // 2
    short = []
    for message, number in zip(messages, speeches, strict=True):
        short.append(_without_first(message, min(left, number)))
        left -= min(left, number)
    return tuple(short)


def layout(format: AnyFormat, debate: Debate[Any], step: Step) -> Literal["shared", "per_seat"]:
    """`shared` when one model fills all seats of the step's group."""
    group = format.seat(step.seat).group
    models = {debate.seats[seat.name].model for seat in format.seats if seat.group == group}
    return "shared" if len(models) <= 1 else "per_seat"


def data(text: str) -> str:
    """Text somebody wrote, unable to open or close the tags that delimit it."""
    return _TAG.sub("‹", text) if "<" in text else text


def _speeches(message: Message) -> list[tuple[int, int]]:
    """Where in a message the turns stand: others' between tags, the seat's own as the whole of it."""
    if message.role == "assistant":
        return [(0, len(message.content))]
    return [match.span() for match in _SPEECH.finditer(message.content)] if message.role == "user" else []


def _without_first(message: Message, number: int) -> Message:
    gone = _speeches(message)[:number]
    if not gone:
        return message
    (start, _), (_, end) = gone[0], gone[-1]
    return Message(message.role, message.content[:start] + LEFT_OUT + message.content[end:])


def _places(debate: Debate[Any], step: Step) -> Sequence[int]:
    """Where the turns stand in the order in which the step reads them; what a person has said since comes last."""
    places = range(len(debate.transcript))
    return places if step.order is None else (*step.order, *places[len(step.order) :])


def _readable(debate: Debate[Any], step: Step, before: int) -> Iterator[Turn]:
    """The turns up to there that a step may read: all or those it is shown, and a person's."""
    if step.visible is None:
        return islice(debate.transcript, before)
    shown = (debate.transcript[at] for at in step.visible if at < before)
    return chain(shown, (turn for turn in debate.of_seat("human") if turn.position < before))


def _reads(format: AnyFormat, step: Step, turn: Turn) -> bool:
    if turn.seat == "human":
        return bool(turn.content) and turn.kind not in ("conclude", "settings")
    if not _sees(step, turn):
        return False
    if step.aliases is not None:
        return turn.seat in step.aliases
    return any(seat.name == turn.seat and seat.player == "model" for seat in format.seats)


def _sees(step: Step, turn: Turn) -> bool:
    return bool(turn.content) and (step.visible is None or turn.position in step.visible)


def _speech(format: AnyFormat, step: Step, turn: Turn) -> str:
    """A turn as another seat reads it."""
    name = PERSON if turn.seat == "human" else step.aliases[turn.seat] if step.aliases else format.title(turn.seat)
    name = data(name).replace('"', "'")
    round = f' round="{turn.round}"' if turn.round is not None else ""
    return f'<turn by="{name}"{round}>\n{data(_blinded(format, step, turn.content))}\n</turn>'


def _blinded(format: AnyFormat, step: Step, text: str) -> str:
    """Text with neutral names also where its writer used titles."""
    for seat, neutral in (step.aliases or {}).items():
        if (title := format.title(seat)) in text:
            text = re.sub(rf"\b{re.escape(title)}\b", neutral.replace("\\", r"\\"), text)
    return text
