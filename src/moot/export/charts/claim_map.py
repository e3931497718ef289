"""The claims of a debate as a map: a layer for each set of speeches, a box for each claim, a line for what it answers.

Attacks, supports and giving way differ in the form of their lines, not in colour alone. Boxes are laid out for letters
of one width, so that whatever a model wrote stays inside its box, in any script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len, chop_cells

from moot.core.claims import Claim, How, Ledger
from moot.export.charts.drawing import escaped, point
from moot.reading.debate import Reading
from moot.reading.seats import colours_of
from moot.text.plain import in_one_line

BOX, GAP, LEFT, TOP, BETWEEN = 234, 70, 40, 48, 14
ROOM, LINES = 32, 4
"""Cells in a line of a box, and lines."""
LINE, HEAD = 17, 34
SWEEPS = 12
FALLEN = ("dropped", "withdrawn")
MARKERS = "".join((Path(__file__).parent / "style" / "markers.svg").read_text("utf-8").splitlines())
MARKER: Mapping[How, str] = {
    "attacks": "m-attacks",
    "supports": "m-supports",
    "concedes": "m-gives",
    "withdraws": "m-gives",
}


class Box(NamedTuple):
    x: float
    y: float
    height: float
    lines: tuple[str, ...]

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


class Seated(NamedTuple):
    """Whoever makes claims: a name, a colour and a shape."""

    name: str
    colour: int

    @property
    def shape(self) -> int:
        return max(0, self.colour - 1)

    @property
    def mark(self) -> str:
        return point(self.shape, 6, 6, 1.25)


class Look(NamedTuple):
    """What a map shows of a claim besides its words."""

    seats: Mapping[str, Seated]
    link: Callable[[Claim], str]
    """Where a claim leads, "" if nowhere."""
    decisive: frozenset[str] = frozenset()


def seated(reading: Reading, ledger: Ledger) -> dict[str, Seated]:
    """Who makes claims, in the order in which they first do."""
    colours, titles = colours_of(reading.format), reading.titles
    seats = dict.fromkeys(claim.seat for claim in ledger.claims)
    return {seat: Seated(titles.get(seat, seat), colours.get(seat, 0)) for seat in seats}


def drawn(reading: Reading, ledger: Ledger, link: Callable[[Claim], str], *, stacked: bool = False) -> str:
    """As SVG; `link` says where a claim leads, "" if nowhere."""
    return claim_map(_layers(reading, ledger), Look(seated(reading, ledger), link, decisive(reading)), stacked=stacked)


def decisive(reading: Reading) -> frozenset[str]:
    """The claims that judgings name."""
    trust = reading.trust
    return frozenset(each.id for each in trust.claims.decided_by) if trust and trust.claims else frozenset()


def _layers(reading: Reading, ledger: Ledger) -> dict[str, list[Claim]]:
    """The claims of speeches that belong together, under what readers call these."""
    turns = {turn.position: turn for turn in reading.turns}
    found: dict[str, list[Claim]] = {}
    for claim in ledger.claims:
        turn = turns[claim.turn]
        title = f"{reading.round_title(turn.round)} · {turn.kind}" if turn.round else turn.kind.capitalize()
        found.setdefault(title, []).append(claim)
    return found


def claim_map(layers: Mapping[str, Sequence[Claim]], look: Look, *, stacked: bool = False) -> str:
    """The whole of it as SVG: claims under what readers call the speeches they are from, each a link to where it was
    made. Stacked, its layers are one column.
    """
    made = [list(claims) for claims in layers.values()]
    ordered = made if stacked else _ordered(made)
    boxes, height = _stacked(ordered) if stacked else _boxes(ordered)
    columns = 1 if stacked else len(layers)
    width = LEFT + 16 + (BOX + GAP) * columns - GAP
    number = sum(map(len, ordered))
    label = f"Argument map: {number} claim{'' if number == 1 else 's'}"
    return "".join(
        (
            f'<svg class="map{_size(columns)}" viewBox="0 0 {width} {height:.0f}" width="{width}"'
            f' height="{height:.0f}" role="group" aria-label="{label}"><defs>{MARKERS}</defs>',
            *(
                f'<text class="layer" x="{boxes[own[0].id].x:g}" y="{boxes[own[0].id].y - 12 if stacked else 26:.0f}">'
                f"{escaped(title)}</text>"
                for title, own in zip(layers, ordered, strict=True)
            ),
            *(_line(claim, boxes, link.how, link.to) for claim in _all(ordered) for link in claim.links),
            *(_node(claim, boxes[claim.id], look) for claim in _all(ordered)),
            "</svg>",
        )
    )


def _size(layers: int) -> str:
    """Four layers are made to fit a usual window; more have their size, and are scrolled."""
    return " wide" if layers == 4 else " widest" if layers > 4 else ""


def _all(layers: Sequence[Sequence[Claim]]) -> Iterator[Claim]:
    return (claim for layer in layers for claim in layer)


def _ordered(layers: list[list[Claim]]) -> list[list[Claim]]:
    """Neighbours are exchanged as long as the lines get shorter by it; a ledger is bounded, and so is this."""
    answers = {claim.id: [link.to for link in claim.links] for claim in _all(layers)}
    for claim in list(_all(layers)):
        for link in claim.links:
            answers.setdefault(link.to, []).append(claim.id)
    tallest = max(map(len, layers), default=0)
    at = {claim.id: _share(n, layer, tallest) for layer in layers for n, claim in enumerate(layer)}
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            layer.sort(key=lambda claim: _mean([at[id] for id in answers[claim.id] if id in at], at[claim.id]))
            at |= {claim.id: _share(n, layer, tallest) for n, claim in enumerate(layer)}
    return layers


def _share(place: int, layer: Sequence[Claim], tallest: int) -> float:
    return (place + 0.5) * tallest / len(layer)


def _mean(places: Sequence[float], own: float) -> float:
    return sum(places) / len(places) if places else own


def _boxes(layers: Sequence[Sequence[Claim]]) -> tuple[dict[str, Box], float]:
    """Where each claim stands; short layers are spread over the height of the tallest."""
    lines = {claim.id: _wrapped(claim.text) for claim in _all(layers)}
    tall = {id: HEAD + LINE * len(own) for id, own in lines.items()}
    need = [sum(tall[claim.id] + BETWEEN for claim in layer) for layer in layers]
    height = TOP + max(need, default=0) + 10
    boxes: dict[str, Box] = {}
    for at, layer in enumerate(layers):
        spare = (height - 10 - TOP - need[at]) / (len(layer) + 1)
        y = TOP + spare
        for claim in layer:
            boxes[claim.id] = Box(LEFT + at * (BOX + GAP), y, tall[claim.id], lines[claim.id])
            y += tall[claim.id] + BETWEEN + spare
    return boxes, height


def _stacked(layers: Sequence[Sequence[Claim]]) -> tuple[dict[str, Box], float]:
    """One below the other, with room above each layer for its title."""
    boxes: dict[str, Box] = {}
    y = 0.0
    for layer in layers:
        y += TOP - BETWEEN
        for claim in layer:
            lines = _wrapped(claim.text)
            boxes[claim.id] = Box(LEFT, y, HEAD + LINE * len(lines), lines)
            y += HEAD + LINE * len(lines) + BETWEEN
    return boxes, y


def _line(claim: Claim, boxes: Mapping[str, Box], how: How, to: str) -> str:
    if to not in boxes:
        return ""
    here, there = boxes[claim.id], boxes[to]
    far = min(46.0, 24 + abs(here.middle - there.middle) / 30)
    bend = far if here.x == there.x else max(46.0, (here.x - there.x - BOX) / 2)
    end = there.x - 4 if here.x == there.x else there.x + BOX + 4
    turn = end - bend if here.x == there.x else end + bend
    curve = f"M{here.x:g} {here.middle:.0f}C{here.x - bend:.0f} {here.middle:.0f} {turn:.0f} {there.middle:.0f}"
    return (
        f'<path class="link {how}" data-from="{claim.id}" data-to="{to}" marker-end="url(#{MARKER[how]})"'
        f' d="{curve} {end:g} {there.middle:.0f}"/>'
    )


def _node(claim: Claim, box: Box, look: Look) -> str:
    decisive, seat = claim.id in look.decisive, look.seats[claim.seat]
    status = f"{'decisive · ' if decisive else ''}{claim.status or ''}"
    seen = " ".join(filter(None, (claim.id, status, *box.lines)))  # first, for who speaks to their browser
    label = f"{seen}, {seat.name}" + (f": {claim.text}" if box.lines[-1].endswith("…") else "")
    kinds = f"node seat-{seat.colour}{' gone' if claim.status in FALLEN else ''}{' key' if decisive else ''}"
    x, y = box.x, round(box.y)
    leads = f' href="{escape(url)}"' if (url := look.link(claim)) else ""
    return " ".join(
        (
            f'<a class="{kinds}"{leads} data-id="{claim.id}" data-turn="{claim.turn}"'
            f' data-status="{claim.status or ""}" aria-label="{escaped(label)}">',
            f'<rect class="box" x="{x:g}" y="{y}" width="{BOX}" height="{box.height:g}" rx="7"/>',
            f'<rect class="edge" x="{x:g}" y="{y + 1}" width="4" height="{box.height - 2:g}" rx="2"/>',
            point(seat.shape, x + 17, y + 15),
            f'<text class="id" x="{x + 28:g}" y="{y + 19}">{claim.id}</text>',
            f'<text class="end" x="{x + BOX - 10:g}" y="{y + 19}">{status}</text>',
            *(
                f'<text class="words" x="{x + 14:g}" y="{y + 38 + LINE * at}">{escaped(words)}</text>'
                for at, words in enumerate(box.lines)
            ),
            "</a>",
        )
    )


def _wrapped(text: str) -> tuple[str, ...]:
    """Lines that fit, at words where there are words; what is too much ends in an ellipsis."""
    lines = [""]
    for word in in_one_line(text).split():
        for part in chop_cells(word, ROOM) or [""]:
            glued = f"{lines[-1]} {part}".strip()
            if cell_len(glued) <= ROOM:
                lines[-1] = glued
            else:
                lines.append(part)
        if len(lines) > LINES:
            return (*lines[: LINES - 1], f"{chop_cells(lines[LINES - 1], ROOM - 1)[0]}…")
    return tuple(lines)
