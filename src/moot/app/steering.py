"""What people ask of a debate that a queue runs: to stop, to conclude, or to hear their words and go on."""

from __future__ import annotations

from moot.app.app import App
from moot.core.debate import Action, Record, Status
from moot.errors import WrongStatus
from moot.runs.queue import Queue


async def stop(app: App, debate_id: str) -> Record:
    """Let the step in progress end, then nothing more."""
    record = await app.stop(debate_id)
    if record.status in (Status.FINISHED, Status.FAILED):
        raise WrongStatus(f"{debate_id} is {record.status}; there is nothing to stop")
    return record


async def conclude(app: App, queue: Queue, debate_id: str) -> Record:
    """Go on to the closing; a debate that waits is answered so, if it takes that for an answer."""
    record = (await app.load(debate_id)).record
    if record.status in (Status.FINISHED, Status.CREATED):
        raise WrongStatus(f"{debate_id} is {record.status}; there is nothing to conclude")
    asked = await app.question(debate_id)
    if asked and "end" in asked.actions:
        return await answer(app, queue, debate_id, "end")
    return await _go_on(queue, await app.conclude(debate_id))


async def answer(
    app: App, queue: Queue, debate_id: str, action: Action, text: str = "", position: int | None = None
) -> Record:
    """A person's words; a debate that was waiting for them goes on."""
    said = await app.reply(debate_id, action, text, position)
    record = (await app.load(debate_id)).record
    heard_later = said is not None and said.position is None
    return record if heard_later else await _go_on(queue, record)


async def _go_on(queue: Queue, record: Record) -> Record:
    """Run a debate that nothing holds up any more; one that runs, or still waits, is left as it is."""
    if record.status not in (Status.QUEUED, Status.WAITING, Status.STOPPED, Status.FAILED):
        return record
    try:
        return await queue.enqueue(record.id)
    except WrongStatus:
        return record
