"""Where a panel stands, from its turns alone: what each round brought, and why the rounds end.

What code finds (repetition, novelty, quotes, positions) stands beside the moderator's opinion and decides what counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from moot.core.debate import Turn
from moot.core.quoting import quotes
from moot.core.script import Debate
from moot.core.trust import REJUDGING
from moot.formats.panel.answers import Evaluation
from moot.formats.panel.casting import evaluation_of, names, spoken
from moot.formats.panel.positions import agreement, false_agreements, positions, told_apart
from moot.sources.quotes import Checked
from moot.trust.novelty import MEANS_THE_SAME, REPEATS, STALE, SpokenBefore, repetition

STALE_ROUNDS = 2
MOSTLY_NEW = 0.8
"""An argument with so many new words moves, whatever the moderator thinks of it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What code found in one round, by seat."""

    repetition: Mapping[str, float]
    novelty: Mapping[str, float]
    quotes: Mapping[str, tuple[Checked, ...]]
    late: tuple[str, ...]
    meaning: Mapping[str, float]
    """The share of what a seat said that means what it said before, where the library could tell."""

    @property
    def repeating_in_meaning(self) -> list[str]:
        """Those of which it is not known by their very words."""
        known = self.repeating
        return [seat for seat, share in self.meaning.items() if share >= MEANS_THE_SAME and seat not in known]

    @property
    def repeating(self) -> list[str]:
        return [seat for seat, share in self.repetition.items() if share > REPEATS]

    @property
    def unverified(self) -> list[tuple[str, Checked]]:
        return [(seat, quote) for seat, found in self.quotes.items() for quote in found if quote.verdict != "verified"]

    @property
    def stale(self) -> bool:
        return bool(self.novelty) and all(share < STALE for share in self.novelty.values())


def facts(debate: Debate[Any], round: int) -> Facts:
    return debate.once(("facts", round, len(debate.in_round(round))), lambda: _facts(debate, round))


def _facts(debate: Debate[Any], round: int) -> Facts:
    now = speeches(debate, round)
    before = speeches(debate, round - 1)
    said = debate.once("said", lambda: SpokenBefore(debate.topic))
    for number in range(said.rounds + 1, round):
        said.add_round(speeches(debate, number).values())
    turns = debate.in_round(round)
    sources = debate.sources_before(turns[-1].position) if turns else ()
    late = [turn.seat for turn in turns if "late" in turn.marks]
    return Facts(
        {seat: _repetition(text, before[seat]) for seat, text in now.items() if seat in before},
        {seat: said.novelty(text, round) for seat, text in now.items()} if round > 1 else {},
        {seat: found for seat, text in now.items() if (found := quotes(text, sources))},
        tuple(dict.fromkeys(late)),
        _meaning(debate, round),
    )


def _meaning(debate: Debate[Any], round: int) -> Mapping[str, float]:
    turn = next((turn for turn in debate.in_round(round) if turn.kind == "repeats"), None)
    found: Any = (turn.data or {}).get("repeats") if turn else None
    return found if isinstance(found, dict) else {}


def observed(debate: Debate[Any], round: int) -> list[str]:
    """What code has found in the speeches of a round: who repeats itself, and who does not recommend what it says."""
    say, known, found = debate.language, names(debate), facts(debate, round)
    lines = [
        say("{name} repeats {share} of its last round", name=known[seat], share=f"{found.repetition[seat]:.0%}")
        for seat in found.repeating
    ]
    lines += [
        say(
            "{name} says again in other words what it said before ({share} of its sentences)",
            name=known[seat],
            share=f"{found.meaning[seat]:.0%}",
        )
        for seat in found.repeating_in_meaning
    ]
    return lines + [
        say(
            "{name} says that it agrees with {other}, and recommends another thing", name=known[one], other=known[other]
        )
        for one, other in false_agreements(debate, positions(debate, round))
    ]


def findings(debate: Debate[Any], round: int) -> list[str]:
    """What code has found in a round, as the moderator and the person are told it."""
    say, by_seat, found = debate.language, names(debate), facts(debate, round)
    lines = observed(debate, round)
    if found.novelty:
        new = ", ".join(f"{by_seat[seat]} {share:.0%}" for seat, share in found.novelty.items())
        lines.append(say("Share of what was said in new words: {shares}", shares=new))
    lines += [say("{name} was late and missed the round", name=by_seat[seat]) for seat in found.late]
    return lines


class Verdict(NamedTuple):
    """Why the rounds should end after this one, if they should; and what is to be said about the moderator's claim."""

    reason: str | None
    remark: str = ""


GOES_ON = Verdict(None)


def verdict(debate: Debate[Any], round: int, new: Turn | None = None) -> Verdict:
    """The moderator concludes, also in a turn that is not in the transcript yet; code says whether it counts."""
    say = debate.language
    if stale(debate, round):
        return Verdict("repetition", say("nobody has said anything new for two rounds"))
    turn = new or evaluation_of(debate, round)
    evaluation = Evaluation.model_validate(turn.data) if turn else Evaluation.fallback()
    if evaluation.decision != "conclude":
        return GOES_ON
    found = agreement(debate, round, turn)
    if found.of_all:
        return Verdict("agreed") if round > 1 else Verdict("quick_agreement", say("agreement in the first round"))
    if evaluation.state == "stagnating":
        return _stagnant(debate, round)
    if found.of_most and round > 1:
        return Verdict("majority")
    if found.apart:
        return Verdict(None, told_apart(debate, found.apart))
    known = names(debate)
    missing = ", ".join(known[seat] for seat in found.differing)
    return Verdict(None, say("this is no agreement, as {names} declared another position or none", names=missing))


def concluded(debate: Debate[Any], round: int, found: Verdict) -> Verdict:
    """Why the rounds end; what the moderator concludes counts when a second reading, if any, says the same."""
    again = next((turn for turn in debate.in_round(round) if turn.kind == REJUDGING), None)
    return found if again is None else confirmed(debate, round, found, again)


def confirmed(debate: Debate[Any], round: int, found: Verdict, again: Turn) -> Verdict:
    if verdict(debate, round, again).reason == found.reason:
        return found
    return Verdict(None, debate.language("two readings of this round differ: the debate goes on"))


def is_moderators(found: Verdict) -> bool:
    """Whether it is the moderator who ends the rounds, and not code."""
    return found.reason not in (None, "repetition")


def _stagnant(debate: Debate[Any], round: int) -> Verdict:
    found = facts(debate, round)
    moving = [seat for seat, share in found.novelty.items() if share >= MOSTLY_NEW]
    if round > 1 and all(seat in found.repeating_in_meaning for seat in moving):
        return Verdict("stagnant")
    return Verdict(None, debate.language("the arguments still move: most of what was said is in new words"))


def stale(debate: Debate[Any], round: int) -> bool:
    return round > STALE_ROUNDS and all(facts(debate, round - back).stale for back in range(STALE_ROUNDS))


def speeches(debate: Debate[Any], round: int) -> dict[str, str]:
    """What each debater said in a round, opening and rebuttal together, as far as it is known who it was."""
    said: dict[str, list[str]] = {}
    known = names(debate)
    for turn in debate.in_round(round):
        if spoken(turn) and turn.seat in known:
            said.setdefault(turn.seat, []).append(turn.content)
    return {seat: "\n".join(texts) for seat, texts in said.items()}


_repetition = lru_cache(maxsize=256)(repetition)
