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


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("We get 1.2k users, 400K and 3M of them", [1200, 400_000, 3_000_000]),
        ("Nous avons 1 200 clients pour les jours, à 3,5 % et 1.850 euros", [1200, 3.5, 1850]),
        ("it is 1.200,00 here and $1,200.50 there", [1200, 1200.5]),
        ("1'200'000 francs and 1’200", [1_200_000, 1200]),
        ("La obra cuesta 1.850.000 euros y dura 3,5 meses", [1_850_000, 3.5]),
        ("between 10–15 % of the load, or 10-15%", [10, 15, 10, 15]),
        ("a change of -5 % and −3.5 °C", [-5, -3.5]),
        ("on 2024-05-01, in version 3.11, v2.0 or 1.2.3, at https://a.b/12/13", []),
        ("see p. 12, §4.2 and No. 5 of 20", [20]),
        ("GPT-4, COVID-19, 10^6, 1e6 and 10²", []),
        ("$5m, €3.5bn, 5 M€, 5m deep", [5e6, 3.5e9, 5e6, 5]),
        ("١٨٥٠ دينارا و ٣٫٥ في المئة", [1850, 3.5]),
        ("工事費は1850万円で期間は3か月", [18_500_000, 3]),
        ("5 lakh, 2 crore, a 4.6-million plan on a 16-core host", [500_000, 20_000_000, 4_600_000, 16]),
        ("pour le 31 août y el 2 de mayo", []),
    ],
)
def test_figures_are_read_in_every_way_they_are_written(text: str, values: list[float]) -> None:
    assert [figure.value for figure in figures(text, ENGLISH)] == values


def test_days_and_large_numbers_are_read_as_germans_write_them() -> None:
    said = "am 31.12. sind 2,5 Mrd. fällig, am 01.05.2024 auch 2 Billionen"
    assert [figure.value for figure in figures(said, GERMAN)] == [2.5e9, 2e12]


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
        "11%: said by nobody before the closing",
    ]
    assert provenance(debate, "28 days", {"a": "Cost"}, sources) == ["28: S1"]


@pytest.mark.parametrize(
    ("figure", "source", "origin"),
    [
        ("$120", "It costs 120 €.", False),
        ("€120", "It costs 120 euros.", True),
        ("120 €", "It costs EUR 120.", True),
        ("28 GB", "It has 28 MB.", False),
        ("30 hours", "It took 30 days.", False),
        ("30 Stunden", "It took 30 hours.", True),
        ("62%", "There are 62 of them.", False),
        ("62 percent", "A share of 62 %.", True),
        ("62", "A share of 62 %.", True),
        ("-15 %", "It grew by 15 %.", False),
        ("a fall of 15 %", "A change of −15 %.", True),
        ("10–15 %", "It was 10 days.", False),
        ("1.2k", "There were 1,200.", True),
        ("12 million", "There were 12.", False),
        ("1,850", "حوالي ١٨٥٠", True),
        ("18,500,000", "1850万円", True),
        ("1,850", "1850万円", False),
        ("1,200", "Es waren 1.200 und nicht mehr.", True),
        ("1.2 t", "Es waren 1.200 und nicht mehr.", False),
    ],
)
def test_a_figure_has_its_true_origin_or_none(figure: str, source: str, origin: bool) -> None:
    first, *_ = provenance(
        Debate("DEB-1", "Which?", Settings(), {}, []), f"So it is {figure} for us.", {}, {"S1": source}
    )
    assert first.partition(": ")[2] == ("S1" if origin else "said by nobody before the closing")


@pytest.mark.parametrize(
    ("figure", "source", "origin"),
    [
        ("40 nurses", "The road is 40 km long.", "Cost, round 1"),
        ("38 answers", "We asked 38 visitors.", "S1"),
        ("12 hours", "We asked 12 people.", "Cost, round 1"),
        ("1.5 million euros", "It has 1.5 million users.", "Cost, round 1"),
        ("40 nurses", "There are 40 registered nurses.", "S1"),
        ("40 nurses", "Nurses: 40", "S1"),
        ("1,850 requests", "1,850 reads at peak", "S1"),
    ],
)
def test_a_source_with_so_many_of_another_thing_is_passed_over_for_who_speaks_of_it(
    figure: str, source: str, origin: str
) -> None:
    turn = Turn(position=0, seat="a", kind="opening", round=1, content=f"I count {figure}.")
    debate = Debate("DEB-1", "Which?", Settings(), {}, [turn])
    (line,) = provenance(debate, f"So it is {figure} for us.", {"a": "Cost"}, {"S1": source})
    assert line.partition(": ")[2] == origin


def test_two_figures_that_are_written_alike_are_told_apart_by_what_they_count() -> None:
    debate = Debate("DEB-1", "Which?", Settings(), {}, [])
    sources = {"S1": "It took 28 days.", "S2": "It has 28 MB."}
    assert provenance(debate, "28 days for 28 MB", {}, sources) == ["28 day: S1", "28 MB: S2"]


def test_what_only_happens_to_be_a_sum_is_not_called_derived() -> None:
    turns = [
        Turn(position=0, seat="a", kind="opening", round=1, content="At 40 of 60 it is fine. " * 3 + "We have 57."),
        Turn(
            position=1, seat="b", kind="opening", round=1, content="At 4 times the peak that is 7,400. 12 of 19 is 63%."
        ),
    ]
    debate = Debate("DEB-1", "Which?", Settings(), {}, turns)
    sources = {"S1": "We have 3, 11, 19, 45 and 60 of them, 1,850 at peak."}
    assert provenance(debate, "57, 7,400 and 63%", {"a": "Cost", "b": "Speed"}, sources) == [
        "57: Cost, round 1",
        "7,400: Speed, round 1, derived",
        "63%: Speed, round 1",
    ]


def test_a_figure_that_was_only_declared_beside_a_speech_was_said() -> None:
    beside: JsonObject = {"content": "No.", "would_change": "below 70% CPU", "concedes": ["Speed: 15 of them"], "x": 3}
    turn = Turn(position=0, seat="a", kind="rebuttal", round=2, content="No.", data=beside)
    debate = Debate("DEB-1", "Which?", Settings(), {}, [turn])
    assert provenance(debate, "below 70%, 15", {"a": "Cost"}) == ["70%: Cost, round 2", "15: Cost, round 2"]


def test_without_figures_there_is_no_section() -> None:
    assert section([], ENGLISH) == ""
    assert section(["7: S1"], GERMAN).startswith("## Zahlen und woher sie kommen")
