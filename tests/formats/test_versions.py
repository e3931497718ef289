"""A debate goes on, and is read, by the rules of the version under which it began."""

from dataclasses import replace

import pytest

from moot.core.debate import Record
from moot.errors import Missing
from moot.formats import by_name, find, of_record
from moot.formats.duel.format import DUEL

FIRST = replace(DUEL, version=0, summary="as it was", earlier=())
BEGUN = Record(id="DEB-abcd1234", format="duel", format_version=0, topic="Cats?", settings={}, seats={}, created_at=0.0)
FORMATS = by_name([replace(DUEL, earlier=(FIRST, *DUEL.earlier))])


def test_a_debate_of_an_earlier_version_keeps_its_rules() -> None:
    assert of_record(FORMATS, BEGUN).summary == "as it was"


def test_a_debate_of_a_version_that_is_not_kept_gets_the_rules_of_today() -> None:
    assert of_record(FORMATS, replace(BEGUN, format_version=77)).version == DUEL.version


def test_an_earlier_version_is_chosen_by_its_number() -> None:
    assert find(FORMATS, "duel@0") is FIRST
    assert find(FORMATS, f"duel@{DUEL.version}").version == DUEL.version


@pytest.mark.parametrize("name", ["duel@9", "duel@", "duel@x"])
def test_a_version_that_does_not_exist_is_refused_with_those_that_do(name: str) -> None:
    with pytest.raises(Missing, match=r"known: 0, \d"):
        find(FORMATS, name)
