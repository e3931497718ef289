"""What was told of a debate while somebody could listen: frames in the order of their ids, each encoded once.

Knows no connection and no store; whoever has events of a debate, of this process or another, appends them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

from moot.core.debate import Record, Status
from moot.core.events import (
    EVENTS_PER_RUN,
    Event,
    StepRetrying,
    TurnChunk,
    TurnFinished,
    TurnStarted,
    encode,
)

MAX_KEPT = 4_000_000
"""Bytes; beyond them the older half goes, and who needs that is told the stored turns instead."""

Kind: TypeAlias = Literal["said", "told", "waiting", "end"]


class Frame(NamedTuple):
    """An event as it goes over the wire; `said` is what a finished turn makes superfluous."""

    id: int
    data: bytes
    kind: Kind
    speech: int = 0
    """Of what is said: the id under which that attempt at a turn began."""

    @property
    def run(self) -> int:
        return self.id // EVENTS_PER_RUN


class _Speaking(NamedTuple):
    """A turn in progress."""

    started: Frame
    chunks: list[TurnChunk]
    retries: list[StepRetrying]
    """That nothing is said now, and why: at most one."""


class Missed(NamedTuple):
    """What a reader has missed; `over` when there is nothing to wait for after it."""

    frames: Sequence[Frame]
    over: bool


KINDS: dict[str, Kind] = {
    "turn_started": "said",
    "turn_chunk": "said",
    "step_retrying": "said",
    "waiting": "waiting",
    "debate_finished": "end",
    "debate_stopped": "end",
    "debate_failed": "end",
}


WIRE = b"id: %d\nevent: %s\ndata: %s\n\n"


def frame(event: Event, speech: int = 0) -> Frame:
    data = WIRE % (event.id, event.type.encode(), encode(event))
    return Frame(event.id, data, KINDS.get(event.type, "told"), speech)


class Log:
    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.dropped = 0
        """How many frames from the beginning are not kept any more."""
        self.written = 0
        """Bytes of all frames there ever were."""
        self._kept = 0
        self.last_id = -1
        self._speaking: dict[int, _Speaking] = {}
        self._joined: tuple[int, int, bytes] = (0, 0, b"")

    def append(self, event: Event) -> bool:
        """False for what was told before."""
        if event.id <= self.last_id:
            return False
        if isinstance(event, TurnChunk):  # not by `frame`: this happens for every token
            speaking = self._speaking.get(event.position)
            speech = speaking.started.id if speaking else event.id
            new = Frame(event.id, WIRE % (event.id, b"turn_chunk", encode(event)), "said", speech)
            if speaking is None:  # its beginning was not heard
                speaking = self._speaking[event.position] = _Speaking(new, [], [])
            speaking.retries.clear()
            if event.offset == 0:  # perhaps all of it is told again
                speaking.chunks.clear()
            speaking.chunks.append(event)
        else:
            new = self._noted(event)
        self.frames.append(new)
        self.last_id = new.id
        self.written += len(new.data)
        self._kept += len(new.data)
        if self._kept > MAX_KEPT:
            self._drop_older_half()
        return True

    @property
    def end(self) -> int:
        """The place behind the last frame."""
        return self.dropped + len(self.frames)

    @property
    def over(self) -> bool:
        return bool(self.frames) and self.frames[-1].kind in ("waiting", "end")

    @property
    def retries(self) -> list[StepRetrying]:
        """The turns that wait to be tried again."""
        return [each for turn in self._speaking.values() for each in turn.retries]

    def joined(self, start: int) -> bytes:
        """All bytes from a place on; most readers are at the same one."""
        if self._joined[:2] != (start, self.end):
            data = b"".join(frame.data for frame in self.frames[start - self.dropped :])
            self._joined = (start, self.end, data)
        return self._joined[2]

    def missed(self, after: int, record: Record, stored: Iterable[Event], follow: bool) -> Missed:
        """What a reader has missed who has seen all up to an id, the debate and its events being stored like this.

        Who saw something of what is kept here gets all the rest; everyone else what lasts, and the text so far of
        the turns in progress.
        """
        kept = [frame(event) for event in stored]
        if self.frames and self.frames[-1].run > record.run:
            kept = [each for each in kept if each.kind == "told"]  # it has gone on since it was read
        if self.frames and after >= self.frames[0].id:
            frames = [*self._rest(after), *(each for each in kept if each.id > max(after, self.last_id))]
        else:
            frames = self._text_so_far([*kept, *self._lasting(record)], after)
        current = [*kept[-1:], *self._lasting(record)[-1:]]
        for number, each in enumerate(frames, 1):
            if ends(each, follow):
                return Missed(frames[:number], over=True)
        return Missed(frames, over=any(ends(each, follow) for each in current))

    def _rest(self, after: int) -> list[Frame]:
        """All frames after one, but none of a turn that is over and whose beginning the reader may not have heard.

        Who joined late did not hear the beginning of turns that were over by then, and may have been cut off at a
        frame of a turn that was spoken at the same time.
        """
        at = bisect_right(self.frames, after, key=lambda frame: frame.id)
        heard = {turn.started.id for turn in self._speaking.values()}
        if at and self.frames[at - 1].id == after:
            heard.add(self.frames[at - 1].speech)
        return [each for each in self.frames[at:] if each.kind != "said" or each.speech > after or each.speech in heard]

    def _lasting(self, record: Record) -> list[Frame]:
        """What is worth telling later; of the endings only the one that the debate has not gone on from."""
        lasting = [each for each in self.frames if each.kind == "told"]
        if self.over:
            last, gone_on = self.frames[-1], record.status in (Status.QUEUED, Status.CREATED)
            if last.run > record.run or (last.run == record.run and not gone_on):
                lasting.append(last)
        return lasting

    def _text_so_far(self, lasting: Iterable[Frame], after: int) -> list[Frame]:
        """What lasts and each turn in progress from its start, in the order of the ids.

        Chunks are put together where nothing else is told in between, so that whoever has heard up to any of these
        frames has heard all text up to it.
        """
        told: dict[int, Frame | TurnChunk] = {each.id: each for each in lasting}
        for turn in self._speaking.values():
            retries = [frame(each, turn.started.id) for each in turn.retries]
            told |= {each.id: each for each in (turn.started, *retries)} | {each.id: each for each in turn.chunks}
        missed = [told[id] for id in sorted(told) if id > after]
        return [whole for _, group in groupby(missed, key=_speaker) for whole in _put_together(list(group))]

    def _noted(self, event: Event) -> Frame:
        new = frame(event, event.id if isinstance(event, TurnStarted) else 0)
        if isinstance(event, TurnStarted):
            self._speaking[event.position] = _Speaking(new, [], [])
        elif isinstance(event, StepRetrying) and (speaking := self._speaking.get(event.position)):
            new = new._replace(speech=speaking.started.id)
            speaking.retries[:] = [event]
        elif isinstance(event, TurnFinished):
            self._speaking.pop(event.position, None)
        elif new.kind in ("waiting", "end") or event.type == "debate_started":
            self._speaking.clear()
        return new

    def _drop_older_half(self) -> None:
        number = 0
        while self._kept > MAX_KEPT // 2 and number < len(self.frames) - 1:
            self._kept -= len(self.frames[number].data)
            number += 1
        del self.frames[:number]
        self.dropped += number


def _speaker(told: Frame | TurnChunk) -> int | None:
    return told.position if isinstance(told, TurnChunk) else None


def _put_together(told: Sequence[Frame | TurnChunk]) -> list[Frame]:
    """Frames as they are; the chunks of one turn as one frame, under the id of the last."""
    chunks = [each for each in told if isinstance(each, TurnChunk)]
    if not chunks:
        return [each for each in told if isinstance(each, Frame)]
    text = "".join(chunk.text for chunk in chunks)
    return [frame(replace(chunks[-1], offset=chunks[0].offset, text=text))]


def ends(frame: Frame, follow: bool) -> bool:
    """Whether a reader who may `follow` through waits has nothing to wait for after it."""
    return frame.kind == "end" or (frame.kind == "waiting" and not follow)
