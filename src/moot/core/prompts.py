"""Turn a debate and a step into chat messages: a pure function of both and of the format's prompt files.

Prompts only grow. What all seats share (rules, topic) comes first and never changes, then the turns in
order, and last what this seat is to do now; so every call repeats most of an earlier one as its prefix.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jinja2

from moot.core.debate import Step, Turn
from moot.core.format import AnyFormat
from moot.core.script import Debate

WORDS_PER_TOKEN = 0.45
"""How many words to ask for, per token of the cap: replies then end by themselves, well before it."""

LEFT_OUT = "[earlier turns left out]"
PERSON = "the person who asked"

_SPEECH = re.compile(r"^<turn by=.*?^</turn>$", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"<(?=\s*/?\s*(?:turn|topic|source)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


class Prompts:
    """The prompt files of all formats; a file `<overrides>/<format>/<kind>.md` replaces the format's own."""

    def __init__(self, overrides: Path | None = None) -> None:
        self._overrides = overrides
        self._environments: dict[str, jinja2.Environment] = {}

    def messages(self, format: AnyFormat, debate: Debate[Any], step: Step) -> tuple[Message, ...]:
        if layout(format, debate, step) == "shared":
            return self._shared(format, debate, step)
        return self._per_seat(format, debate, step)

    def _shared(self, format: AnyFormat, debate: Debate[Any], step: Step) -> tuple[Message, ...]:
        """One growing text for all seats that read each other."""
        said = [_speech(format, step, turn) for turn in debate.transcript if _reads(format, step, turn)]
        now = self._instruction(format, debate, step, len(debate.transcript))
        return (self._rules(format, debate, step), Message("user", "\n\n".join([*said, now])))

    def _per_seat(self, format: AnyFormat, debate: Debate[Any], step: Step) -> tuple[Message, ...]:
        """The seat's own turns as its replies, each after the instruction that asked for it."""
        messages = [self._rules(format, debate, step)]
        heard: list[str] = []
        for at, (turn, asked) in enumerate(zip(debate.transcript, debate.steps, strict=True)):
            if turn.seat == step.seat and _sees(step, turn):
                instruction = self._instruction(format, debate, asked, at)
                messages.append(Message("user", "\n\n".join([*heard, instruction])))
                messages.append(Message("assistant", _blinded(format, step, turn.content)))
                heard = []
            elif _reads(format, step, turn):
                heard.append(_speech(format, step, turn))
        now = self._instruction(format, debate, step, len(debate.transcript))
        return (*messages, Message("user", "\n\n".join([*heard, now])))

    def _rules(self, format: AnyFormat, debate: Debate[Any], step: Step) -> Message:
        names = step.aliases or {}
        rules = self._render(format, "rules", topic=debate.topic, s=debate.settings, names=names, **step.variables)
        return Message("system", rules)

    def _instruction(self, format: AnyFormat, debate: Debate[Any], step: Step, at: int) -> str:
        seat = format.seat(step.seat)
        cap = step.max_tokens or debate.output_cap(seat.name)
        return self._render(
            format,
            step.kind,
            topic=debate.topic,
            s=debate.settings,
            seat=seat,
            round=step.round,
            first=not any(_reads(format, step, turn) for turn in debate.transcript[:at]),
            words=max(20, int(cap * WORDS_PER_TOKEN) // 10 * 10),
            names=step.aliases or {},
            **step.variables,
        )

    def _render(self, format: AnyFormat, name: str, **variables: object) -> str:
        return self._environment(format).get_template(f"{name}.md").render(variables).strip()

    def _environment(self, format: AnyFormat) -> jinja2.Environment:
        if format.name not in self._environments:
            folders = [format.folder] if self._overrides is None else [self._overrides / format.name, format.folder]
            environment = jinja2.Environment(  # noqa: S701 - prompts are text, not HTML
                loader=jinja2.FileSystemLoader(folders),
                undefined=jinja2.StrictUndefined,
                trim_blocks=True,
                lstrip_blocks=True,
                auto_reload=False,
            )
            environment.filters["data"] = data
            self._environments[format.name] = environment
        return self._environments[format.name]


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
    return _TAG.sub("‹", text)


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


def _reads(format: AnyFormat, step: Step, turn: Turn) -> bool:
    if turn.seat == "human":
        return bool(turn.content) and turn.kind != "conclude"
    known = step.aliases if step.aliases is not None else [seat.name for seat in format.seats if seat.player == "model"]
    return turn.seat in known and _sees(step, turn)


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
            text = re.sub(rf"\b{re.escape(title)}\b", neutral, text)
    return text
