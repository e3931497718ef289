"""How many telling words a question shares with each document: it finds what vectors blur, such as “how many”."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from moot.retrieval.retriever import Document

WEIGHT = 0.01
"""What a shared word of average rarity adds to a cosine; chosen by tests/retrieval/queries.yaml."""
_WORD = re.compile(r"\w+")


def shared_words(query: str, documents: Sequence[Document]) -> Mapping[str, float]:
    """By the id of each document: its words and pairs of words in the query, the rarer the more, as part of a score."""
    asked = _terms(query)
    known = _index(tuple(documents))
    frequency = Counter(term for terms in known.values() for term in terms & asked)
    rarity = {term: math.log(1 + len(known) / number) for term, number in frequency.items()}
    return {id: WEIGHT * sum(rarity[term] for term in terms & asked) for id, terms in known.items()}


@lru_cache(maxsize=2)
def _index(documents: tuple[Document, ...]) -> Mapping[str, frozenset[str]]:
    return {document.id: _terms(document.text) for document in documents}


def _terms(text: str) -> frozenset[str]:
    words = _WORD.findall(text.casefold())
    return frozenset(words) | {" ".join(pair) for pair in pairwise(words)}
