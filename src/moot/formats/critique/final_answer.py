"""The answer a critique comes to, with everything that was held against it and what became of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import shorten
from typing import Any

from pydantic import BaseModel, Field

from moot.core.debate import Limits, Outcome, Record, Turn
from moot.core.script import Debate
from moot.core.trace import iso
from moot.formats.critique.issues import Reviewed, TrackedIssue, auto_score, open_issues, reviews, tracked
from moot.text.markdown import contained, front_matter, in_line, table_of
from moot.trust.caveats import about_models, about_turns

SPEAKERS = {"proposer": "Proposer", "skeptic": "Skeptic"}
REASONS = {"ready": "the skeptic found the answer ready", "no_critical_issues": "no critical issue remained"}
ENDED = {**REASONS, "max_rounds": "all rounds were used", "concluded": "a person ended the rounds"}
MAX_TITLE = 120


class UsedTemplate(BaseModel):
    """A reasoning template as the library hands it out."""

    name: str
    title: str
    score: float
    text: str


class FinalAnswer(Outcome):
    """The answer; `summary` is its text."""

    templates: dict[str, str] = Field(description="name → title of the templates the proposer worked from")
    rounds: list[Reviewed]
    issues: list[TrackedIssue]
    open_issues: list[int] = Field(description="the numbers of those that stayed open")
    ended: str = Field(description="why the rounds ended")
    early_stopped: bool = Field(description="whether rounds were left")
    quality_score: float | None = Field(description="0-10, the skeptic's last")
    auto_score: float | None = Field(description="0-10, computed: the skeptic's last score less what stayed open")
    models: dict[str, str]

    def headline(self) -> str:
        why = ENDED.get(self.ended, f"ended by {self.ended}")
        why = why[:1].upper() + why[1:]
        score = "no score" if self.auto_score is None else f"automatic score {self.auto_score:g}/10"
        rounds, remaining = _count(len(self.rounds), "round"), _count(len(self.open_issues), "open issue")
        return f"{why} after {rounds}: {score}, {remaining}"

    def table(self) -> tuple[tuple[str, ...], ...]:
        rows = ((str(each.round), _score(each.score), str(each.raised), str(each.open)) for each in self.rounds)
        return (("round", "score", "new issues", "open"), *rows)

    def document(self, record: Record, turns: Sequence[Turn]) -> str:
        return "\n\n".join([*_heading(self, record), *_body(self)]) + "\n"


def templates_of(turn: Turn | None) -> tuple[UsedTemplate, ...]:
    """What the library found; nothing in a rehearsal, or when it found nothing."""
    found: Any = (turn.data or {}).get("templates") if turn else None
    return tuple(UsedTemplate.model_validate(each) for each in found or ())


def final_answer(debate: Debate[Any], answer: Turn, templates: Sequence[UsedTemplate]) -> FinalAnswer:
    turns, issues = debate.transcript, tracked(debate.transcript)
    reviewed = reviews(turns)
    last = reviewed[-1].score if reviewed else None
    played = max((turn.round or 0 for turn in turns), default=0)
    ended = debate.stop_reason or "completed"
    return FinalAnswer(
        summary=answer.content,
        templates={template.name: template.title for template in templates},
        rounds=list(reviewed),
        issues=list(issues),
        open_issues=[issue.number for issue in open_issues(issues)],
        ended=ended,
        early_stopped=played < debate.settings.max_rounds and ended not in Limits.model_fields,
        quality_score=last,
        auto_score=auto_score(last, issues),
        models={seat: chosen.model for seat, chosen in debate.seats.items()},
        caveats=list(_caveats(debate, answer, issues, reviewed)),
    )


def described(issue: TrackedIssue) -> str:
    """An issue in a line."""
    line = f"issue {issue.number} ({issue.severity}): {issue.text}"
    if not issue.passage:
        return line
    return f"{line} “{issue.passage}”" + ("" if issue.quoted else " (these words do not stand in the proposal)")


def _caveats(
    debate: Debate[Any], answer: Turn, issues: Sequence[TrackedIssue], reviewed: Sequence[Reviewed]
) -> Iterator[str]:
    if any("without:templates" in turn.marks for turn in debate.transcript):
        yield "no reasoning templates could be retrieved: the proposer worked without them"
    unread = sum(each.score is None for each in reviewed)
    if unread:
        yield f"{unread} of {_count(len(reviewed), 'critique')} had no score that could be read, and decided nothing"
    critical = sum(issue.severity == "critical" for issue in open_issues(issues))
    if critical:
        yield f"{_count(critical, 'critical issue')} stayed open"
    last = reviewed[-1].score if reviewed else None
    if debate.stop_reason == "no_critical_issues" and last is not None and last < debate.settings.early_stop_score:
        yield f"the skeptic named nothing critical, but gave the answer only {last:g} of 10"
    invented = sum(bool(issue.passage) and not issue.quoted for issue in issues)
    if invented:
        yield f"the quotes of {invented} of {_count(len(issues), 'issue')} do not stand in the proposal"
    yield from about_turns(debate, SPEAKERS)
    if "truncated" in answer.marks:
        yield "the answer ran into the output cap"
    yield from about_models(debate, "skeptic", {"proposer": "Proposer", "synthesizer": "Synthesizer"})


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _score(score: float | None) -> str:
    return "–" if score is None else f"{score:g}"


# The answer as a document


def _heading(outcome: FinalAnswer, record: Record) -> Iterator[str]:
    question = " ".join(record.topic.split())
    yield front_matter(
        {
            "title": question,
            "debate": record.id,
            "format": record.format,
            "date": iso(record.created_at)[:10],
            "ended": outcome.ended,
            "automatic_score": _score(outcome.auto_score),
            "templates": list(outcome.templates),
        }
    ).rstrip("\n")
    yield f"# {in_line(shorten(question, MAX_TITLE, placeholder='…'))}"
    yield f"**{in_line(outcome.headline())}**"
    if len(question) > MAX_TITLE:
        yield f"## Question\n\n{contained(record.topic, 2)}"


def _body(outcome: FinalAnswer) -> Iterator[str]:
    yield f"## Answer\n\n{contained(outcome.summary, 2)}"
    remaining = [issue for issue in outcome.issues if issue.status == "open"]
    yield f"## What stayed open\n\n{_listed(remaining) if remaining else 'Nothing.'}"
    settled = [issue for issue in outcome.issues if issue.status != "open"]
    if settled:
        yield f"## What was settled\n\n{_listed(settled)}"
    yield f"## Rounds\n\n{table_of(outcome.table())}"
    if outcome.templates:
        yield "## Templates\n\n" + "\n".join(f"- {in_line(title)}" for title in outcome.templates.values())
    if outcome.caveats:
        yield "## Before you trust it\n\n" + "\n".join(f"- {in_line(caveat)}" for caveat in outcome.caveats)


def _listed(issues: Sequence[TrackedIssue]) -> str:
    return "\n".join(line for issue in issues for line in _lines(issue))


def _lines(issue: TrackedIssue) -> Iterator[str]:
    status = "" if issue.status == "open" else f", {issue.status}"
    yield f"- Round {issue.raised}{status}, {in_line(described(issue))}"
    if issue.reply:
        yield f"  - Reply in round {issue.replied}: {in_line(issue.reply)}"
