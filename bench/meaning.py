"""What the built-in embedder tells of meaning: speeches that say something again, and perspectives that are opposed.

    python bench/meaning.py

Three debates of a strong model: each speech of their second round, which is new, and paraphrases of the first
(tests/strong/paraphrases.yaml). `close` ones keep terms and figures, `free` ones the terms, `thorough` ones neither.
`by words` is the measure that knows no meaning.

Two perspectives are opposed when one gives up what the other wants. How well the nearness of the two tells that is the
share of cases in which an opposed pair is nearer than another, so that 50% is chance: of the six first built-in
perspectives, as their axes have it, and of pairs as people write them (tests/strong/perspective_pairs.yaml).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from moot.formats.panel.casting import NEAR
from moot.formats.panel.perspectives import PAYS, Perspective, catalog, opposed
from moot.retrieval.embed import WordLlamaEmbedder
from moot.retrieval.library import Library
from moot.trust.novelty import MEANS_THE_SAME, REPEATS, repetition, telling

EMBEDDER = WordLlamaEmbedder()
STRONG = Path(__file__).parent.parent / "tests" / "strong"


class Case(NamedTuple):
    how: str
    text: str
    before: str


def cases() -> Iterator[Case]:
    debates = json.loads((STRONG / "speeches.json").read_text())
    for each in yaml.safe_load((STRONG / "paraphrases.yaml").read_text()):
        name, seat, *_ = each["of"]
        yield Case(each["how"], each["text"], _said(debates[name], seat, 1))
    for name, turns in debates.items():
        for seat in dict.fromkeys(turn["seat"] for turn in debates[name]):
            yield Case("new", _said(turns, seat, 2), _said(turns, seat, 1))


def _said(turns: list[dict[str, Any]], seat: str, round: int) -> str:
    return "\n".join(turn["content"] for turn in turns if (turn["seat"], turn["round"]) == (seat, round))


async def main() -> None:
    library = Library(Path("none"), Path("none"))
    found: dict[str, list[tuple[float, float]]] = {}
    for case in cases():
        share = await library.repeated(telling(case.text), telling(case.before))
        found.setdefault(case.how, []).append((share, repetition(case.text, case.before)))
    print("| speeches | number | repeat in meaning | share of sentences | repeat by words |\n|---|---|---|---|---|")
    for how, shares in found.items():
        meant = [share for share, _ in shares]
        by_words = sum(share > REPEATS for _, share in shares)
        number = sum(share >= MEANS_THE_SAME for share in meant)
        print(f"| {how} | {len(shares)} | {number} | {min(meant):.0%} to {max(meant):.0%} | {by_words} |")
    await opposition()


class View(NamedTuple):
    wants: Sequence[str]
    gives_up: str


async def opposition() -> None:
    print("\n| pairs of perspectives | opposed | others | opposed ones are nearer | near enough: opposed | others |")
    print("|---|---|---|---|---|---|")
    built_in = [(opposed(a, b), _view(a), _view(b)) for a, b in combinations(catalog((), 6), 2)]
    written = yaml.safe_load((STRONG / "perspective_pairs.yaml").read_text())
    for name, pairs in (
        ("built-in", built_in),
        ("as people write them", [(is_opposed, View(**a), View(**b)) for is_opposed, a, b in written]),
    ):
        near = [(is_opposed, await _nearness(a, b)) for is_opposed, a, b in pairs]
        yes, no = ([score for is_opposed, score in near if is_opposed == wanted] for wanted in (True, False))
        nearer = sum(a > b for a, b in product(yes, no)) / (len(yes) * len(no))
        enough = [sum(score >= NEAR for score in scores) for scores in (yes, no)]
        print(f"| {name} | {len(yes)} | {len(no)} | {nearer:.0%} | {enough[0]} | {enough[1]} |")


def _view(perspective: Perspective) -> View:
    paid = PAYS.search(perspective.trade_offs)
    return View(perspective.priorities, paid["costs"] if paid else perspective.trade_offs)


async def _nearness(a: View, b: View) -> float:
    """What one gives up against what the other wants, in whichever direction it is nearer."""
    scores = []
    for one, other in ((a, b), (b, a)):
        (given_up,), wanted = [await EMBEDDER.embed(texts, "document") for texts in ([one.gives_up], other.wants)]
        scores.append(float((wanted @ given_up).max()))
    return max(scores)


if __name__ == "__main__":
    asyncio.run(main())
