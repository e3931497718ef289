"""Turn a debate and a step into chat messages: a pure function of both and of the format's prompt files.

Prompts only grow. What all seats share (rules, topic) comes first and never changes, then the turns in
order, and last what this seat is to do now; so every call repeats most of an earlier one as its prefix.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Container, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from moot.core.debate import Step, Turn
from moot.core.evidence import passages
from moot.core.format import AnyFormat
from moot.core.quoting import told_to
from moot.core.research import LOOK_UP, RESEARCHER, SEARCHES, Call, is_research
from moot.core.script import Debate
from moot.core.sources import Shown, looked_up, read_whole, shown
from moot.text.chat_tokens import without_chat_tokens

if TYPE_CHECKING:
    from moot.core.own_prompts import OwnPrompts
    from moot.core.prompt_files import PromptFiles

WORDS_PER_TOKEN = 0.45
"""How many words to ask for, per token of the cap: replies then end by themselves, well before it."""

SMALL_TOKENS = 130
"""What a small model writes at most in a speech."""
RULES = "rules"

SHARED = Path(__file__).parent / "shared"
"""Prompt files for whichever format asks for them."""
LEFT_OUT = "[earlier turns left out]"
PERSON = "the person who asked"

_SPEECH = re.compile(r"^<(turn|source) .*?^</\1>$", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"<(?=\s*(?:/\s*)?(?:turn|topic|source|tool|task)\b)", re.IGNORECASE)


Role: TypeAlias = Literal["system", "user", "assistant"]
Layout: TypeAlias = Literal["shared", "per_seat"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


class Part(NamedTuple):
    """A piece of a message, and the position of the turn whose words it holds."""

    role: Role
    text: str
    position: int | None = None


class Prompts:
    """The prompt files of all formats; a file `<overrides>/<format>/<kind>.md` replaces the format's own."""

    def __init__(self, overrides: Path | None = None, small: Container[str] = ()) -> None:
        """`small` are models that long prompts confuse: they get a format's `<kind>.small.md` where it has one."""
        self.own = _own_prompts(overrides) if overrides else None
        self._small = small

    def messages(self, format: AnyFormat, debate: Debate[Any], step: Step) -> tuple[Message, ...]:
        if self._is_short(format, debate, step):
            return self._short(format, debate, step)
        now = Part("user", self.instruction(format, debate, step, len(debate.transcript)))
        grouped = groupby([*self.read(format, debate, step), now], key=lambda part: part.role)
        texts = ((role, "\n\n".join(part.text for part in parts)) for role, parts in grouped)
        rules: tuple[Role, str] = ("system", self.rules(format, debate, step))
        return tuple(Message(role, without_chat_tokens(text)) for role, text in (rules, *texts))

    def cap(self, debate: Debate[Any], step: Step) -> int:
        """The most tokens a step may write; a small model loses its thread soon, unless somebody wants more of it."""
        cap = step.max_tokens or debate.output_cap(step.seat)
        speaks = step.answer is None and debate.model_of(step) in self._small
        return min(cap, SMALL_TOKENS) if speaks and step.seat not in debate.settings.max_tokens else cap

    def _is_short(self, format: AnyFormat, debate: Debate[Any], step: Step) -> bool:
        s, file = debate.settings, format.folder / f"{step.prompt or step.kind}.small.md"
        return debate.model_of(step) in self._small and not (self.own or s.sources or s.research) and file.is_file()

    def _short(self, format: AnyFormat, debate: Debate[Any], step: Step) -> tuple[Message, ...]:
        """One request in which little is said: what was spoken last stands in it, if its file wants it there."""
        read = [debate.transcript[at] for at in places(debate, step)]
        heard = [(_name(format, step, turn), turn) for turn in read if _reads(format, step, turn)]
        variables: dict[str, object] = {
            "topic": debate.topic,
            "seat": format.seat(step.seat),
            "round": step.round,
            "names": step.aliases or {},
            "others": [(name, turn.content) for name, turn in heard if turn.seat != step.seat],
            **step.variables,
        }
        texts = (self._render(format, f"{name}.small", **variables) for name in (RULES, step.prompt or step.kind))
        system, asked = map(without_chat_tokens, texts)
        return Message("system", system), Message("user", asked)

    def read(self, format: AnyFormat, debate: Debate[Any], step: Step, since: int = 0) -> Iterator[Part]:
        """What the turns from `since` on add to a prompt: one growing text for all seats that read each other, or the
        seat's own turns as its replies, each after the instruction that asked for it."""
        alone = layout(format, debate, step) == "per_seat"
        for at in _shown(debate, step, since):
            turn = debate.transcript[at]
            if is_research(turn):  # which everybody reads, whoever had it looked up
                yield from [Part("user", text, at)] if (text := _looked_up(debate, turn)) else []
            elif alone and turn.seat == step.seat and _sees(format, step, turn):
                yield Part("user", self._told(format, debate, at))
                yield Part("assistant", _blinded(format, step, turn.content), at)
            elif _reads(format, step, turn):
                yield Part("user", _speech(format, step, turn), at)

    def told(self, format: AnyFormat, debate: Debate[Any], step: Step) -> list[str]:
        """The instructions that a seat which is shown these turns alone reads again."""
        shown: Any = step.visible
        turns = (debate.transcript[at] for at in sorted(shown))
        own = (turn for turn in turns if turn.seat == step.seat and _sees(format, step, turn))
        return [self._told(format, debate, turn.position) for turn in own]

    def _told(self, format: AnyFormat, debate: Debate[Any], at: int) -> str:
        """The instruction of a turn, made once in a rehearsal: no settings change in that."""
        make = partial(self.instruction, format, debate, debate.steps[at], at)
        return debate.once(told(at), make) if debate.rehearsed else make()

    def rules(self, format: AnyFormat, debate: Debate[Any], step: Step) -> str:
        """What all seats share; the sources come first, as they are the same whatever the step says beside them."""
        names = step.aliases or {}
        rules = self._render(format, step.rules, topic=debate.topic, s=debate.settings, names=names, **step.variables)
        with_sources = debate.settings.sources or debate.settings.research
        return f"{self._sources(format, debate)}\n\n{rules}" if with_sources and not format.own_sources else rules

    def _sources(self, format: AnyFormat, debate: Debate[Any]) -> str:
        return debate.once(
            "shown sources",
            lambda: self._render(
                format,
                "sources",
                sources=shown(debate),
                whole=read_whole(debate),
                s=debate.settings,
            ),
        )

    def instruction(self, format: AnyFormat, debate: Debate[Any], step: Step, at: int) -> str:
        """What the seat is to do now, after what it needs of long sources."""
        if step.kind == LOOK_UP:
            task = self.instruction(format, debate, replace(step, kind=step.prompt), at)
            found: Any = step.variables["found"]
            asked = {"tools": step.variables["tools"], "found": found, "most": SEARCHES - len(found)}
            return self._render(format, LOOK_UP, task=task, **asked)
        seat = format.seat(step.seat)
        cap = self.cap(debate, step)
        task = self._render(
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
        found = passages(debate, step, at)
        cited = step.evidence == "cited"
        handed = debate.once(
            ("handed", found, cited),
            lambda: self._render(format, "evidence", passages=found, cited=cited) if found else "",
        )
        false = [] if format.own_sources else told_to(debate, step, at, lambda: self._names(format, debate, step))
        told = self._render(format, "false_quotes", told=false) if false else ""
        return "\n\n".join(filter(None, (handed, told, task)))

    def _names(self, format: AnyFormat, debate: Debate[Any], step: Step) -> dict[str, str]:
        """How the seat of a step knows the others."""
        if step.aliases is not None:
            return dict(step.aliases)
        return {seat: format.title(seat, debate) for seat in debate.seats}

    def used_by_rules(self, format: AnyFormat, rules: str) -> Collection[str] | None:
        """The names of the variables that the rules speak of; None when that cannot be told from their file alone."""
        return None if self.own else _files_in(format.folder).used(rules)

    def _render(self, format: AnyFormat, name: str, **variables: object) -> str:
        if self.own and (own := self.own.render(format.name, name, variables)) is not None:
            return own
        return _files_in(format.folder).render(name, variables)


def told(position: int) -> Hashable:
    """The key under which a rehearsal keeps the instruction of a turn."""
    return "told", position


def has_short_prompts(format: AnyFormat) -> bool:
    """Whether a format has prompts for models that long ones confuse."""
    return (format.folder / f"{RULES}.small.md").is_file()


@cache
def _files_in(folder: Path) -> PromptFiles:
    """Read and compiled once in a process: that takes longer than many a debate."""
    from moot.core.prompt_files import PromptFiles  # Jinja is slow to import, and a list needs none

    return PromptFiles((folder, SHARED), data)


def _own_prompts(folder: Path) -> OwnPrompts:
    from moot.core.own_prompts import OwnPrompts

    return OwnPrompts(folder, data)


def shortened(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages without the older half of what was said, in place of which one line says so."""
    speeches = [len(_speeches(message)) for message in messages]
    left = sum(speeches) // 2
    short = []
    for message, number in zip(messages, speeches, strict=True):
        short.append(_without_first(message, min(left, number)))
        left -= min(left, number)
    return tuple(short)


def layout(format: AnyFormat, debate: Debate[Any], step: Step) -> Layout:
    """`shared` when one model fills all seats of the step's group."""
    known: dict[str, tuple[object, Layout]] = debate.once("layouts", dict)
    seats, found = known.get(step.seat, (None, "shared"))
    if seats is not debate.seats:  # other models may have been chosen since
        found = "shared" if len(_models(format, debate, step.seat)) <= 1 else "per_seat"
        known[step.seat] = debate.seats, found
    return found


def _models(format: AnyFormat, debate: Debate[Any], seat: str) -> set[str]:
    """Those of its group."""
    group = format.seat(seat).group
    return {debate.seats[each.name].model for each in format.seats if each.group == group and each.name in debate.seats}


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


def places(debate: Debate[Any], step: Step) -> Sequence[int]:
    """Where the turns stand in the order in which the step reads them; what a person has said since comes last."""
    all_turns = range(len(debate.transcript))
    return all_turns if step.order is None else step.order + tuple(all_turns[len(step.order) :])


def _shown(debate: Debate[Any], step: Step, since: int) -> Sequence[int]:
    """Where the turns stand from there on that a step is shown; a person's words and research everybody is."""
    new = places(debate, step)[since:]
    if step.visible is None:
        return new
    first = 0 if step.order else since
    others = {turn.position for seat in ("human", RESEARCHER.name) for turn in _from(first, debate.of_seat(seat))}
    if step.order or isinstance(step.visible, range):
        return [at for at in new if at in step.visible or at in others]
    return sorted(at for at in step.visible | others if at in new)


def _from(position: int, turns: Sequence[Turn]) -> Sequence[Turn]:
    return turns[bisect_left(turns, position, key=attrgetter("position")) :]


def _readable(debate: Debate[Any], step: Step, before: int) -> Iterator[Turn]:
    """The turns up to there that a step may read: all or those it is shown, and a person's."""
    if step.visible is None:
        return islice(debate.transcript, before)
    shown = (debate.transcript[at] for at in step.visible if at < before)
    return chain(shown, (turn for turn in debate.of_seat("human") if turn.position < before))


def _reads(format: AnyFormat, step: Step, turn: Turn) -> bool:
    if turn.seat == "human":
        return bool(turn.content) and turn.kind not in ("conclude", "settings")
    if not _sees(format, step, turn):
        return False
    if step.aliases is not None:
        return turn.seat in step.aliases
    return any(seat.name == turn.seat and seat.player == "model" for seat in format.seats)


def _sees(format: AnyFormat, step: Step, turn: Turn) -> bool:
    if not turn.content or turn.kind in format.folded:
        return False
    return step.visible is None or turn.position in step.visible


def _speech(format: AnyFormat, step: Step, turn: Turn) -> str:
    """A turn as another seat reads it."""
    name = data(_name(format, step, turn)).replace('"', "'")
    round = f' round="{turn.round}"' if turn.round is not None else ""
    return f'<turn by="{name}"{round}>\n{data(_blinded(format, step, turn.content))}\n</turn>'


def _name(format: AnyFormat, step: Step, turn: Turn) -> str:
    """How the seat of a step knows who spoke."""
    return PERSON if turn.seat == "human" else step.aliases[turn.seat] if step.aliases else format.title(turn.seat)


def _looked_up(debate: Debate[Any], turn: Turn) -> str:
    """What was found, as all seats read it; who had it looked up is not said."""
    return debate.once(("looked up", turn.position), lambda: "\n".join(map(_source, looked_up(debate, turn))))


def _source(found: Shown | Call) -> str:
    if isinstance(found, Shown):
        return f'<source tag="{found.tag}" name="{data(found.name)}">\n{data(found.text)}\n</source>'
    text = found.text or f"Nothing was found: {found.error}"
    return f'<source name="{data(found.name)}">\n{data(text)}\n</source>'


def _blinded(format: AnyFormat, step: Step, text: str) -> str:
    """Text with neutral names also where its writer used titles."""
    for seat, neutral in (step.aliases or {}).items():
        if (title := format.title(seat)) in text:
            text = re.sub(rf"\b{re.escape(title)}\b", neutral.replace("\\", r"\\"), text)
    return text
