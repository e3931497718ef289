"""A critique as an argument map: the answer, the proposals it came from, and the issues held against them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moot.core.debate import Turn
from moot.core.points import Point, speech_key
from moot.core.script import Debate
from moot.formats.critique.issues import CRITIQUES, TrackedIssue, tracked


def points(debate: Debate[Any]) -> Iterator[Point]:
    turns = debate.transcript
    proposals = {turn.round or 0: turn for turn in turns if turn.kind == "proposal"}
    critiques = {turn.round or 0: turn for turn in turns if turn.kind in CRITIQUES}
    for turn in turns:
        if turn.kind == "answer":
            yield Point("answer", turn.content, (turn.position,), title="Answer", claim=True)
    yield from (Point.spoken(turn, supports=["answer"]) for turn in proposals.values())
    for issue in tracked(turns):
        yield _raised(issue, proposals.get(issue.raised), critiques[issue.raised])
        if issue.reply:
            yield _reply(issue, proposals[issue.replied])


def _raised(issue: TrackedIssue, proposal: Turn | None, critique: Turn) -> Point:
    """An issue, held against a proposal or, from the last review, against the answer alone."""
    return Point(
        f"issue-{issue.number}",
        issue.text,
        (critique.position,),
        title=f"Issue {issue.number}",
        attacks=(*([speech_key(proposal)] if proposal else []), *(["answer"] if issue.status == "open" else [])),
        tags=(issue.severity, issue.status),
    )


def _reply(issue: TrackedIssue, proposal: Turn) -> Point:
    return Point(
        f"reply-{issue.number}",
        issue.reply,
        (proposal.position,),
        title=f"Reply to issue {issue.number}",
        attacks=(f"issue-{issue.number}",),
    )
