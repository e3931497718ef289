"""The next steps of an outcome as a list that people tick, whoever of them does a step."""

from __future__ import annotations

from moot.app.app import App
from moot.app.words import check_name
from moot.core.debate import Tick
from moot.errors import InvalidInput, WrongStatus
from moot.text.plain import shortened


async def tick(app: App, debate_id: str, step: int, done: bool, who: str = "") -> Tick:
    """Note whether a next step, counted from 0, is done; the latest word on it counts."""
    outcome = (await app.read(debate_id)).outcome
    if outcome is None:
        raise WrongStatus(f"{debate_id} has no outcome yet, so there are no next steps to tick")
    steps = len(outcome.todo())
    if not 0 <= step < steps:
        known = f"tick one from 0 to {steps - 1}" if steps else "its outcome names none"
        raise InvalidInput(f"{debate_id} has no next step {shortened(str(step), 20)}; {known}")
    return await app.store.tick(debate_id, Tick(step, done, check_name(who)))
