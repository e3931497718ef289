"""The library in a seat: it hands out reasoning templates, or passages of the sources, and compares meanings.

A search that fails is told and marked, and the debate goes on without it, unless the step says otherwise.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from moot.core.debate import JsonObject, Step
from moot.core.engine import PlayerReply
from moot.core.script import Debate
from moot.core.turn_writer import TurnWriter
from moot.errors import InvalidInput, MootError
from moot.retrieval.library import Found, Library, names
from moot.retrieval.search import Excerpt
from moot.trust.novelty import MEANS_THE_SAME

log = logging.getLogger(__name__)


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


class LibraryPlayer:
    def __init__(self, library: Library) -> None:
        self._library = library
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
        except (MootError, OSError, ValueError, RuntimeError, ImportError) as error:
            if strict:
                raise
            log.warning("%s: the library failed: %s", debate.id, error)
            told = f"The library could not be searched: {error}"
            reply = PlayerReply(told, {step.kind: []}, marks=(f"without:{step.kind}",))
        voice.say(reply.content)
        return reply

    async def _templates(self, query: str, top_k: int) -> PlayerReply:
        found = await self._library.find(query, top_k)
        embedder = await self._library.embedder()
        data: JsonObject = {
            "templates": [_handed(each) for each in found],
            "embedder": embedder.name,
        }
        return PlayerReply(names(found) or "No template suits this question.", data)

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
