"""Where a panel stands, from its turns alone: what each round brought, and why the rounds end.

What code finds (repetition, novelty, quotes, positions) stands beside the moderator's opinion and decides what counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from moot.core.debate import Turn
from moot.core.script import Debate
from moot.formats.panel.answers import Evaluation
from moot.formats.panel.casting import evaluation_of, names, spoken
from moot.formats.panel.positions import agreement
from moot.trust.novelty import REPEATS, STALE, SpokenBefore, repetition
from moot.trust.quotes import Checked, Source, check_all, cited, tags

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
    now = _speeches(debate, round)
    before = _speeches(debate, round - 1)
    said = debate.once("said", lambda: SpokenBefore(debate.topic))
    for number in range(said.rounds + 1, round):
        said.add_round(_speeches(debate, number).values())
    sources = tuple(debate.settings.sources)
    late = [turn.seat for turn in debate.in_round(round) if "late" in turn.marks]
    return Facts(
        {seat: _repetition(text, before[seat]) for seat, text in now.items() if seat in before},
        {seat: said.novelty(text, round) for seat, text in now.items()} if round > 1 else {},
        {seat: found for seat, text in now.items() if not _has_no_marks(text) and (found := quotes(text, sources))},
        tuple(dict.fromkeys(late)),
    )


def quotes_of(debate: Debate[Any], turn: Turn) -> tuple[Checked, ...]:
    """What a turn quotes, checked; without a tag too, unless somebody said so before."""
    if not debate.settings.sources or _has_no_marks(turn.content):
        return ()
    sources = tuple(debate.settings.sources)
    if debate.settings.rules == 1 or not _cites_untagged(turn.content, sources):
        return quotes(turn.content, sources)
    said = (debate.topic, *(each.content for each in debate.transcript[: turn.position] if each.content))
    return quotes(turn.content, sources, said)


@lru_cache(maxsize=256)
def _cites_untagged(text: str, sources: tuple[Source, ...]) -> bool:
    """Whether what was said before matters to what it quotes; it is put together for no other turn."""
    return any(not found.tag for found in cited(text, tags(sources)))


def _has_no_marks(text: str) -> bool:
    """Whether it is nothing but words, so that it quotes nobody; to compare all sources with a cache's takes longer."""
    return all(word.isalnum() for word in text.split())


@lru_cache(maxsize=256)
def quotes(text: str, sources: tuple[Source, ...], said: tuple[str, ...] | None = None) -> tuple[Checked, ...]:
    return check_all(text, sources, said) if sources else ()


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
    known = names(debate)
    missing = ", ".join(known[seat] for seat in found.differing)
    return Verdict(None, say("this is no agreement, as {names} declared another position or none", names=missing))


def _stagnant(debate: Debate[Any], round: int) -> Verdict:
    shares = facts(debate, round).novelty.values()
    if round > 1 and all(share < MOSTLY_NEW for share in shares):
        return Verdict("stagnant")
    return Verdict(None, debate.language("the arguments still move: most of what was said is in new words"))


def stale(debate: Debate[Any], round: int) -> bool:
    return round > STALE_ROUNDS and all(facts(debate, round - back).stale for back in range(STALE_ROUNDS))


def _speeches(debate: Debate[Any], round: int) -> dict[str, str]:
    """What each debater said in a round, opening and rebuttal together."""
    said: dict[str, list[str]] = {}
    for turn in debate.in_round(round):
        if spoken(turn):
            said.setdefault(turn.seat, []).append(turn.content)
    return {seat: "\n".join(texts) for seat, texts in said.items()}


_repetition = lru_cache(maxsize=256)(repetition)
