"""What a reader sees of a critique: the answer as a document, what stayed open, and the fate of every issue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from moot.core.charts import margins_of, scores_by_round
from moot.core.page import (
    Beside,
    Block,
    Fact,
    Figure,
    IssueCard,
    Issues,
    Line,
    Lines,
    OutcomePage,
    Part,
    Prose,
    Section,
    Table,
    TrustBlock,
    lines_of,
    listed,
    present,
)
from moot.core.script import Debate
from moot.formats.critique.final_answer import FinalAnswer, severity_word, status_word, why_ended
from moot.formats.critique.issues import TrackedIssue, open_issues
from moot.text.language import Language
from moot.trust.block import block_of, figures, sentence


def page(debate: Debate[Any], outcome: FinalAnswer) -> OutcomePage:
    say = outcome.say
    begins = outcome.begins()
    settled = [issue for issue in outcome.issues if issue.status != "open"]
    blind = tuple(map(Figure, first_and_final(outcome)))
    return OutcomePage(
        label=say("Answer"),
        headline=begins.headline or "–",
        lead=begins.lead,
        trust=_trust(outcome),
        sections=present(
            Section("answer", say("The answer"), (Prose(outcome.summary, is_document=True),)),
            Section("open", say("What stayed open"), _issues(open_issues(outcome.issues), say)),
            Section("issues", say("Issues and their fate"), _issues(settled, say)),
            Section("stable", say("First and final answer, compared blindly"), blind),
            Section("rounds", say("Rounds"), tuple(_rounds(debate, outcome))),
            Section("figures", "", figures(outcome.figures, say)),
            Section("caveats", say("Before you trust it"), listed(outcome.caveats, "turn")),
        ),
    )


def _trust(outcome: FinalAnswer) -> TrustBlock | None:
    found = block_of(outcome, list(_about_issues(outcome)))
    if found is None:
        return None
    ended = sentence(why_ended(outcome.ended, outcome.say))
    better = sentence(outcome.say("blind, the final answer was found better than the first proposal"))  # for it
    why = (ended, found.why, *(each for each in found.reasons if each == better))
    reasons = tuple(each for each in found.reasons if each != better)
    return found._replace(why=" ".join(filter(None, why)), reasons=reasons)


def _about_issues(outcome: FinalAnswer) -> Iterator[Fact]:
    say, number = outcome.say, len(outcome.issues)
    if number:
        values = {"n": number - len(outcome.open_issues), "all": number}
        yield Fact(say("{n} of {all} issues settled", **values), say("answered, or withdrawn by the skeptic"))
    if outcome.auto_score is not None:
        detail = say("the skeptic's last score, less what stayed open")
        yield Fact(say("{score} of 10", score=f"{outcome.auto_score:g}"), detail)


def _issues(issues: Sequence[TrackedIssue], say: Language) -> tuple[Issues, ...]:
    return (Issues(tuple(_card(issue, say) for issue in issues)),) if issues else ()


def _card(issue: TrackedIssue, say: Language) -> IssueCard:
    where = say("raised in round {round}", round=issue.raised) if issue.raised else say("On this answer")
    if issue.replied:
        where = f"{where}, {say('replied to in round {round}', round=issue.replied)}"
    replies = [Line(issue.reply, seat="proposer")] if issue.reply else []
    replies += [Line(issue.why, seat="skeptic")] if issue.why else []
    quote = issue.passage if issue.quoted else ""
    severity = severity_word(issue, say)
    raised = Line(issue.text, seat="skeptic")
    status = status_word(issue, say)
    return IssueCard(issue.number, issue.status, status, issue.severity, severity, where, quote, raised, tuple(replies))


def first_and_final(outcome: FinalAnswer) -> Iterator[Any]:
    return margins_of(outcome, ("Final answer", "First proposal"))


def _rounds(debate: Debate[Any], outcome: FinalAnswer) -> Iterator[Part | Beside]:
    yield from map(Figure, by_round(debate))
    blocks = [Block("", (Table(outcome.table()),))]
    if outcome.templates:
        lines = Lines(lines_of(*outcome.templates.values()), "file")
        blocks.append(Block(outcome.say("Templates"), (lines,)))
    yield Beside(tuple(blocks))


def by_round(debate: Debate[Any]) -> Iterator[Any]:
    say = debate.language
    return scores_by_round(debate.transcript, "critique", {"score": say("Skeptic’s score")}, say)
