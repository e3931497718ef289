"""What a debate will cost, before any call: its script is rehearsed on made-up turns of the expected length.

Most rounds of a long debate are alike, but for as much more to read in each. They are not rehearsed: what they take
follows from the three before them, and the two after them must be as that foretells, or all rounds are rehearsed.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeAlias

from moot.core.debate import NO_USAGE, PASSED_OVER, Answer, JsonObject, Record, Step, Turn, Usage
from moot.core.evidence import TEMPLATES, rehearsed
from moot.core.format import AnyFormat
from moot.core.growth import Law, Size
from moot.core.measure import MadeUp, Measure, mark
from moot.core.most import Asked, Forms, Player, Price, added, most
from moot.core.prompts import Prompts, layout
from moot.core.replay import rehearse
from moot.core.research import FOUND, MAX_FOUND, MAX_TOOLS, RESEARCH, RESEARCHER, asking
from moot.core.script import Debate
from moot.text.plain import CHARACTERS_PER_TOKEN, estimated_tokens

log = logging.getLogger(__name__)

Templates: TypeAlias = Callable[[], Sequence[JsonObject]]

TYPICAL_SHARE = 0.6
"""How much of its cap a step usually writes."""
ALIKE = range(2, 100)
"""Rounds that can be alike: their numbers are as long."""
SEEN, CHECKED = 3, 2
"""So many rounds are compared before those that are passed over, and after them."""
FINDINGS = MadeUp(FOUND, int(FOUND * TYPICAL_SHARE))
FAR = 6
"""So many rounds are left before a limit bites: what is checked, and the round that it cuts short."""


class Estimate(NamedTuple):
    """`most` is what no run exceeds, but for what people say: every step that may be asked for, each at its cap and
    answered once more where its form cannot be read, nothing cached, as many rounds as short speeches allow. `typical`
    is a guess, and no promise."""

    most: Usage
    typical: Usage


def estimate(
    record: Record,
    format: AnyFormat,
    prompts: Prompts,
    price: Price,
    templates: Templates = tuple,
    alike: range = ALIKE,
) -> Estimate:
    """`templates` are those of the library, the longest first, asked for where a debate might be handed some; `alike`
    are the rounds of which some may be passed over."""
    rehearsal = partial(_Rehearsal, record, format, prompts, price, templates)
    try:
        return _estimate(partial(rehearsal, alike))
    except _Unforeseen as unforeseen:
        if unforeseen.__cause__:
            log.warning("the script of %s needs every round rehearsed: %r", format.name, unforeseen.__cause__)
        return _estimate(partial(rehearsal, range(0)))


def _estimate(rehearsal: Callable[[bool], _Rehearsal]) -> Estimate:
    """Where both are asked the same, it is measured once."""
    longest, usual = rehearsal(True), rehearsal(False)
    longest.play()
    if longest.usual and not longest.passed_over:
        usual.measured = longest.sizes
    try:
        usual.play()
    except _Diverged:
        usual = rehearsal(False)
        usual.play()
    return Estimate(longest.most(), usual.typical())


class _Unforeseen(Exception):
    """A round is not as those before the rounds that were passed over let expect."""


class _Diverged(Exception):
    """A rehearsal is asked something else than the one before."""


class _Rehearsal:
    """A debate on made-up turns, each as long as it may be or as it usually is."""

    def __init__(
        self,
        record: Record,
        format: AnyFormat,
        prompts: Prompts,
        price: Price,
        templates: Templates,
        alike: range,
        at_most: bool,
    ) -> None:
        self._templates = templates
        self._format = format
        self._price = price
        self._alike = alike
        self._at_most = at_most
        self._measure = Measure(format, prompts)
        self._debate = format.open(record)
        self._debate.rehearsed = "most" if at_most else "typical"
        self._debate.played_to = self._played_to
        self.asked: list[tuple[Step, Size]] = []
        self._ends: list[int] = []
        """Where each round ended."""
        self._foreseen: dict[int, tuple[Step, Size]] = {}
        """Position → what has to be asked there, for the rounds that were passed over to be right."""
        self._used = NO_USAGE, NO_USAGE
        """Before the last round and after it."""
        self._examined = 0, 0
        """Tokens of turns that only examine, then and now."""
        self._found = 0, 0
        """Sources that were looked up, then and now."""
        self._resumed = 0
        """Where the first round after those ends."""
        self._answers: dict[type[Answer], JsonObject] = {}
        self._players: dict[int, Player | None] = {}
        """By the identity of a step; all that were asked are kept."""
        self._read: dict[frozenset[int], int] = {}
        self._taken: list[Asked] = []
        self._forms = Forms()
        self._batches = Counter[int]()
        """Where steps are asked side by side → what those write that share the limit on speeches."""
        self.usual = True
        """Whether nothing was answered by now but what is answered usually, too."""
        self._paths = [0]
        """Position → what stands for all that was asked before it."""
        self.sizes: dict[object, list[Size]] = {}
        """What stands for a step and for all that it reads → its sizes, as often as it was asked."""
        self.measured: dict[object, list[Size]] = {}
        """Those of another rehearsal, if this one is asked the same."""

    @property
    def passed_over(self) -> bool:
        return bool(self._resumed)

    def play(self) -> None:
        try:
            rehearse(self._debate, self._format, self._improvise)
        except Exception as error:  # a script that keeps its own books may stumble over rounds it was not asked for
            if self.passed_over and not isinstance(error, _Unforeseen):
                raise _Unforeseen from error
            raise
        if self._foreseen:
            raise _Unforeseen

    def typical(self) -> Usage:
        return self._debate.usage()

    def most(self) -> Usage:
        limit = self._debate.settings.max_total_output_tokens + max(self._batches.values(), default=0)
        return most(self._taken, limit, self._price)

    def _improvise(self, debate: Debate[Any], step: Step, position: int) -> Turn:
        player = self._player(step)
        size = self._size(step, player, position)
        if position in self._foreseen:
            size = self._checked(position, step, size)
        turn = self._turn(step, player, step.round, position, size)
        if self._at_most and self._taken and self._taken[-1].limited and player:
            self._batches[len(debate.transcript)] += size.cap * len(self._taken[-1].adds)
        return turn

    def _size(self, step: Step, player: Player | None, position: int) -> Size:
        debate = self._debate
        if player is None:
            return Size()
        cap = step.max_tokens or debate.output_cap(step.seat)
        key = (step.seat, step.kind, step.round, cap, self._reads(step)) if self._at_most or self.measured else None
        if self.measured:
            return self._known(key)
        reads = self._shown(step.visible) if isinstance(step.visible, frozenset) else None
        sent = self._measure.sent(debate, player.asked, player.model, position, reads)
        tools = 0 if player.asked is step else MAX_TOOLS
        size = Size(sent.longest + tools, sent.length + tools // 4, sent.known, cap, sent.limited)
        if self._at_most:
            self.sizes.setdefault(key, []).append(size)
        return size

    def _player(self, step: Step) -> Player | None:
        """Found once for each step: in rounds that are passed over it is the same one."""
        if id(step) not in self._players:
            asked, debate = asking(step), self._debate
            alone = asked.seat in debate.seats and layout(self._format, debate, asked) == "per_seat"
            found = Player(asked, debate.model_of(asked), alone) if asked.seat in debate.seats else None
            self._players[id(step)] = found
        return self._players[id(step)]

    def _reads(self, step: Step) -> object:
        """What stands for all that a step reads."""
        if not isinstance(step.visible, frozenset):
            return len(self._debate.transcript), self._paths[len(self._debate.transcript)]
        return self._shown(step.visible), len(self._debate.of_seat(RESEARCHER.name))

    def _shown(self, visible: frozenset[int]) -> object:
        """What stands for these turns, but for the rounds in which they were spoken."""
        if visible not in self._read:
            turns, made_up = (self._debate.transcript[at] for at in sorted(visible)), self._measure.made_up
            shape = tuple((t.seat, t.kind, len(str(t.round)), made_up.get(t.position)) for t in turns)
            self._read[visible] = hash(shape)
        return self._read[visible]

    def _known(self, key: object) -> Size:
        sizes = self.measured.get(key)
        if not sizes or _is_empty(sizes[0]):
            raise _Diverged
        return sizes.pop(0)

    def _checked(self, position: int, step: Step, size: Size) -> Size:
        foreseen, expected = self._foreseen.pop(position)
        if position < self._resumed:  # nothing of the rounds that were passed over was sent to a model
            size = size._replace(known=expected.known)
        if (step.seat, step.kind, size) != (foreseen.seat, foreseen.kind, expected):
            raise _Unforeseen
        return size

    def _turn(
        self,
        step: Step,
        player: Player | None,
        round: int | None,
        position: int,
        size: Size,
        marks: tuple[str, ...] = (),
    ) -> Turn:
        self.asked.append((step, size))
        if self._at_most or self.measured:
            self._paths.append(hash((self._paths[-1], step.seat, step.kind, size.cap)))
        if player is None:
            content, data = self._handed(step, position)
            return Turn(
                position=position, seat=step.seat, kind=step.kind, round=round, marks=marks, content=content, data=data
            )
        model, researched = player.model, step.kind == RESEARCH
        limited = self._debate.debating and step.kind not in self._debate.checks
        made_up = FINDINGS if researched else _made_up(size.cap, limited)
        self._measure.made_up[position] = made_up
        if self._at_most:
            told = self._forms.told(step, player)
            asked = Asked(model, size.longest, size.limited, told, size.cap, added(step, size.cap), limited)
            self._taken.append(asked)
            self._forms.add(step, position, _characters(size.cap) if step.answer else 0)
        return Turn(
            position=position,
            seat=step.seat,
            kind=step.kind,
            round=round,
            content=mark(position) if (size.cap if self._at_most else made_up.typical) else "",
            data=_found(position) if researched else self._answer(step.answer, position) if step.answer else None,
            usage=NO_USAGE if self._at_most else self._usage(model, size.length, _usual(size.cap), size.known),
            model=model,
            marks=marks,
        )

    def _handed(self, step: Step, position: int) -> tuple[str, JsonObject | None]:
        """What a person says, or the library hands out."""
        if step.question and self._at_most:  # who always wants something else, in a word
            self.usual = False
            self._measure.made_up[position] = MadeUp(0, 0)
            actions = step.question.actions
            return mark(position), {"action": "guide" if "guide" in actions else actions[0]}
        found = rehearsed(step, self._templates, self._at_most)
        self.usual = self.usual and TEMPLATES not in (found or ())
        return "", found

    def _usage(self, model: str, characters: int, output: int, known: int = 0) -> Usage:
        tokens, cached = estimated_tokens(characters), known // CHARACTERS_PER_TOKEN
        usage = Usage(input_tokens=tokens, cached_tokens=cached, output_tokens=output, calls=1, estimated=True)
        cost = self._price(model, usage)
        return usage if cost is None else replace(usage, cost=cost)

    def _answer(self, form: type[Answer], position: int) -> JsonObject:
        if form not in self._answers:
            made = form.made_up() if self._at_most else form.fallback()
            self.usual = self.usual and made == form.fallback()
            self._answers[form] = made.model_dump(mode="json")
        return {**self._answers[form], form.shown: mark(position)} if self._at_most else self._answers[form]

    def _played_to(self, played: int) -> int:
        """Pass over the rounds that are like the last three, as far as no limit is near."""
        self._ends.append(len(self._debate.transcript))
        self._count()
        far = min(self._looks_on(), self._examines_on())
        last = min(self._debate.settings.max_rounds, self._alike.stop, played + far) - CHECKED - 1
        if self._foreseen or played - SEEN + 1 not in self._alike:
            return played
        if not (law := self._law(played)):
            return played
        number = played
        while number < last - 1 and self._is_far_from_limits():
            number += 1
            self._pass_over(number, law, marks=(PASSED_OVER,))
        if number > played:
            number += 1
            self._pass_over(number, law)  # which the next one may look back on
            self._measure.pass_over(played, number - played, len(law.asked))
            self._resumed = len(self._debate.transcript) + len(law.asked)
            foreseen = chain.from_iterable(law.at(number + more) for more in range(1, CHECKED + 1))
            self._foreseen = dict(enumerate(foreseen, len(self._debate.transcript)))
        return number

    def _examines_on(self) -> int:
        """For how many rounds what only examines goes on, or stays away, as in the last one: it has a limit, under
        which all of a round must find room at its cap."""
        before, now = self._examined
        most: int = getattr(self._debate.settings, "max_check_output_tokens", 0)
        seats, last = self._debate.seats, (step for step, _ in self.asked[self._ends[-2:][0] :])
        room = sum(seats[step.seat].max_tokens for step in last if step.kind in self._debate.checks)
        return (most - now - room) // (now - before) if now > before and most else len(ALIKE)

    def _looks_on(self) -> int:
        """For how many rounds things are looked up as in the last one: until so many are found."""
        before, now = self._found
        return (MAX_FOUND - now) // (now - before) if now > before and now < MAX_FOUND else len(ALIKE)

    def _law(self, played: int) -> Law | None:
        rounds = [self.asked[start:end] for start, end in pairwise(self._ends[-SEEN - 1 :])]
        if len({tuple((step.seat, step.kind) for step, _ in asked) for asked in rounds}) > 1:
            return None
        growths = [[size.growth(less) for (_, less), (_, size) in zip(*both, strict=True)] for both in pairwise(rounds)]
        return Law(played, rounds[-1], growths[-1]) if all(each == growths[0] for each in growths) else None

    def _is_far_from_limits(self) -> bool:
        before, now = self._used
        left, limit = self._debate.output_left(), self._debate.settings.max_cost
        if limit is not None and (now.cost or 0.0) + FAR * ((now.cost or 0.0) - (before.cost or 0.0)) > limit:
            return False
        return left > FAR * (now.output_tokens - before.output_tokens)

    def _pass_over(self, number: int, law: Law, marks: tuple[str, ...] = ()) -> None:
        asked = enumerate(law.at(number), len(self._debate.transcript))
        round = type(law.round)(number)
        turns = [
            self._turn(step, self._player(step), round if step.round == law.round else step.round, at, size, marks)
            for at, (step, size) in asked
        ]
        self._debate.pass_over(turns, [step for step, _ in law.asked])
        self._count()

    def _count(self) -> None:
        self._used = self._used[1], self._debate.usage()
        self._examined = self._examined[1], self._debate.check_output()
        self._found = self._found[1], len(self._debate.findings)


def _found(position: int) -> JsonObject:
    return {"calls": [{"tool": "search", "text": mark(position)}]}


@lru_cache(maxsize=1000)
def _made_up(cap: int, limited: bool) -> MadeUp:
    return MadeUp(_characters(cap), _characters(_usual(cap)), limited)


def _usual(cap: int) -> int:
    return round(cap * TYPICAL_SHARE)


def _is_empty(size: Size) -> bool:
    """Whether a turn that is read when a step writes all it may has no words when it writes as much as usual."""
    return bool(size.cap) and _characters(_usual(size.cap)) == 0


def _characters(tokens: int) -> int:
    return tokens * CHARACTERS_PER_TOKEN // 5 * 5
