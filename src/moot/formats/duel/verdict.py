"""How a duel ended."""

from __future__ import annotations

from typing import Literal, Self, TypeAlias

from pydantic import Field, model_validator

from moot.core.trust import Basis
from moot.trust.judging import Call, call, nearest
from moot.trust.quality import Rated

Stance: TypeAlias = Literal["pro", "con"]


class Verdict(Rated):
    """How the duel ended, with everything that weakens it."""

    winner: Call
    score_a: float
    score_b: float
    stance_a: Stance
    stance_b: Stance
    no_new_substantive_arguments: bool
    fallback: bool
    models: dict[str, str]
    conceded: Literal["a", "b"] | None = Field(None, description="who gave in, which decides it")

    @model_validator(mode="after")
    def _is_told(self) -> Self:
        return self.saying_whose_words()

    def saying_whose_words(self) -> Self:
        """What tipped the balance is told by one judging: where that alone names another winner, it is said."""
        stability = self.trust and self.trust.stability
        if not stability or self.conceded:
            return self
        alone = call(nearest(stability).margin, stability.clear)
        if alone == self.winner:
            return self
        if alone == "undecided":
            before = self.say("In the words of a judging that alone decides nothing:")
        else:
            before = self.say("In the words of a judging that alone has Debater {name} ahead:", name=alone.upper())
        if self.lead and not self.lead.startswith(before):
            self.lead = f"{before} {self.lead}"
        elif not self.lead and not self.summary.startswith(before):
            self.summary = f"{before} {self.summary}"
        return self

    def headline(self) -> str:
        say, scores = self.say, {"a": self.score_a, "b": self.score_b}
        if self.winner == "undecided":
            return say("Undecided, {a:g} : {b:g}", **scores)
        names = {"winner": self.winner.upper(), "stance": self.stance_a if self.winner == "a" else self.stance_b}
        if self.conceded:
            loser = self.conceded.upper()
            return say("Debater {winner} ({stance}) wins: Debater {loser} conceded", **names, loser=loser)
        first, second = sorted(scores.values(), reverse=True)
        return say("Debater {winner} ({stance}) wins, {first:g} : {second:g}", **names, first=first, second=second)

    def decided(self) -> str:
        """Who won, by what they argued for."""
        if self.winner == "undecided":
            return self.say("Undecided")
        is_for = (self.stance_a if self.winner == "a" else self.stance_b) == "pro"
        if self.conceded and is_for:
            return self.say("The case for it wins: the other side conceded")
        if self.conceded:
            return self.say("The case against it wins: the other side conceded")
        return self.say("The case for it wins") if is_for else self.say("The case against it wins")

    def listed(self) -> str:
        return self.decided() if self.fallback else f"{self.decided()}, {self.score_a:g} : {self.score_b:g}"

    def rests_on(self) -> Basis:
        """With what the winner said."""
        return super().rests_on()._replace(seats=frozenset({f"debater_{self.winner}"}))

    def rated(self) -> float | None:
        """How good the debate was: what the judge gave to both sides, on average."""
        return None if self.fallback else round((self.score_a + self.score_b) / 2, 2)

    def table(self) -> tuple[tuple[str, ...], ...]:
        return (
            ("", self.say("stance"), self.say("score")),
            ("Debater A", self.stance_a, f"{self.score_a:g}"),
            ("Debater B", self.stance_b, f"{self.score_b:g}"),
        )
