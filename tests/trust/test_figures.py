"""Figures and where they come from."""

from __future__ import annotations

import pytest

from moot.core.debate import JsonObject, Settings, Turn
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
        ("by 31 August, the 2nd of May, on Sept. 30 and July 4, or in May 12 of 20", [20]),
        ("am 31. August und 3. März, 14 Märkte", [14]),
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


def test_a_figure_is_not_traced_to_one_that_measures_something_else() -> None:
    said = Turn(position=0, seat="a", kind="opening", round=1, content="That is 28 MB an hour for 42,000 cards.")
    debate = Debate("DEB-1", "Which?", Settings(), {}, [said])
    sources = {"S1": "Missed on 11 of 28 days. There are 42,000 product cards."}
    assert provenance(debate, "28 MB for 42,000 cards, on 11 days and 11%.", {"a": "Cost"}, sources) == [
        "28: Cost, round 1",
        "42,000: S1",
        "11: S1",
    ]
    assert provenance(debate, "28 days", {"a": "Cost"}, sources) == ["28: S1"]


def test_a_figure_that_was_only_declared_beside_a_speech_was_said() -> None:
    beside: JsonObject = {"content": "No.", "would_change": "below 70% CPU", "concedes": ["Speed: 15 of them"], "x": 3}
    turn = Turn(position=0, seat="a", kind="rebuttal", round=2, content="No.", data=beside)
    debate = Debate("DEB-1", "Which?", Settings(), {}, [turn])
    assert provenance(debate, "below 70%, 15", {"a": "Cost"}) == ["70%: Cost, round 2", "15: Cost, round 2"]


def test_without_figures_there_is_no_section() -> None:
    assert section([], ENGLISH) == ""
    assert section(["7: S1"], GERMAN).startswith("## Zahlen und woher sie kommen")
