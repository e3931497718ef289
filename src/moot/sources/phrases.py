"""Which of many texts can hold a quote, by three words in a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from moot.sources.quotes import words

MAX_PLACES = 8
"""In so many texts with the same three words a quote is looked for."""

Triple: TypeAlias = tuple[str, ...]


@dataclass(slots=True)
class Phrases:
    """Texts, and which of them can hold a quote: looking for one does not take longer the more texts there are."""

    texts: list[str]
    _read: int = 0
    _places: dict[Triple, list[int]] = field(default_factory=dict)
    """Word triple → the first texts that have it."""

    def places(self, quote: str) -> list[int]:
        """The numbers of the first texts that have the triple of the quote that the fewest have."""
        for at in range(self._read, len(self.texts)):
            for triple in set(triples(words(self.texts[at]).split())):
                places = self._places.setdefault(triple, [])
                if len(places) < MAX_PLACES:
                    places.append(at)
        self._read = len(self.texts)
        found = [self._places[each] for each in triples(words(quote).split()) if each in self._places]
        return min(found, key=len, default=[])


def triples(text: Sequence[str]) -> Iterator[Triple]:
    """Every three words that follow each other; fewer than three are one of their own."""
    if 0 < len(text) < 3:
        yield tuple(text)
    yield from zip(text, text[1:], text[2:], strict=False)
