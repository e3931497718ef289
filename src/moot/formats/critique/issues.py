"""The skeptic's issues over a whole debate: numbered, followed and counted by code, from the turns alone.

    open ──> answered     the skeptic said so, by number; whatever it does not mention stays open
    open ──> withdrawn    the skeptic said so, by number; it stays withdrawn
    answered ──> open     the skeptic upheld it, by number, or raised it again word for word
    answered ──> withdrawn

A proposal changes no status, whatever it says: only the skeptic's form does. The skeptic reads the final answer too;
what it holds against that has the round 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from moot.core.debate import Turn
from moot.formats.critique.answers import Critique, Proposal, Raised, Reply, Severity
from moot.formats.critique.version_1 import Critique as FirstCritique
from moot.formats.critique.version_1 import replies
from moot.sources.quotes import contains, words

Status = Literal["open", "answered", "withdrawn"]
AnyCritique: TypeAlias = Critique | FirstCritique
CRITIQUES = ("critique", "review")
"""What the skeptic writes: on a proposal, and on the final answer."""
GRAVE = ("critical", "major")
WEIGHTS: dict[Severity, float] = {"critical": 3.0, "major": 1.0, "minor": 0.25}
"""What an issue that stayed open takes off the automatic score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedIssue:
    """One thing the skeptic holds against the answer."""

    number: int
    severity: Severity
    text: str
    passage: str
    quoted: bool
    """Whether the passage stands in the proposal, word for word."""
    raised: int
    """The round in which it came up."""
    upheld: int
    """The last round in which the skeptic held on to it."""
    status: Status = "open"
    reply: str = ""
    replied: int = 0
    """The round of the proposer's last reply; 0 when there was none."""
    conceded: bool = False
    """Whether that reply grants it."""
    why: str = ""
    """The skeptic's reason for what became of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """One round in numbers, as it stood after its critique."""

    round: int
    """0 for the review of the final answer."""
    score: float | None
    ready: bool
    raised: int
    open: int


def tracked(turns: Iterable[Turn]) -> tuple[TrackedIssue, ...]:
    """All issues in the order of their numbers, as they stand after these turns."""
    followed = [issues for _, issues in _followed(turns)]
    return followed[-1] if followed else ()


def _followed(turns: Iterable[Turn]) -> Iterator[tuple[Turn, tuple[TrackedIssue, ...]]]:
    """Each turn, and the issues as they stand after it."""
    issues: tuple[TrackedIssue, ...] = ()
    proposal = ""
    for turn in turns:
        if turn.kind in ("proposal", "answer"):
            proposal = turn.content
            issues = replied(issues, turn)
        elif turn.kind in CRITIQUES:
            issues = judged(issues, critique_of(turn), proposal, turn.round or 0)
        yield turn, issues


def replied(issues: Sequence[TrackedIssue], proposal: Turn) -> tuple[TrackedIssue, ...]:
    """The issues with what a proposal replies to those that are open; the final answer mends, and replies to none."""
    if proposal.kind == "answer":
        return tuple(issues)
    if proposal.data:
        found = {each.issue: each for each in Proposal.model_validate(proposal.data).replies}
    else:
        found = {issue: Reply(issue=issue, reply=reply) for issue, reply in replies(proposal.content).items()}
    round = proposal.round or 0
    return tuple(
        replace(issue, reply=reply.reply, replied=round, conceded=reply.concedes)
        if (reply := found.get(issue.number)) and _answers(reply, issue)
        else issue
        for issue in issues
    )


def judged(
    issues: Sequence[TrackedIssue], critique: AnyCritique, proposal: str, round: int
) -> tuple[TrackedIssue, ...]:
    """The issues after a critique of this proposal, with the new ones at the end."""
    held = {_key(issue.text): issue.number for issue in issues if issue.status != "withdrawn"}
    again = {held[_key(raised.text)]: raised for raised in critique.issues if _key(raised.text) in held}
    new: dict[str, Raised] = {}
    for raised in critique.issues:
        if _key(raised.text) not in held:
            new.setdefault(_key(raised.text), raised)
    return (
        *(_settled(issue, critique, again.get(issue.number), round) for issue in issues),
        *_numbered(new.values(), len(issues), proposal, round),
    )


def open_issues(issues: Iterable[TrackedIssue]) -> tuple[TrackedIssue, ...]:
    return tuple(issue for issue in issues if issue.status == "open")


def critique_of(turn: Turn) -> AnyCritique:
    form = Critique if "rulings" in (turn.data or {}) else FirstCritique
    return form.model_validate(turn.data)


def reviews(turns: Sequence[Turn]) -> tuple[Reviewed, ...]:
    return tuple(_reviewed(turn, issues) for turn, issues in _followed(turns) if turn.kind in CRITIQUES)


def reason_to_end(
    critique: AnyCritique, issues: Iterable[TrackedIssue], round: int, *, min_rounds: int, early_stop_score: float
) -> str | None:
    """Why the rounds should end after this critique, which left these issues, if they should."""
    if round < min_rounds or critique.score is None:
        return None
    if critique.ready and critique.score >= early_stop_score:
        return "ready"
    open_now = {issue.severity for issue in open_issues(issues)}
    if isinstance(critique, FirstCritique):
        return None if "critical" in open_now else "no_critical_issues"
    return "no_grave_issues" if critique.ready and not open_now & set(GRAVE) else None


def auto_score(score: float | None, issues: Iterable[TrackedIssue]) -> float | None:
    """The skeptic's last score less the weight of what stayed open; None when there is no such score."""
    if score is None:
        return None
    return round(max(0.0, score - sum(WEIGHTS[issue.severity] for issue in open_issues(issues))), 2)


def _settled(issue: TrackedIssue, critique: AnyCritique, again: Raised | None, round: int) -> TrackedIssue:
    """An issue after a critique."""
    if issue.status == "withdrawn":
        return issue
    ruling = critique.ruling(issue.number, replied=issue.replied > issue.upheld)
    if ruling and ruling.status != "upheld" and not again:
        return replace(issue, status=ruling.status, why=ruling.why)
    if again or ruling:
        severity, why = again.severity if again else issue.severity, ruling.why if ruling else ""
        return replace(issue, status="open", upheld=round or issue.upheld, severity=severity, why=why)
    return issue


def _numbered(new: Iterable[Raised], known: int, proposal: str, round: int) -> Iterator[TrackedIssue]:
    for number, raised in enumerate(new, known + 1):
        quoted = contains(raised.passage, proposal)
        yield TrackedIssue(number=number, **raised.model_dump(), quoted=quoted, raised=round, upheld=round)


def _answers(reply: Reply, issue: TrackedIssue) -> bool:
    """Whether it says more to an open issue than an echo of it."""
    said = words(reply.reply)
    return issue.status == "open" and bool(said) and said not in words(f"{issue.text} {issue.passage}")


def _key(text: str) -> str:
    """Issues with the same words are the same."""
    return words(text) or text


def _reviewed(turn: Turn, issues: Sequence[TrackedIssue]) -> Reviewed:
    critique, round = critique_of(turn), turn.round or 0
    raised = sum(issue.raised == round for issue in issues)
    return Reviewed(
        round=round, score=critique.score, ready=critique.ready, raised=raised, open=len(open_issues(issues))
    )
