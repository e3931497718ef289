"""A small picture of how a format goes, for where it is chosen: one that it declares, or one made of its seats."""

from __future__ import annotations

from collections.abc import Mapping

from moot.core.format import AnyFormat, Picture

DRAWN: Mapping[Picture, str] = {
    "table": '<circle class="a" cx="8" cy="15" r="5"/><path class="b" d="M16.5 10.5h9v9h-9z"/>'
    '<path class="c" d="M34 9.5l5.6 10h-11.2z"/><path class="l" d="M8 7V4h26v3M21 4v3"/>',
    "sides": '<path class="a" d="M3 5h15v11h-7l-4 4v-4H3z"/><path class="b" d="M39 5H24v11h4v4l4-4h7z"/>',
    "scores": '<path class="l" d="M4 7h34M4 17h34"/><circle class="n" cx="28" cy="7" r="4"/>'
    '<circle class="a" cx="16" cy="7" r="4"/><circle class="n" cx="20" cy="17" r="4"/>'
    '<circle class="b" cx="31" cy="17" r="4"/>',
    "document": '<path class="l" d="M9 3h17l5 5v13H9zM14 10h9M14 14h12M14 18h7"/><path class="b" d="M30 11h8v8h-8z"/>',
    "ballots": '<path class="l" d="M6 13h30v8H6zM15 13h12"/><path class="a" d="M10 3h6v8h-6z"/>'
    '<path class="b" d="M18 5h6v6h-6z"/><path class="c" d="M26 3h6v8h-6z"/>',
}
SHAPES = (
    '<circle class="a" cx="{0}" cy="15" r="5"/>',
    '<path class="b" d="M{0} 15m-4.5 -4.5h9v9h-9z"/>',
    '<path class="c" d="M{0} 9.5l5.6 10h-11.2z"/>',
    '<path class="d" d="M{0} 9l6 6l-6 6l-6 -6z"/>',
)
WIDTH = 42


def picture(format: AnyFormat) -> str:
    """An SVG that says nothing to who cannot see it: the format's name stands beside it."""
    inside = DRAWN.get(format.picture) or _of_seats(format)
    return f'<svg class="glyph" viewBox="0 0 {WIDTH} 24" aria-hidden="true">{inside}</svg>'


def _of_seats(format: AnyFormat) -> str:
    """Who speaks, side by side, under a line that joins them."""
    speaking = [seat for seat in format.seats if seat.player == "model" and not seat.optional][: len(SHAPES)]
    step = WIDTH / (len(speaking) + 1)
    places = [round(step * (at + 1), 1) for at in range(len(speaking))]
    shapes = "".join(shape.format(place) for shape, place in zip(SHAPES, places, strict=False))
    joined = f'<path class="l" d="M{places[0]} 7V4H{places[-1]}v3"/>' if len(places) > 1 else ""
    return shapes + joined
