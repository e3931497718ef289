"""What a simulated judge with known faults does to one judging and to mirrored pairs, as the curves of docs/trust.md:

    python bench/judging.py [--debates 300]

The judge reads the real prompts and fills in the real forms; its faults are known, so every number has its right value.
Prints the numbers and draws docs/pictures/trust-*.svg. Two minutes on a free core.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "trust")]

from simulated import simulated  # noqa: E402
from voters import curve, majority  # noqa: E402

from moot.core.trust import Stability  # noqa: E402
from moot.formats.duel.verdict import Verdict  # noqa: E402
from moot.testing import SimulatedJudge, SimulatedVoter  # noqa: E402
from moot.trust.judging import learned_noise, spreads, weigh  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
ORDERS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
NOISES = (0.4, 0.8, 1.2, 1.6, 2.0)
VOTERS = (1, 3, 5, 7, 9)
USUAL_NOISE = 0.8
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 560, 300, 56, 44, 150, 46
INK, SOFT, LINE = "#1d2126", "#565c64", "#d9dcdf"
COLOURS = ("#96340a", "#1d62c4", "#565c64")


class Curve(NamedTuple):
    name: str
    values: Sequence[float]
    dashed: bool = False
    """What theory, or a perfect judge, would come to."""


def judged(number: int, judgings: int, order: float = 0.0, noise: float = USUAL_NOISE) -> list[tuple[float, Verdict]]:
    """The true margin of debates that are as different as debates are, and the verdict."""
    found = []
    for at in range(number):
        true = Random(at).gauss(0, 2)
        judge = SimulatedJudge((6 + true / 2, 6 - true / 2), order=order, noise=noise)
        found.append((true, simulated(judge, at, judgings=judgings)))
    return found


def wrong(found: Sequence[tuple[float, Verdict]]) -> float:
    return fmean(verdict.winner == ("b" if true > 0 else "a") for true, verdict in found)


def stability(verdict: Verdict) -> Stability:
    assert verdict.trust
    assert verdict.trust.stability
    return verdict.trust.stability


def leaning(found: Sequence[tuple[float, Verdict]], of: Callable[[Stability], float]) -> float:
    """How far a margin is from the true one, on average."""
    return fmean(of(stability(verdict)) - true for true, verdict in found)


def unmirrored(each: Stability) -> float:
    return fmean(judging.margin for judging in each.judgings if not judging.mirrored)


def order_effect(found: Sequence[tuple[float, Verdict]]) -> float:
    return fmean(stability(verdict).order_effect for _, verdict in found)


def covered(found: Sequence[tuple[float, Verdict]]) -> float:
    return fmean(stability(verdict).low <= true <= stability(verdict).high for true, verdict in found)


def covered_when_known(found: Sequence[tuple[float, Verdict]]) -> float:
    """The same, with the judge's noise known from 25 of the debates; the mean over every 25 of them."""
    groups = [found[at : at + 25] for at in range(0, len(found) - 24, 25)]
    return fmean(_covered_after(earlier, [each for each in found if each not in earlier]) for earlier in groups)


def _covered_after(earlier: Sequence[tuple[float, Verdict]], others: Sequence[tuple[float, Verdict]]) -> float:
    known = learned_noise([spreads(verdict.trust) for _, verdict in earlier if verdict.trust], {"x:judge"})
    again = [(true, weigh(stability(verdict).judgings, known)) for true, verdict in others]
    return fmean(each.low <= true <= each.high for true, each in again if each)


class Frame(NamedTuple):
    """From values to places on the picture."""

    places: Sequence[float]
    low: float
    high: float
    step: float

    def x(self, place: float) -> float:
        return LEFT + (place - self.places[0]) / (self.places[-1] - self.places[0]) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return TOP + (self.high - value) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)


