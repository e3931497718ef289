"""Words that every reader of a debate meets: titles, reasons, numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot.core.record import Status
from moot.core.record import short_model as short_model
from moot.core.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moot.core.events import StepRetrying, TurnFinished, TurnStarted
    from moot.core.format import AnyFormat
    from moot.core.notices import Notice
    from moot.core.people import Action

YOU = "You"
"""How a person is called who reads their own words."""
STATUS_TEXTS = {
    Status.CREATED: "not started",
    Status.QUEUED: "queued",
    Status.RUNNING: "live",
    Status.WAITING: "waiting for you",
    Status.STOPPING: "finishing this turn",
    Status.STOPPED: "stopped",
    Status.FINISHED: "finished",
    Status.FAILED: "failed",
}

ACTIONS: Mapping[Action, str] = {
    "continue": "Continue",
    "guide": "Add guidance",
    "end": "End & synthesize",
    "answer": "Answer",
    "approve": "Approve",
    "reject": "Reject",
}


def notice_text(notice: Notice) -> str:
    """What became of a notice, in a line."""
    attempts = f" ({notice.attempts} attempt{'s' if notice.attempts > 1 else ''})" if notice.attempts else ""
    state = "told" if notice.delivered_at else "will be told" if notice.next_at else "not told"
    result = f": {notice.result}" if notice.result else ""
    return f"Webhook {notice.hook}, {notice.event} of run {notice.run}: {state}{attempts}{result}"


def cost_text(usage: Usage) -> str:
    return "unknown" if usage.cost is None else f"${usage.cost:.4f}" if usage.cost else "$0"


def is_speech(format: AnyFormat, turn: TurnFinished) -> bool:
    """Whether a turn is shown as one; the clock, and a person who concludes or lets it go on, say nothing."""
    if turn.seat == "human":
        return bool(turn.content) and turn.kind != "conclude"
    from moot.core.research import RESEARCHER

    return any(seat.name == turn.seat for seat in (*format.seats, RESEARCHER))


def chosen(turn: TurnFinished, format: AnyFormat) -> str:
    """What a person answered without a word of their own; empty where there are words, or it is nobody's answer."""
    action = (turn.data or {}).get("action")
    if turn.seat != "human" or turn.content or action not in ACTIONS:
        return ""
    return format.actions.get(action) or ACTIONS[action].lower()  # type: ignore[call-overload, index]


def retry_text(event: StepRetrying) -> str:
    """Why nothing is said, in the provider's words, and when it is asked again."""
    when = f"in {event.seconds:.0f} s" if event.seconds >= 1 else "now"
    return f"{title_of(event)}: {event.error}; attempt {event.attempt} of {event.attempts} {when}"


def title_of(event: TurnStarted | TurnFinished | StepRetrying) -> str:
    """Who speaks; a person whose name is not known is the reader."""
    from moot.core.events import TurnFinished

    named = isinstance(event, TurnFinished) and (event.data or {}).get("who")
    return YOU if event.seat == "human" and not named else event.title
