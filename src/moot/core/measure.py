"""How long each prompt of a debate on made-up turns is, and how much of it was sent before.

Nothing is written out: a made-up turn is a word in place of thousands, and of each prompt only what it adds to an
earlier one is rendered.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from itertools import chain
from typing import Any, NamedTuple

from moot.core.debate import Step
from moot.core.format import AnyFormat
from moot.core.prompts import Prompts, Role, layout, places, told
from moot.core.research import RESEARCHER, is_research
from moot.core.script import Debate

SIGN, *LETTERS = map(chr, range(0x10450, 0x10480))
"""Those of Shavian, in which nobody writes: a word of them stands for a made-up turn, and begins with the first."""
_MARK = re.compile(f"{SIGN}([{''.join(LETTERS)}]+)")


class _Piece(NamedTuple):
    """A part of a prompt: some text, a made-up turn of some length, and the rest."""

    head: str
    made_up: int = 0
    foot: str = ""
    at_most: int = 0
    """What the made-up turn has at most."""
    limited: int = 0
    """How much of that a limit on all turns together is about."""

    @property
    def length(self) -> int:
        return len(self.head) + self.made_up + len(self.foot)

    @property
    def longest(self) -> int:
        return len(self.head) + self.at_most + len(self.foot)

    def common(self, other: _Piece) -> int:
        """How much of the beginning they share; all that is made up reads alike."""
        same = _common(self.head, other.head)
        if not same == len(self.head) == len(other.head):
            return same
        same += min(self.made_up, other.made_up)
        return same + _common(self.foot, other.foot) if self.made_up == other.made_up else same


@dataclass(slots=True, eq=False)
class _Node:
    """Where a prompt has come to, in the tree of all prompts: those that begin alike share their way."""

    parent: _Node | None = None
    piece: _Piece = field(default_factory=lambda: _Piece(""))
    length: int = 0
    longest: int = 0
    limited: int = 0
    sent: dict[str, list[_Piece]] = field(default_factory=dict)
    """Model → what followed here in the prompts it has got, sorted."""


class MadeUp(NamedTuple):
    """How many characters a turn has at most and typically, and whether a limit on all turns together is about it."""

    most: int
    typical: int
    limited: bool = False


class Prompt(NamedTuple):
    """What was read up to a node, and after it what to do now."""

    node: _Node
    last: _Piece

    @property
    def length(self) -> int:
        return self.node.length + self.last.length

    @property
    def longest(self) -> int:
        return self.node.longest + self.last.longest

    @property
    def limited(self) -> int:
        return self.node.limited

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


class Sent(NamedTuple):
    """A prompt that was sent: its characters usually and at most, how many of those share a limit, and how much of its
    beginning was known."""

    length: int
    longest: int
    limited: int
    known: int


class _Own(NamedTuple):
    """What a prompt consists of beside what others read, too."""

    rules: _Piece
    findings: int
    """How many it has."""
    before: int
    """Characters of all but the instruction, usually."""
    length: int
    longest: int

    def instead(self, had: _Own, sent: Sent, finding: _Piece) -> Sent:
        """What is sent as another prompt was, but for what is its own."""
        found = self.findings - had.findings
        known = self.before - had.before + found * finding.length + sent.known
        if sent.known <= had.rules.length:
            known = had.rules.common(self.rules)
        length = sent.length + self.length - had.length + found * finding.length
        longest = sent.longest + self.longest - had.longest + found * finding.longest
        return Sent(length, longest, sent.limited, known)


@dataclass(slots=True)
class _Reader:
    """What a seat, or all seats of a group, have read so far."""

    node: _Node
    visible: frozenset[int] | range | None = None
    order: Sequence[int] = ()
    """In which it has read the turns, where that is not their own."""
    count: int = 0
    role: Role = "system"
    began: dict[int | None, _Node] = field(default_factory=dict)
    """Round → what was read when it first spoke in it."""

    def in_rounds_like(self, round: int, rounds: int) -> _Piece | None:
        """What it reads in the next rounds if that is as much as in this one."""
        if round not in self.began or round - 1 not in self.began:
            return None
        before, after = self.began[round - 1], self.began[round]
        length, longest = rounds * (after.length - before.length), rounds * (after.longest - before.longest)
        return _Piece("", length, at_most=longest, limited=rounds * (after.limited - before.limited))

    def reads_on(self, step: Step) -> bool:
        """Whether who is shown what this step is has read what this one has, and nothing else of that time."""
        visible = step.visible
        if step.order is not None and step.order[: len(self.order)] != self.order:
            return False
        if isinstance(self.visible, range) and isinstance(visible, range):
            return self.visible.start == visible.start and self.visible.stop <= visible.stop
        if not (isinstance(self.visible, frozenset) and isinstance(visible, frozenset)):
            return self.visible is visible
        return self.visible <= visible and all(at >= self.count for at in visible - self.visible)


class _Start(NamedTuple):
    """What the first who was shown no turn has read: nothing but what everybody reads."""

    node: _Node
    turns: int
    role: Role

    def is_passed_by(self, step: Step) -> bool:
        """Whether a step is shown no turn of that time, and whatever else stands there in its order."""
        if not isinstance(step.visible, frozenset) or any(at < self.turns for at in step.visible):
            return False
        return step.order is None or step.order[: self.turns] == tuple(range(self.turns))


class Measure:
    """How long each prompt of a rehearsal is, and how much of it was sent before."""

    def __init__(self, format: AnyFormat, prompts: Prompts) -> None:
        self._format = format
        self._prompts = prompts
        self._root = _Node()
        self._nodes: dict[tuple[_Node, _Piece], _Node] = {}
        """A node and what is read there → the next one. None knows those after it, so that all are gone at once."""
        self._readers: dict[object, list[_Reader]] = {}
        self._starts: dict[_Piece, _Start] = {}
        """Rules → where others who read them can begin."""
        self._rendered: dict[object, _Piece] = {}
        self._sent: dict[object, tuple[_Own, Sent]] = {}
        """What prompts of several rounds share → the first of them."""
        self._times = Counter[object]()
        self._finding = _Piece("")
        """What each finding adds to a prompt: in a rehearsal they are alike."""
        self.made_up: dict[int, MadeUp] = {}
        """Position → how long a turn is."""

    def sent(self, debate: Debate[Any], step: Step, model: str, position: int, reads: object) -> Sent:
        """The prompt of a step, sent to a model. `reads` stands for the turns that it alone is shown, if it is shown
        such: a prompt that is like another one, but for its own words, is not read through again."""
        alone = layout(self._format, debate, step) == "per_seat"
        alike = None if alone and step.order else self._alike(debate, step, model, reads)
        rules, instruction = self._rules(debate, step), self._instruction(debate, step, position)
        own = self._own(debate, step, rules, instruction, alone) if alike else None
        first = self._sent.get(alike)
        if own and first and first[0].rules is not rules:
            return own.instead(*first, self._finding)
        prompt = self._prompt(debate, step, rules, alone, instruction)
        sent = Sent(prompt.length, prompt.longest, prompt.limited, prompt.send(model))
        if own:
            self._sent[alike] = own, sent
        return sent

    def _own(self, debate: Debate[Any], step: Step, rules: _Piece, instruction: _Piece, alone: bool) -> _Own:
        pieces = [rules]
        if alone:  # it reads again what it was told
            pieces += map(self._piece, self._prompts.told(self._format, debate, step))
        before, longest = sum(piece.length for piece in pieces), sum(piece.longest for piece in pieces)
        findings = len(debate.of_seat(RESEARCHER.name))
        return _Own(rules, findings, before, before + instruction.length, longest + instruction.longest)

    def _alike(self, debate: Debate[Any], step: Step, model: str, reads: object) -> object:
        """What a prompt shares with those of other rounds; a round may have several."""
        if step.round is None or reads is None:
            return None
        looked_up = sum(map(is_research, debate.in_round(step.round)))
        read = reads, looked_up, len(debate.of_seat("human")), step.order is None
        shared = (len(str(step.round)), step.seat, step.kind, step.prompt, model, _aliases(step), read)
        self._times[step.round, shared] += 1
        return shared, self._times[step.round, shared]

    def _prompt(self, debate: Debate[Any], step: Step, rules: _Piece, alone: bool, instruction: _Piece) -> Prompt:
        reader = self._reader(step, rules, alone)
        for piece in self._new(reader, debate, step):
            reader.node = self._after(reader.node, piece)
        if step.visible == frozenset():
            self._starts.setdefault(rules, _Start(reader.node, reader.count, reader.role))
        reader.began.setdefault(step.round, reader.node)
        return Prompt(reader.node, instruction._replace(head=_joint(reader.role, "user") + instruction.head))

    def _instruction(self, debate: Debate[Any], step: Step, position: int) -> _Piece:
        here = len(debate.transcript)
        now = self._prompts.instruction(self._format, debate, step, here)
        if position == here or (step.visible is not None and here not in step.visible):  # else it may say more by then
            debate.once(told(position), lambda: now)
        return self._piece(now)

    def pass_over(self, round: int, rounds: int, turns: int) -> None:
        """Read on in rounds like this one, of so many turns each, without a word."""
        for reader in chain.from_iterable(self._readers.values()):
            if piece := reader.in_rounds_like(round, rounds):
                reader.node = self._after(reader.node, piece)
                reader.count += rounds * turns

    def _reader(self, step: Step, rules: _Piece, alone: bool) -> _Reader:
        whose = (rules, _aliases(step), step.order is None, step.seat if alone else None)
        readers = self._readers.setdefault(whose, [])
        reader = next((each for each in reversed(readers) if each.reads_on(step)), None)
        if reader is None:
            readers.append(reader := self._beginning(rules, step))
        reader.visible = step.visible
        return reader

    def _beginning(self, rules: _Piece, step: Step) -> _Reader:
        start = self._starts.get(rules)
        if start and start.is_passed_by(step):
            return _Reader(start.node, count=start.turns, role=start.role)
        return _Reader(self._after(self._root, rules))

    def _rules(self, debate: Debate[Any], step: Step) -> _Piece:
        """Rendered once for the very same variables; they live as long as the debate, which keeps its steps."""
        used = self._prompts.used_by_rules(self._format, step.rules)
        relevant = ((name, id(value)) for name, value in step.variables.items() if used is None or name in used)
        key = (step.rules, _aliases(step), *relevant)
        if key not in self._rendered:
            self._rendered[key] = self._piece(self._prompts.rules(self._format, debate, step))
        return self._rendered[key]

    def _after(self, node: _Node, piece: _Piece) -> _Node:
        if (known := self._nodes.get((node, piece))) is None:
            lengths = node.length + piece.length, node.longest + piece.longest, node.limited + piece.limited
            known = self._nodes[node, piece] = _Node(node, piece, *lengths)
        return known

    def _new(self, reader: _Reader, debate: Debate[Any], step: Step) -> Iterator[_Piece]:
        last = reader.count - 1
        for role, text, position in self._prompts.read(self._format, debate, step, reader.count):
            joint = _joint(reader.role, role)
            if position is None:
                yield self._piece(joint + text)
            else:
                head, _, foot = text.rpartition(mark(position))
                most, typical, limited = self.made_up[position]
                piece = _Piece(joint + head, typical, foot, most, most if limited else 0)
                if is_research(debate.transcript[position]):
                    self._finding = piece._replace(head=_joint(role, role) + head)
                yield piece
                last = max(last, position)
            reader.role = role
        reader.count = max(step.visible.stop, last + 1) if isinstance(step.visible, range) else len(debate.transcript)
        reader.order = () if step.order is None else places(debate, step)

    def _piece(self, text: str) -> _Piece:
        """A text of ours, in which made-up turns may be repeated."""
        found = [self.made_up[_position(each)] for each in _MARK.findall(text)] if SIGN in text else ()
        return _Piece(text, sum(each.typical for each in found), at_most=sum(each.most for each in found))


def _aliases(step: Step) -> object:
    return None if step.aliases is None else tuple(step.aliases.items())


def _joint(before: Role, after: Role) -> str:
    """What stands between two parts of a prompt."""
    return "\n\n" if before == after else "\n"


@cache
def mark(position: int) -> str:
    """A word that stands for a made-up turn; no two are alike, so that nobody repeats anybody, and none is a figure, or
    long enough to tell anything."""
    places = (position // len(LETTERS) ** power % len(LETTERS) for power in (2, 1, 0))
    return SIGN + "".join(LETTERS[place] for place in places)


def _position(letters: str) -> int:
    return reduce(lambda number, letter: number * len(LETTERS) + LETTERS.index(letter), letters, 0)


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    low, high, ahead = 0, min(len(one), len(other)), 64
    while one[low : low + ahead] == other[low : low + ahead]:  # most differ soon, and some are long
        low, ahead = low + ahead, 2 * ahead
        if low >= high:
            return high
    high = min(high, low + ahead)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low
