"""A person's words to a debate: the answer to what it asks, or what they say of their own accord."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from moot.app.app import App
from moot.app.words import check_name, check_words
from moot.core.debate import HumanReply, Record, Status
from moot.core.replay import next_steps
from moot.errors import InvalidInput, WrongStatus
from moot.formats import of_record


class Replied(NamedTuple):
    """A debate that has heard somebody, and their words as they are kept; `end` keeps none."""

    record: Record
    words: HumanReply | None


async def reply(app: App, debate_id: str, said: HumanReply) -> Replied:
    """See `App.reply`."""
    words = await _say(app, debate_id, said)
    record = (await app.load(debate_id)).record
    heard_later = words is not None and words.position is None
    return Replied(record if heard_later else await app.go_on(record), words)


async def _say(app: App, debate_id: str, said: HumanReply) -> HumanReply | None:
    """The words as they are kept; `end` keeps none. With a position they are an answer and heard as nothing else."""
    store, (record, turns, *_) = app.store, await app.load(debate_id)
    if said.position not in (None, len(turns)):
        raise WrongStatus(f"{debate_id} does not ask at position {said.position}, but is at {len(turns)}; read on")
    said = replace(said, text=check_words(said.action, said.text), position=None, who=check_name(said.who))
    if record.status is Status.FINISHED:
        raise WrongStatus(f"{debate_id} is finished; what you say cannot be heard any more")
    steps = next_steps(record, turns, of_record(app.formats, record))
    if question := next((step.question for step in steps if step.question), None):
        if said.action not in question.actions:
            raise InvalidInput(f"{debate_id} waits for one of: {', '.join(question.actions)}; not {said.action!r}")
        return await store.say(debate_id, replace(said, position=len(turns)))
    if said.action == "guide":
        return await store.say(debate_id, said)
    if said.action == "end":
        await store.ask_to_conclude(debate_id)
        return None
    raise WrongStatus(f"{debate_id} asks nothing now, so it takes only `guide` and `end`; not {said.action!r}")
