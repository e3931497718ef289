"""The library in a seat: it hands out reasoning templates, or passages of the sources, and compares meanings.

A search that fails is told and marked, and the debate goes on without it, unless the step says otherwise.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from moot.core.debate import NO_USAGE, JsonObject, Step
from moot.core.engine import PlayerReply
from moot.core.script import Debate
from moot.core.turn_writer import TurnWriter
from moot.errors import InvalidInput, MootError
from moot.llm.client import Client, Completion, Message, Request
from moot.llm.recording import Recorder, Recording
from moot.retrieval.library import Found, Library
from moot.retrieval.search import Excerpt
from moot.trust.novelty import MEANS_THE_SAME

log = logging.getLogger(__name__)
FAULTS = (MootError, OSError, ValueError, RuntimeError, ImportError)
"""What a search can fail with."""
RECORDED = "library"
"""Under this name a recording keeps which templates were handed out: other versions of moot may find others."""


def longest_templates(library: Library) -> Sequence[JsonObject]:
    """All that could be handed out, the longest first; none where they cannot be read."""
    try:
        known = library.templates().values()
    except (MootError, OSError):
        return ()
    return [_handed(Found(each, 1.0)) for each in sorted(known, key=lambda each: -len(each.title + each.text))]


def _handed(found: Found) -> JsonObject:
    name, title, text = found.template.name, found.template.title, found.template.text
    return {"name": name, "title": title, "score": round(found.score, 4), "text": text}


@dataclass(frozen=True, slots=True)
class _TemplateSearch:
    """The search for templates behind the port of models, so that recordings keep what it finds."""

    library: Library

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        query, top_k = orjson.loads(request.messages[0].content)
        found = [_handed(each) for each in await self.library.find(query, top_k)]
        answer = {"templates": found, "embedder": (await self.library.embedder()).name}
        return Completion(text=orjson.dumps(answer).decode(), finish_reason="stop", usage=NO_USAGE)


def _taped(search: Client, tape: Recorder | Recording | None) -> Client:
    """One recorded by an earlier moot has no templates: they are searched for."""
    if isinstance(tape, Recording):
        return tape.client(RECORDED) if RECORDED in tape.providers else search
    return tape.wrap(RECORDED, search) if tape else search


class LibraryPlayer:
    def __init__(self, library: Library, tape: Recorder | Recording | None = None) -> None:
        self._library = library
        self._search = _taped(_TemplateSearch(library), tape)
        self._kinds: Mapping[str, Callable[..., Awaitable[PlayerReply]]] = {
            "templates": self._templates,
            "passages": self._passages,
            "evidence": self._evidence,
            "repeats": self._repeats,
        }

    async def play(self, debate: Debate[Any], step: Step, voice: TurnWriter) -> PlayerReply:
        if step.kind not in self._kinds:
            raise InvalidInput(f"the library knows {', '.join(self._kinds)}; not {step.kind!r}")
        asked = dict(step.variables)
        strict = asked.pop("strict", False)
        try:
            reply = await self._kinds[step.kind](**asked)
        except FAULTS as error:
            if strict:
                raise
            log.warning("%s: the library failed: %s", debate.id, error)
            told = f"The library could not be searched: {error}"
            reply = PlayerReply(told, {step.kind: []}, marks=(f"without:{step.kind}",))
        voice.say(reply.content)
        return reply

    async def _templates(self, query: str, top_k: int) -> PlayerReply:
        asked = (Message("user", orjson.dumps([query, top_k]).decode()),)
        request = Request(model="templates", messages=asked, max_tokens=0, temperature=0.0)
        said = await self._search.complete(request, lambda text: None)
        data = orjson.loads(said.text)
        titles = ", ".join(each["title"] for each in data["templates"])
        return PlayerReply(titles or "No template suits this question.", data)

    async def _passages(self, queries: Mapping[str, str], texts: Mapping[str, str], top_k: int) -> PlayerReply:
        """For each seat the passages of the sources that its query finds."""
        found: JsonObject = {}
        number = 0
        for seat, query in queries.items():
            excerpts = await self._library.excerpts(texts, query, top_k)
            found[seat] = [{"tag": excerpt.tag, "text": excerpt.text} for excerpt in excerpts]
            number += len(excerpts)
        return PlayerReply(f"{number} passages found for {len(queries)} debaters.", {"passages": found})

    async def _evidence(
        self,
        texts: Mapping[str, str],
        queries: Mapping[str, Sequence[str]],
        characters: int,
        had: Mapping[str, Collection[str]] | None = None,
    ) -> PlayerReply:
        """For each seat what its own queries find, and never again what it has had, by the ids of earlier turns."""
        found = await self._library.evidence(texts, queries, had or {}, characters)
        embedder = await self._library.embedder()
        data: JsonObject = {
            "evidence": {seat: [handed_out(each) for each in given] for seat, given in found.passages.items()},
            "total": found.total,
            "embedder": embedder.name,
        }
        number = sum(map(len, found.passages.values()))
        told = f"{number} of {found.total} passages of the sources handed out."
        return PlayerReply(told, data)

    async def _repeats(self, said: Mapping[str, Sequence[str]], before: Mapping[str, Sequence[str]]) -> PlayerReply:
        """For each seat the share of its sentences that mean what it said before."""
        shares = {seat: round(await self._library.repeated(told, before[seat]), 2) for seat, told in said.items()}
        number = sum(share >= MEANS_THE_SAME for share in shares.values())
        told = f"{number} of {len(shares)} debaters repeat in meaning what they said before."
        return PlayerReply(told, {"repeats": dict(shares)})


def handed_out(excerpt: Excerpt) -> JsonObject:
    return {
        "id": excerpt.id,
        "tag": excerpt.tag,
        "cited": excerpt.cited,
        "page": excerpt.page,
        "headings": list(excerpt.headings),
        "text": excerpt.text,
    }
