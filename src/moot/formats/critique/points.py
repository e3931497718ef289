"""A critique as an argument map and as a ledger: the answer, its proposals, and the issues held against them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from moot.core.claims import How, Ledger, Status
from moot.core.debate import Turn
from moot.core.points import Point, speech_key
from moot.core.script import Debate
from moot.formats.critique.issues import CRITIQUES, TrackedIssue, tracked
from moot.sources.quotes import contains
from moot.trust.claims import Made, of_forms


def points(debate: Debate[Any]) -> Iterator[Point]:
    turns = debate.transcript
    proposals = {turn.round or 0: turn for turn in turns if turn.kind == "proposal"}
    made = {each.key: each for each in _made(turns)}
    for turn in turns:
        if turn.kind == "answer":
            yield Point("answer", turn.content, (turn.position,), title="Answer", claim=True)
    yield from (Point.spoken(turn, supports=["answer"]) for turn in proposals.values())
    for issue in tracked(turns):
        yield _raised(issue, proposals.get(issue.raised), made[f"issue-{issue.number}"])
        if issue.reply:
            yield made[f"reply-{issue.number}"].point(f"Reply to issue {issue.number}")


def _raised(issue: TrackedIssue, proposal: Turn | None, made: Made) -> Point:
    """An issue, held against a proposal or, from the last review, against the answer alone."""
    against = (*([speech_key(proposal)] if proposal else []), *(["answer"] if issue.status == "open" else []))
    point = made.point(f"Issue {issue.number}")
    return replace(point, attacks=against, tags=(issue.severity, *point.tags))


def claims(debate: Debate[Any]) -> Ledger:
    """The skeptic's issues and the proposer's replies, as they ended; a ledger needs no scribe for them."""
    return of_forms(_made(debate.transcript))


def _made(turns: Sequence[Turn]) -> Iterator[Made]:
    proposals = {turn.round or 0: turn for turn in turns if turn.kind == "proposal"}
    critiques = {turn.round or 0: turn for turn in turns if turn.kind in CRITIQUES}
    for issue in tracked(turns):
        raised = critiques[issue.raised]
        heard = any(turn.position > raised.position and turn.seat != raised.seat for turn in turns)
        key = f"issue-{issue.number}"
        quote = issue.text if contains(issue.text, raised.content) else ""
        yield Made(key, raised, issue.text, _end(issue, heard), quote=quote)
        if issue.reply:
            how: How = "concedes" if issue.conceded else "attacks"
            yield Made(
                f"reply-{issue.number}", proposals[issue.replied], issue.reply, _end_of_reply(issue), ((how, key),)
            )


def _end_of_reply(issue: TrackedIssue) -> Status:
    if issue.conceded:
        return "gives way"
    if issue.upheld >= issue.replied:  # whatever the final answer has mended since
        return "contested"
    return "untested" if issue.status == "open" else "standing"


def _end(issue: TrackedIssue, heard: bool) -> Status:
    if issue.status != "open":
        return issue.status
    if issue.conceded:
        return "conceded"
    if issue.reply:
        return "standing" if issue.upheld >= issue.replied else "contested"
    return "unanswered" if heard else "untested"