def draw(name: str, title: str, across: str, places: Sequence[float], curves: Sequence[Curve], percent: bool) -> None:
    """Tell the numbers, and draw them as lines with their names at their ends."""
    print(f"\n{title}\n{across:>54}  " + "  ".join(f"{place:6g}" for place in places))
    for each in curves:
        print(f"{each.name:>54}  " + "  ".join(f"{value:6.3f}" for value in each.values))
    frame = _frame(places, [value for each in curves for value in each.values], percent)
    lines = [mark for colour, each in zip(COLOURS, curves, strict=False) for mark in _drawn(frame, each, colour)]
    marks = "\n".join(
        [
            _words(16, 22, title, INK, 'font-weight="600"'),
            *_axes(frame, across, percent),
            *lines,
            *_names(frame, curves),
        ]
    )
    (PICTURES / f"trust-{name}.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        f' font-family="system-ui, sans-serif" font-size="12"><rect width="100%" height="100%" rx="8" fill="#fff"/>\n'
        f"{marks}\n</svg>\n"
    )


def _frame(places: Sequence[float], values: Sequence[float], percent: bool) -> Frame:
    step = next(size for size in (0.05, 0.1, 0.2, 0.5, 1.0) if max(values) <= 6 * size)
    if percent and min(values) >= 0.5:
        return Frame(places, 0.5, 1.0, 0.1)
    return Frame(places, min(0.0, min(values)), step * (max(values) // step + 1), step)


def _axes(frame: Frame, across: str, percent: bool) -> Iterator[str]:
    for tick in range(round(frame.low / frame.step), round(frame.high / frame.step) + 1):
        value = tick * frame.step
        yield f'<path d="M{LEFT} {frame.y(value):.1f}H{WIDTH - RIGHT}" stroke="{LINE}"/>'
        label = f"{value:.0%}" if percent else f"{value:g}"
        yield _words(LEFT - 8, frame.y(value) + 4, label, SOFT, 'text-anchor="end"')
    for place in frame.places:
        yield _words(frame.x(place), HEIGHT - 26, f"{place:g}", SOFT, 'text-anchor="middle"')
    yield _words(LEFT, HEIGHT - 8, across, SOFT)


def _drawn(frame: Frame, curve: Curve, colour: str) -> Iterator[str]:
    points = [(frame.x(place), frame.y(value)) for place, value in zip(frame.places, curve.values, strict=True)]
    path, dashes = " ".join(f"{x:.1f},{y:.1f}" for x, y in points), ' stroke-dasharray="5 4"' if curve.dashed else ""
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
    if not curve.dashed:
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points)


def _names(frame: Frame, curves: Sequence[Curve]) -> Iterator[str]:
    """At the ends of their lines, one below the other where these end together."""
    below = 0.0
    for colour, each in sorted(zip(COLOURS, curves, strict=False), key=lambda pair: -pair[1].values[-1]):
        below = max(below + 14, frame.y(each.values[-1]) + 4)
        yield _words(WIDTH - RIGHT + 8, below, each.name, colour)


def _words(x: float, y: float, text: str, colour: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" {more}>{text}</text>'


def main(number: int) -> None:
    once = [judged(number, 1, order) for order in ORDERS]
    pairs = [judged(number, 4, order) for order in ORDERS]
    favour = "points that the judge gives to the side it reads first"
    errors = [Curve("one judging", [*map(wrong, once)]), Curve("two to four, mirrored", [*map(wrong, pairs)])]
    draw("wrong", "Wrong verdicts", favour, ORDERS, errors, percent=True)
    leans = [
        Curve("without mirroring", [leaning(each, unmirrored) for each in pairs]),
        Curve("as published", [leaning(each, lambda found: found.margin) for each in pairs]),
        Curve("order effect, found", [*map(order_effect, pairs)], dashed=True),
    ]
    draw("order", "How far the margin leans to side A, in points", favour, ORDERS, leans, percent=False)
    found_by_noise = [judged(number, 4, 1.0, noise) for noise in NOISES]
    held = [
        Curve("what it says", [0.95] * len(NOISES), dashed=True),
        Curve("unknown judge", [*map(covered, found_by_noise)]),
        Curve("after 25 debates", [*map(covered_when_known, found_by_noise)]),
    ]
    title = "How often the interval holds the true margin"
    draw("interval", title, "noise of a score, in points", NOISES, held[::-1], percent=True)
    found = curve(SimulatedVoter(0.7), 10 * number, *VOTERS)
    votes = [Curve("majority", found), Curve("theory", [majority(size, 0.7) for size in VOTERS], dashed=True)]
    draw("votes", "How often a majority is right", "voters who are right with 0.7", VOTERS, votes, percent=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--debates", type=int, default=300)
    main(parser.parse_args().debates)
