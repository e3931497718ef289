"""What the ballots of a poll say together."""

from __future__ import annotations

from pydantic import Field

from moot.core.charts import percent
from moot.core.debate import Outcome
from moot.core.table import Rows
from moot.core.trust import PollResult
from moot.text.language import Language
from moot.text.plain import capitalized
from moot.trust.poll import AGAINST, FOR
from moot.trust.voting import RANKED, Rule, rule_name


class PollOutcome(Outcome):
    """What the ballots say together."""

    winner: str | None = Field(description="the answer that won by the rule; none when none did")
    rule: Rule
    why: str = Field("", description="why none has won")
    tally: dict[str, float] = Field(description="answer → what it got by the rule")
    poll: PollResult

    def headline(self) -> str:
        say, poll = self.say, self.poll
        if self.winner is None:
            return say("Undecided: {why}", why=self.why)
        values = {"answer": label(self.winner, say), "n": poll.counts[self.winner], "all": poll.number}
        if self.rule in RANKED:
            return say("{answer} wins by {rule}; {n} of {all} put it first", **values, rule=rule_name(self.rule, say))
        return say("{answer}: {n} of {all} independent answers", **values)

    def told(self) -> str:
        """How many say so, for whoever has read what."""
        if self.winner is None or self.rule in RANKED:
            return self.headline() if self.winner else f"{capitalized(self.why)}."
        number, whole = self.poll.counts[self.winner], self.poll.number
        return self.say("{n} of {all} independent answers say so.", n=number, all=whole)

    def table(self) -> Rows:
        say, poll = self.say, self.poll
        by_rule = any(points != poll.counts[answer] for answer, points in self.tally.items())
        header = (say("choice"), say("ballots"), say("share"), say("in mirrored words"), say("by the rule"))
        rows = [
            (
                label(answer, say),
                str(number),
                percent(number / (poll.number or 1)),
                str(poll.mirrored[answer]),
                f"{self.tally.get(answer, 0):g}",
            )
            for answer, number in poll.counts.items()
        ]
        return tuple(row if by_rule else row[:-1] for row in (header, *rows))


def label(answer: str, say: Language) -> str:
    return {FOR: say("Yes"), AGAINST: say("No")}.get(answer, answer)
