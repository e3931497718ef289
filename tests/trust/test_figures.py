"""Figures and where they come from."""

from __future__ import annotations

import pytest

from moot.core.debate import Settings, Turn
from moot.core.script import Debate
from moot.text.language import languages
from moot.trust.figures import figures, provenance, section

ENGLISH, GERMAN = languages()["en"], languages()["de"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,850 requests and 410, at 0.9 ms", [1850, 410, 0.9]),
        ("4.6 million flats, 1,200,000 people; 62%, 71 %", [4_600_000, 1_200_000, 62, 71]),
        ("at 18:00 on 3/4/2026, S1, p99, v1.2.3, x2", []),
        ("by 2027. Then 12", [2027, 12]),
        ("", []),
    ],
)
def test_figures_are_read_by_value(text: str, values: list[float]) -> None:
    assert [figure.value for figure in figures(text, ENGLISH)] == values


def test_figures_are_read_as_the_language_writes_them() -> None:
    found = [figure.value for figure in figures("1.850 Anfragen, 3,5 Monate, 4,6 Mio. und 1.850.000,5 Euro", GERMAN)]
    assert found == [1850, 3.5, 4_600_000, 1_850_000.5]


def test_every_figure_is_traced_to_a_source_the_question_or_its_first_speaker() -> None:
    turns = [
        Turn(position=0, seat="a", kind="opening", round=1, content="4 times 1,850 is 7,400; 120,000 by 2031."),
        Turn(position=1, seat="b", kind="opening", round=1, content="Not 7,400. Say 55."),
        Turn(position=2, seat="human", kind="guidance", round=None, content="We have 33 euros."),
        Turn(position=3, seat="judge", kind="verdict", round=None, content="7,400 and 99, says the judge."),
    ]
    debate = Debate("DEB-1", "Should 250 people move?", Settings(), {}, turns)
    sources = {"S1": "Peak: 1,850 a second, of 4.6 million."}
    said = "1850, 7,400, 120,000 and 55 for 250 people, 3 of 4,600,000, with 33 and 99%."
    assert provenance(debate, said, {"a": "Speed", "b": "Cost"}, sources) == [
        "1850: S1",
        "7,400: Speed, round 1, derived",
        "120,000: Speed, round 1",
        "55: Cost, round 1",
        "250: the question",
        "4,600,000: S1",
        "33: a person",
        "99%: said by nobody before the closing",
    ]


def test_without_figures_there_is_no_section() -> None:
    assert section([], ENGLISH) == ""
    assert section(["7: S1"], GERMAN).startswith("## Zahlen und woher sie kommen")
