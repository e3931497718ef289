"""What a debate will cost, before any call: its script is rehearsed on made-up turns of the expected length.

Nothing is written out: a made-up turn is a word in place of thousands, and of each prompt only what it adds to an
earlier one is rendered. So the work grows with the turns, however many rounds there are and however long they get.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from moot.core.debate import NO_USAGE, Record, Step, Turn, Usage
from moot.core.format import AnyFormat
from moot.core.prompts import Prompts, Role, layout
from moot.core.replay import rehearse
from moot.core.script import Debate
from moot.text.plain import CHARACTERS_PER_TOKEN, estimated_tokens

TYPICAL_SHARE = 0.6
"""How much of its cap a step usually writes."""

Price = Callable[[str, Usage], float | None]


class Estimate(NamedTuple):
    """`most` is the upper bound: every step at its cap, nothing cached. `typical` is a guess, and no promise."""

    most: Usage
    typical: Usage


def estimate(record: Record, format: AnyFormat, prompts: Prompts, price: Price) -> Estimate:
    return Estimate(
        _rehearsed(record, format, prompts, price, share=1.0, cached=False),
        _rehearsed(record, format, prompts, price, share=TYPICAL_SHARE, cached=True),
    )


def _rehearsed(
    record: Record, format: AnyFormat, prompts: Prompts, price: Price, *, share: float, cached: bool
) -> Usage:
    measure = _Measure(format, prompts)

    def improvise(debate: Debate[Any], step: Step, position: int) -> Turn:
        seat = debate.seats.get(step.seat)
        if seat is None:
            return Turn(position=position, seat=step.seat, kind=step.kind, round=step.round, content="")
        prompt = measure.prompt(debate, step)
        output = round(debate.output_cap(step.seat) * share)
        usage = Usage(
            input_tokens=estimated_tokens(prompt.length),
            cached_tokens=prompt.send(seat.model) // CHARACTERS_PER_TOKEN if cached else 0,
            output_tokens=output,
            calls=1,
            estimated=True,
        )
        usage = replace(usage, cost=price(seat.model, usage))
        data = step.answer.fallback().model_dump(mode="json") if step.answer else None
        content = measure.stand_in(position, output * CHARACTERS_PER_TOKEN // 5 * 5)
        return Turn(
            position=position,
            seat=step.seat,
            kind=step.kind,
            round=step.round,
            content=content,
            data=data,
            usage=usage,
            model=seat.model,
        )

    turns = rehearse(record, format, improvise)
    return sum((turn.usage for turn in turns), NO_USAGE)


class _Piece(NamedTuple):
    """A part of a prompt: some text, a made-up turn of some length, and the rest."""

    head: str
    made_up: int = 0
    foot: str = ""

    @property
    def length(self) -> int:
        return len(self.head) + self.made_up + len(self.foot)

    def common(self, other: _Piece) -> int:
        """How much of the beginning they share; all that is made up reads alike."""
        same = _common(self.head, other.head)
        if not same == len(self.head) == len(other.head):
            return same
        same += min(self.made_up, other.made_up)
        return same + _common(self.foot, other.foot) if self.made_up == other.made_up else same


@dataclass(slots=True)
class _Node:
    """Where a prompt has come to, in the tree of all prompts: those that begin alike share their way."""

    parent: _Node | None = None
    piece: _Piece = field(default_factory=lambda: _Piece(""))
    length: int = 0
    children: dict[_Piece, _Node] = field(default_factory=dict)
    sent: dict[str, list[_Piece]] = field(default_factory=dict)
    """Model → what followed here in the prompts it has got, sorted."""

    def add(self, piece: _Piece) -> _Node:
        if piece not in self.children:
            self.children[piece] = _Node(self, piece, self.length + piece.length)
        return self.children[piece]


class _Prompt(NamedTuple):
    """What was read up to a node, and after it what to do now."""

    node: _Node
    last: _Piece

    @property
    def length(self) -> int:
        return self.node.length + self.last.length

    def send(self, model: str) -> int:
        """Send it to a model; how much of its beginning that knows already."""
        node, piece = self
        while (following := node.sent.get(model)) is None:
            node.sent[model] = [piece]
            if node.parent is None:
                return 0
            node, piece = node.parent, node.piece
        at = bisect(following, piece)
        # Of sorted pieces its neighbours have the longest beginning in common with it.
        known = node.length + max(piece.common(other) for other in following[max(0, at - 1) : at + 1])
        following.insert(at, piece)
        return known


@dataclass(slots=True)
class _Reader:
    """What a seat, or all seats of a group, have read so far."""

    node: _Node
    visible: frozenset[int] | range | None
    count: int = 0
    role: Role = "system"

    def reads_on(self, visible: frozenset[int] | range | None) -> bool:
        """Whether who sees these turns has seen what this one has read, and nothing else of that time."""
        if isinstance(self.visible, range) and isinstance(visible, range):
            return self.visible.start == visible.start
        if not (isinstance(self.visible, frozenset) and isinstance(visible, frozenset)):
            return self.visible is visible
        return self.visible <= visible and all(at >= self.count for at in visible - self.visible)


class _Measure:
    """How long each prompt of a rehearsal is, and how much of it was sent before."""

    def __init__(self, format: AnyFormat, prompts: Prompts) -> None:
        self._format = format
        self._prompts = prompts
        self._root = _Node()
        self._readers: dict[object, list[_Reader]] = {}
        self._made_up: dict[int, int] = {}

    def stand_in(self, position: int, length: int) -> str:
        """A word that stands for a turn of this length; no two are alike, so that nobody repeats anybody."""
        self._made_up[position] = length
        return _mark(position) if length else ""

    def prompt(self, debate: Debate[Any], step: Step) -> _Prompt:
        reader = self._reader(debate, step)
        for piece in self._new(reader, debate, step):
            reader.node = reader.node.add(piece)
        now = self._prompts.instruction(self._format, debate, step, len(debate.transcript))
        return _Prompt(reader.node, _Piece(_joint(reader.role, "user") + now))

    def _reader(self, debate: Debate[Any], step: Step) -> _Reader:
        rules = self._prompts.rules(self._format, debate, step)
        alone = layout(self._format, debate, step) == "per_seat"
        aliases = None if step.aliases is None else tuple(step.aliases.items())
        readers = self._readers.setdefault((rules, aliases, step.seat if alone else None), [])
        for reader in reversed(readers):
            if reader.reads_on(step.visible):
                reader.visible = step.visible
                return reader
        readers.append(_Reader(self._root.add(_Piece(rules)), step.visible))
        return readers[-1]

    def _new(self, reader: _Reader, debate: Debate[Any], step: Step) -> Iterator[_Piece]:
        for role, text, position in self._prompts.read(self._format, debate, step, reader.count):
            text = _joint(reader.role, role) + text
            if position is None:
                yield _Piece(text)
            else:
                head, _, foot = text.rpartition(_mark(position))
                yield _Piece(head, self._made_up[position], foot)
            reader.role = role
        reader.count = len(debate.transcript)


def _joint(before: Role, after: Role) -> str:
    """What stands between two parts of a prompt."""
    return "\n\n" if before == after else "\n"


def _mark(position: int) -> str:
    return f"{position:04}"


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low
