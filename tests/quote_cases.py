"""Quotes in every form people write them, with what is true of each: hand-made ones, and those of a strong model's
debates (tests/strong/quotes.json). `scores` tells how well the check finds the false ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from moot.sources.quotes import Checked, check_all
from moot.sources.source import Source

STRONG = Path(__file__).parent / "strong"
NUMBERS = Source(name="caching-numbers.md", text=(STRONG / "caching-numbers.md").read_text("utf-8"))
GUTACHTEN = Source(
    name="gutachten.md",
    text="Das Becken ist heute nicht sicher für alle Badegäste. Die Sanierung kostet 1.850.000 Euro und dauert 3,5 "
    "Monate; sie ist mit dem Förderverein abgestimmt. Von den 12.400 Kacheln sind nur wenige zu ersetzen.",
)
RAPPORT = Source(
    name="rapport.md",
    text="Le bassin est loin de jamais être sans danger pour tous. Les travaux coûtent 1 850 euros par mois.",
)
SOURCES = (NUMBERS, GUTACHTEN, RAPPORT)


class Case(NamedTuple):
    """One quote: its form, the text it stands in, and whether it says what its source does not say."""

    form: str
    text: str
    false: bool
    verdict: str = ""
    """The exact one, where there is only one right answer."""
    sources: tuple[Source, ...] = SOURCES


TRUE = "Nobody has run Redis in production"
HAND = (
    # where the tag stands
    Case("tag behind", f'"{TRUE}" [S1]', False),
    Case("tag behind", f'"{TRUE}." (S1)', False),
    Case("tag behind", f'"{TRUE}" [S1, Team and cost]', False),
    Case("tag behind", f"“{TRUE}” (see S1)", False),
    Case("tag behind", f'"{TRUE}", according to [S1].', False),
    Case("tag behind", f'"{TRUE}", says S1.', False),
    Case("tag behind", '"Redis has run for years in production" (see S1)', True),
    Case("tag behind", '"Everybody has run Redis in production", says S1.', True),
    Case("tag behind", f"「{TRUE}」[S1]", False),
    Case("tag behind", "「Everybody has run Redis in production」[S1]", True),
    Case("tag in front", "S1: 『Everybody has run Redis in production』", True),
    Case("tag in front", f'S1 says "{TRUE}".', False),
    Case("tag in front", f'[S1]: "{TRUE}"', False),
    Case("tag in front", f'According to S1, "{TRUE}".', False),
    Case("tag in front", 'S1 says "the replica can read unlogged tables".', True, "near"),
    Case("tag in front", '[S1]: "the replica can read unlogged tables"', True, "near"),
    Case("tag in front", '[S1]: "Nobody has run Redis" [S2]: "Das Becken ist heute sicher"', True),
    # marks
    Case("single quotes", f"'{TRUE}' [S1]", False),
    Case("single quotes", f"‘{TRUE}’ [S1]", False),
    Case("single quotes", "S1 says 'an estimated 4 times today's peak'", False),
    Case("single quotes", "'Somebody has run Redis in production' [S1]", True, "near"),
    Case("backticks", f"`{TRUE}` [S1]", False),
    Case("backticks", "`The replica reads unlogged tables` [S1]", True),
    Case("block quote", f"> {TRUE} [S1]", False),
    Case("block quote", f"As S1 puts it:\n\n> {TRUE};\n> four have tuned PostgreSQL", False),
    Case("block quote", f"> {TRUE}\n\n(S1)", False),
    Case("block quote", "> Prices change 90,000 times an hour\n> — S1", True, "near"),
    Case("block quote", "S1:\n\n> Redis is what we have always wanted here", True, "missing"),
    Case("other marks", "„Das Becken ist heute nicht sicher“ [S2]", False),
    Case("other marks", "« Le bassin est loin de jamais être sans danger » (S3)", False),
    Case("other marks", "»Die Sanierung kostet nichts und dauert lange« [S2]", True),
    # without a tag
    Case("no tag", f'The report is plain: "{TRUE}".', False),
    Case("no tag", 'The document also says "we have already decided for Redis" in its last line.', True, "missing"),
    Case("no tag", 'It says that "prices change 19,000 times an hour" here.', True, "near"),
    Case("no tag", "We run `select card from cache where id = 1` for that.", False),
    Case("no tag", 'You said "it will be cheaper to wait for the autumn", and that is so.', False),
    # typography
    Case("typography", '"A managed Redis with one replica (2 x 1.5 GB) costs 148 euros a month" [S1]', False),
    Case("typography", '"Catalogue serves 1850 requests per second at peak" [S1]', False),
    Case("typography", '"Catalogue serves 1.850 requests per second" [S1]', False),
    Case("typography", '"CPU of the primary at peak [is] 62%" [S1]', False),
    Case("typography", '"[N]obody has run Redis in production" [S1]', False),
    Case("typography", '"**Nobody** has run Redis in production" [S1]', False),
    Case("typography", '"71 % of requests read one of 42 000 product cards" [S1]', False),
    Case("typography", "„Die Sanierung kostet 1850000 Euro“ [S2]", False),
    Case("typography", "« Les travaux coûtent 1850 euros par mois » [S3]", False),
    # numbers and negations
    Case("number", '"took 0.3 ms" [S1]', True, "near"),
    Case("number", '"Prices change 90,000 times an hour" [S1]', True, "near"),
    Case("number", '"took 24 ms at the 95th percentile" [S1]', True, "near"),
    Case("number", '"the median card is 31 kB" [S1]', True, "near"),
    Case("number", "„Die Sanierung kostet 1.850 Euro“ [S2]", True),
    Case("number", "„dauert 35 Monate“ [S2]", True),
    Case("negation", '"Our service level objective for a card is not 120 ms" [S1]', True),
    Case("negation", '"in-process caches on 6 hosts that were invalidated" [S1]', True, "near"),
    Case("negation", '"The replica [never] cannot read unlogged tables" [S1]', True, "near"),
    Case("negation", '"in-process caches on 6 hosts … were … invalidated" [S1]', True),
    Case("hidden negation", '"caches on 6 hosts that were … invalidated and none" [S1]', True),
    Case("hidden negation", "„Das Becken ist heute … sicher für alle Badegäste“ [S2]", True, "near"),
    Case("hidden negation", "« le bassin est … sans danger pour tous » [S3]", False, "unclear"),
    Case("hidden negation", "„Die Sanierung kostet … mit dem Förderverein abgestimmt“ [S2]", False, "verified"),
    # sources
    Case("no such source", f'"{TRUE}" [S7]', True, "no_source"),
    Case("no such source", 'S9 says "Redis never fails in our experience" [S9]', True, "no_source"),
    Case("another source", f'"{TRUE}" [S2]', True),
    Case("a name like a tag", 'We keep it in S4: "cheap and slow" is all it is.', False),
)
SAID = ("I still think that it will be cheaper to wait for the autumn.",)


@dataclass(slots=True)
class Score:
    """How the false quotes of a group were found."""

    quotes: int = 0
    found: int = 0
    missed: int = 0
    wrongly: int = 0

    @property
    def precision(self) -> float:
        return self.found / (self.found + self.wrongly) if self.found + self.wrongly else 1.0

    @property
    def recall(self) -> float:
        return self.found / (self.found + self.missed) if self.found + self.missed else 1.0

    def __add__(self, other: Score) -> Score:
        return Score(
            self.quotes + other.quotes,
            self.found + other.found,
            self.missed + other.missed,
            self.wrongly + other.wrongly,
        )


def by_form(cases: Sequence[Case]) -> Iterator[tuple[str, Score]]:
    for form in dict.fromkeys(case.form for case in cases):
        yield form, sum((of_case(case) for case in cases if case.form == form), Score())


def of_debates() -> Iterator[tuple[str, Score]]:
    whole = orjson.loads((STRONG / "quotes.json").read_bytes())
    known = {**{name: Source(name=name, text=text) for name, text in whole["sources"].items()}, NUMBERS.name: NUMBERS}
    for debate in whole["debates"]:
        yield debate["debate"], of_debate(debate, known)


def of_case(case: Case) -> Score:
    flagged = any(quote.false for quote in checked(case))
    return Score(1, case.false and flagged, case.false and not flagged, flagged and not case.false)


def checked(case: Case) -> tuple[Checked, ...]:
    return check_all(case.text, case.sources, SAID)


def of_debate(debate: Mapping[str, Any], known: Mapping[str, Source]) -> Score:
    sources = [known[name] for name in debate["sources"]]
    speeches: Sequence[str] = debate["speeches"]
    false: Sequence[str] = debate["false"]
    total = Score()
    for at, speech in enumerate(speeches):
        quotes = check_all(speech, sources, [debate["topic"], *speeches[:at]])
        flagged = [quote.quote for quote in quotes if quote.false]
        there = [quote for quote in false if quote in speech]
        found = sum(quote in flagged for quote in there)
        total += Score(len(quotes), found, len(there) - found, sum(quote not in there for quote in flagged))
    return total
