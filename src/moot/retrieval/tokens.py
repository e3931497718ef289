"""Text to the tokens of the built-in embedder: byte-pair encoding over the vocabulary that came with its weights.

Knows no vectors. Its ids are those of the `tokenizers` package for the same vocabulary, which a test compares.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

SPACE = "▁"
_SPECIAL = re.compile("(<unk>|<s>|</s>)")
_WORD = re.compile(f"{SPACE}*[^{SPACE}]+|{SPACE}+")
"""No piece of the vocabulary has a space after a letter, so nothing is ever merged across words."""
_CACHED_WORDS = 50_000
_CACHED_LENGTH = 30

_Rank: TypeAlias = tuple[bool, int, int, int]


class Tokenizer:
    def __init__(self, pieces: Sequence[str]) -> None:
        """`pieces` is the vocabulary in the order of its ids."""
        self._pieces = pieces
        self._ids = {piece: id for id, piece in enumerate(pieces)}
        self._short_word = lru_cache(_CACHED_WORDS)(self._word)

    def ids(self, text: str) -> list[int]:
        return [id for word in _words(text) for id in self._word_ids(word)]

    def _word_ids(self, word: str) -> tuple[int, ...]:
        if _SPECIAL.fullmatch(word):
            return (self._ids[word],)
        return self._short_word(word) if len(word) <= _CACHED_LENGTH else self._word(word)

    def _word(self, word: str) -> tuple[int, ...]:
        """Merge neighbours, the most usual pair first, until no pair is a piece of the vocabulary."""
        ids = [id for character in word for id in self._character(character)]
        after = list(range(1, len(ids) + 1))
        before = list(range(-1, len(ids) - 1))
        pairs = [(rank, at) for at in range(len(ids) - 1) if (rank := self._rank(ids[at], ids[at + 1]))]
        heapq.heapify(pairs)
        while pairs:
            rank, at = heapq.heappop(pairs)
            right = after[at]
            if ids[at] < 0 or right == len(ids) or self._rank(ids[at], ids[right]) != rank:
                continue  # one of the two has been merged meanwhile
            ids[at], ids[right] = rank[1], -1
            after[at] = right = after[right]
            if right < len(ids):
                before[right] = at
            for left in (before[at], at):
                if left >= 0 and after[left] < len(ids) and (found := self._rank(ids[left], ids[after[left]])):
                    heapq.heappush(pairs, (found, left))
        return tuple(id for id in ids if id >= 0)

    def _character(self, character: str) -> list[int]:
        """A character that the vocabulary has not is spelled in bytes."""
        if (id := self._ids.get(character)) is not None:
            return [id]
        return [self._ids[f"<0x{byte:02X}>"] for byte in character.encode()]

    def _rank(self, left: int, right: int) -> _Rank | None:
        """Pieces are numbered in the order in which they were learned, but for those of spaces alone, learned last."""
        merged = self._pieces[left] + self._pieces[right]
        id = self._ids.get(merged)
        return None if id is None else (not merged.strip(SPACE), id, left, right)


def _words(text: str) -> Iterator[str]:
    for part in _SPECIAL.split(text):
        if _SPECIAL.fullmatch(part):
            yield part
        elif part:
            yield from _WORD.findall(SPACE + part.replace(" ", SPACE))
