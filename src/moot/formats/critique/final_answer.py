"""The answer a critique comes to, with everything that was held against it and what became of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, Field

from moot.core.debate import Limits, Outcome, Record, Turn
from moot.core.page import Told, told
from moot.core.record import iso
from moot.core.script import Debate
from moot.core.trust import CHECKS, Trust
from moot.formats.critique.issues import Reviewed, TrackedIssue, auto_score, open_issues, reviews, tracked
from moot.text.language import Language
from moot.text.markdown import MAX_TITLE, bullets, contained, front_matter, in_line, in_title, table_of
from moot.trust.caveats import about_models, about_turns, untold
from moot.trust.figures import provenance
from moot.trust.figures import section as figures_section

SPEAKERS = {"proposer": "Proposer", "skeptic": "Skeptic"}
REASONS = {
    "ready": "the skeptic found the answer ready",
    "no_grave_issues": "no critical and no major issue remained",
    "no_critical_issues": "no critical issue remained",
}


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
        say = self.say
        score = say("no score")
        if self.auto_score is not None:
            score = say("automatic score {score}/10", score=f"{self.auto_score:g}")
        return say(
            "{why} after {rounds}: {score}, {remaining}",
            why=why_ended(self.ended, say),
            rounds=say.count(sum(each.round > 0 for each in self.rounds), "1 round", "{n} rounds"),
            score=score,
            remaining=say.count(len(self.open_issues), "1 open issue", "{n} open issues"),
        )

    def begins(self) -> Told:
        """As a page begins with it: without the marks of a heading or a list, with which an answer may begin."""
        lines = (line for line in self.summary.splitlines() if line.strip() and not line.startswith("#"))
        return told(next(lines, "").strip().lstrip("*_>- ").replace("**", ""), self.lead)

    def listed(self) -> str:
        left = self.say.count(len(self.open_issues), "1 open issue", "{n} open issues")
        return " · ".join((self.begins().headline or "–", *([left] if self.open_issues else ())))

    def table(self) -> tuple[tuple[str, ...], ...]:
        say = self.say
        rows = (
            (str(each.round or say("final answer")), _score(each.score), str(each.raised), str(each.open))
            for each in self.rounds
        )
        return ((say("round"), say("score"), say("new issues"), say("open")), *rows)

    def document(self, record: Record, turns: Sequence[Turn]) -> str:
        return "\n\n".join([*_heading(self, record), *_body(self)]) + "\n"


def templates_of(turn: Turn | None) -> tuple[UsedTemplate, ...]:
    """What the library found, if it did."""
    found: Any = (turn.data or {}).get("templates") if turn else None
    return tuple(UsedTemplate.model_validate(each) for each in found or ())


def final_answer(
    debate: Debate[Any],
    answer: Turn,
    templates: Sequence[UsedTemplate],
    with_figures: bool = True,
    trust: Trust | None = None,
) -> FinalAnswer:
    turns, issues = debate.transcript, tracked(debate.transcript)
    reviewed = reviews(turns)
    scores = [each.score for each in reviewed]
    # A review of the final answer that could not be read takes nothing from the last critique.
    last = scores[-2] if len(scores) > 1 and scores[-1] is None and not reviewed[-1].round else [None, *scores][-1]
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
        caveats=untold(_caveats(debate, answer, issues, reviewed), trust),
        figures=provenance(debate, answer.content, SPEAKERS) if with_figures else [],
        language=debate.language.code,
        trust=trust,
    )


def described(issue: TrackedIssue, say: Language) -> str:
    """An issue in a line."""
    values = {"number": issue.number, "severity": severity_word(issue, say), "text": issue.text}
    line = say("issue {number} ({severity}): {text}", **values)
    if not issue.passage:
        return line
    return f"{line} “{issue.passage}”" + ("" if issue.quoted else say(" (these words do not stand in the proposal)"))


def status_word(issue: TrackedIssue, say: Language) -> str:
    return {"open": say("still open"), "answered": say("answered"), "withdrawn": say("withdrawn")}[issue.status]


def severity_word(issue: TrackedIssue, say: Language) -> str:
    return {"critical": say("critical"), "major": say("major"), "minor": say("minor")}[issue.severity]


def why_ended(ended: str, say: Language) -> str:
    known = {
        "ready": say("The skeptic found the answer ready"),
        "no_grave_issues": say("No critical and no major issue remained"),
        "no_critical_issues": say("No critical issue remained"),
        "max_rounds": say("All rounds were used"),
        "concluded": say("A person ended the rounds"),
    }
    return known.get(ended) or say("Ended by {limit}", limit=ended)


def _caveats(
    debate: Debate[Any], answer: Turn, issues: Sequence[TrackedIssue], reviewed: Sequence[Reviewed]
) -> Iterator[str]:
    say = debate.language
    if any("without:templates" in turn.marks for turn in debate.transcript):
        yield say("no reasoning templates could be retrieved: the proposer worked without them")
    in_rounds = [each for each in reviewed if each.round > 0]
    if unread := sum(each.score is None for each in in_rounds):
        critiques = say.count(len(in_rounds), "1 critique", "{n} critiques")
        told = {"unread": unread, "critiques": critiques}
        yield say("{unread} of {critiques} had no score that could be read, and decided nothing", **told)
    if reviewed and not reviewed[-1].round and reviewed[-1].score is None:
        yield say("the skeptic's review of the final answer could not be read: nobody has checked it")
    critical = sum(issue.severity == "critical" for issue in open_issues(issues))
    if critical:
        yield say.count(critical, "1 critical issue stayed open", "{n} critical issues stayed open")
    unexplained = sum(issue.status != "open" and issue.severity != "minor" and not issue.why for issue in issues)
    if unexplained and any("rulings" in (turn.data or {}) for turn in debate.transcript):  # version 1 had no reasons
        yield say.count(
            unexplained,
            "1 grave issue was closed by the skeptic without a reason",
            "{n} grave issues were closed by the skeptic without a reason",
        )
    last = reviewed[-1].score if reviewed else None
    if debate.stop_reason == "no_critical_issues" and last is not None and last < debate.settings.early_stop_score:
        yield say("the skeptic named nothing critical, but gave the answer only {score} of 10", score=f"{last:g}")
    invented = sum(bool(issue.passage) and not issue.quoted for issue in issues)
    if invented:
        values = {"invented": invented, "issues": say.count(len(issues), "1 issue", "{n} issues")}
        yield say("the quotes of {invented} of {issues} do not stand in the proposal", **values)
    yield from about_turns(debate, SPEAKERS, beside={"review", *CHECKS})
    if "truncated" in answer.marks:
        yield say("the answer ran into the output cap")
    yield from about_models(debate, "skeptic", {"proposer": "Proposer", "synthesizer": "Synthesizer"})


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
    yield f"# {in_title(question)}"
    yield f"**{in_line(outcome.headline())}**"
    if outcome.trust:
        yield f"{in_line(outcome.trust_text())}\n\n{bullets(outcome.trust.reasons)}"
    if len(question) > MAX_TITLE:
        yield f"## {outcome.say('Question')}\n\n{contained(record.topic, 2)}"


def _body(outcome: FinalAnswer) -> Iterator[str]:
    say = outcome.say
    yield f"## {say('Answer')}\n\n{contained(outcome.summary, 2)}"
    remaining = open_issues(outcome.issues)
    yield f"## {say('What stayed open')}\n\n{_listed(remaining, say) if remaining else say('Nothing.')}"
    settled = [issue for issue in outcome.issues if issue.status != "open"]
    if settled:
        yield f"## {say('What was settled')}\n\n{_listed(settled, say)}"
    yield f"## {say('Rounds')}\n\n{table_of(outcome.table())}"
    if outcome.templates:
        yield f"## {say('Templates')}\n\n{bullets(outcome.templates.values())}"
    if outcome.figures:
        yield figures_section(outcome.figures, say)
    if outcome.caveats:
        yield f"## {say('Before you trust it')}\n\n{bullets(outcome.caveats)}"


def _listed(issues: Sequence[TrackedIssue], say: Language) -> str:
    return "\n".join(line for issue in issues for line in _lines(issue, say))


def _lines(issue: TrackedIssue, say: Language) -> Iterator[str]:
    where = say("Round {round}", round=issue.raised) if issue.raised else say("On this answer")
    status = "" if issue.status == "open" else f", {status_word(issue, say)}"
    yield f"- {where}{status}, {in_line(described(issue, say))}"
    if issue.reply:
        yield "  - " + say("Reply in round {round}: {reply}", round=issue.replied, reply=in_line(issue.reply))
    if issue.why:
        yield "  - " + say("The skeptic: {why}", why=in_line(issue.why))
