"""An outcome made into an issue, once, and handed over until that has succeeded."""

from __future__ import annotations

from dataclasses import replace

from moot.app.app import App
from moot.app.words import new_id
from moot.core.debate import Workflow
from moot.delivery.issues import hand_over, hand_over_due, longest_seconds
from moot.errors import InvalidInput
from moot.reading.unreadable import UNREADABLE, UnreadableOutcome


async def make(app: App, debate_id: str) -> Workflow:
    reading, store, settings = await app.read(debate_id), app.store, app.settings.workflow
    outcome = reading.outcome
    if isinstance(outcome, UnreadableOutcome):
        raise InvalidInput(f"no workflow can be made of {debate_id}: {UNREADABLE}")
    issue = outcome.issue(reading.record) if outcome else None
    if issue is None:
        raise InvalidInput(f"{debate_id} has no decision to make a workflow of")
    new = Workflow(id=new_id("WFL"), title=issue.title, body=issue.body)
    made = await store.add_workflow(debate_id, new, longest_seconds(settings) if settings else None)
    if made.delivered:
        return made
    if settings is None:
        return replace(made, result="kept in moot; name a file, command or webhook under `workflow` in moot.yaml")
    if made.id == new.id:
        return await hand_over(store, debate_id, made, settings, app.environ)
    already = replace(made, result="it is being handed over already; look again in a while")
    return await hand_over_due(store, settings, app.environ, debate_id) or already
