"""Passages of sources found for a query by words (BM25) and by meaning (vectors) together.

Building and asking take time in proportion to the sources, and happen off the event loop.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from moot.retrieval.embed import Embedder, Vectors
from moot.sources.passages import cut
from moot.sources.quotes import words

SATURATION, LENGTH = 1.2, 0.75
"""BM25's k1 and b, as everybody sets them."""
RANK = 5
"""How little the first ranks differ from those after them when two rankings are added."""


STEM = 6
"""Letters."""
MAX_HEADING = 80
"""Characters of a heading by which a passage is cited."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage of a source, by the source's tag; the id is the same whenever the same sources are cut."""

    tag: str
    text: str
    id: str = ""
    page: int | None = None
    headings: tuple[str, ...] = ()

    @property
    def cited(self) -> str:
        """How a speaker cites it: S3 p. 12, S3 § Results, or S3."""
        if self.page is not None:
            return f"{self.tag} p. {self.page}"
        heading = " ".join(re.sub(r"[\[\]]", " ", self.headings[-1] if self.headings else "").split())[:MAX_HEADING]
        return f"{self.tag} § {heading}" if heading else self.tag


class SourceIndex:
    """The passages of some texts, by tag; made by `indexed`."""

    def __init__(self, excerpts: Sequence[Excerpt]) -> None:
        self.excerpts = excerpts
        counts = [Counter(_stems(_searched(each))) for each in excerpts]
        lengths = [count.total() for count in counts]
        usual = sum(lengths) / max(1, len(lengths)) or 1.0
        self._weights: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for at, count in enumerate(counts):
            damped = SATURATION * (1 - LENGTH + LENGTH * lengths[at] / usual)
            for word, times in count.items():
                self._weights[word].append((at, times * (SATURATION + 1) / (times + damped)))

    def by_words(self, query: str) -> list[float]:
        scores = [0.0] * len(self.excerpts)
        for word in set(_stems(query)) & self._weights.keys():
            found = self._weights[word]
            rare = math.log(1 + (len(scores) - len(found) + 0.5) / (len(found) + 0.5))
            for at, weight in found:
                scores[at] += rare * weight
        return scores


@dataclass(frozen=True, slots=True)
class Search:
    """An index with the vectors of its passages."""

    index: SourceIndex
    vectors: Vectors
    embedder: Embedder

    async def best(
        self, queries: Sequence[str], characters: int, without: Collection[str] = (), at_most: int | None = None
    ) -> tuple[Excerpt, ...]:
        """What suits the queries best and fits, in the order of the sources; nothing whose id is in `without`."""
        asked = [query for query in queries if query.strip()]
        if not asked or not self.index.excerpts:
            return ()
        wanted = await self.embedder.embed(asked, "query")
        return await asyncio.to_thread(self._best, asked, wanted, characters, frozenset(without), at_most)

    def _best(
        self, queries: Sequence[str], wanted: Vectors, left: int, without: Collection[str], at_most: int | None
    ) -> tuple[Excerpt, ...]:
        by_meaning = (wanted @ self.vectors.T).tolist()
        chosen: list[int] = []
        for at in _fused([*map(self.index.by_words, queries), *by_meaning]):
            excerpt = self.index.excerpts[at]
            if excerpt.id not in without and len(excerpt.text) <= left:
                left -= len(excerpt.text)
                chosen.append(at)
        return tuple(self.index.excerpts[at] for at in sorted(chosen[:at_most]))


async def indexed(embedder: Embedder, texts: Mapping[str, str]) -> Search:
    excerpts = await asyncio.to_thread(excerpts_of, texts)
    vectors = await embedder.embed([_searched(each) for each in excerpts], "document")
    return Search(await asyncio.to_thread(SourceIndex, excerpts), vectors, embedder)


def excerpts_of(texts: Mapping[str, str]) -> tuple[Excerpt, ...]:
    return tuple(
        Excerpt(tag, each.whole, f"{tag}:{each.start}", each.page, each.headings)
        for tag, text in texts.items()
        for each in cut(text)
    )


def _searched(excerpt: Excerpt) -> str:
    return "\n".join([*excerpt.headings, excerpt.text])


def _stems(text: str) -> Iterator[str]:
    """The words and their beginnings: in most languages they differ at their ends, but no two names are alike."""
    for word in words(text).split():
        yield word
        if len(word) > STEM:
            yield word[:STEM]


def _fused(rankings: Sequence[Sequence[float]]) -> list[int]:
    """Places from best to worst, by the sum of what their rank in each ranking is worth (reciprocal rank fusion)."""
    worth: dict[int, float] = defaultdict(float)
    for scores in rankings:
        for rank, at in enumerate(sorted(range(len(scores)), key=lambda at: -scores[at])):
            worth[at] += 1 / (RANK + rank) if scores[at] > 0 else 0.0
    return sorted(worth, key=lambda at: (-worth[at], at))
