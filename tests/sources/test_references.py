"""References: which tag of a text leads to which place of which source, and which leads nowhere."""

from __future__ import annotations

import pytest

from moot.sources.references import MAX_PART, Index, Reference, SourceText, Unresolved, index
from moot.sources.source import Source

REPORT = Source(
    name="report.pdf",
    text="Pools cost money.\n\f\nIn 2023, 1,850 children learned to swim in the pool.\n\f\n# Costs\nIt costs 40,000.",
)
NOTES = Source(
    name="notes.md", text="# Notes\nThe winter was long, and nobody came to swim before noon.\n## Open\nAsk S7."
)
UNREAD = Source(name="unread.txt", text="Nobody has ever opened this.")
SOURCES = Index([REPORT, NOTES, UNREAD], "Should the pool close?")


def tagged(text: str) -> list[str]:
    return [text[found.start : found.end] for found in SOURCES.references(text)]


def led_to(found: Reference) -> str:
    """The source from where a reference leads."""
    target, source = SOURCES.target(found), SOURCES.source(found.tag)
    assert target
    assert source
    return source.text[target.at :]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("As [S1] shows, and [S3 p. 12] too.", ["S1", "S3 p. 12"]),
        ("S1 says so; see S2, page 3, and (S3, S. 4).", ["S1", "S2, page 3", "S3, S. 4"]),
        ("[see S1; S2 § Open]", ["S1", "S2 § Open"]),
        ("[s1] and [S9]", ["s1", "S9"]),
        ("the S9, the AS1 road, S1-class, example.org/S1, S1.txt, v.S1", []),
        ("[S1-S3], (S1–S2)", ["S1", "S3", "S1", "S2"]),
        ("[S1 pp. 3-4, 7], (S2 p. 3–5; S3)", ["S1 pp. 3-4, 7", "S2 p. 3–5", "S3"]),
        ("[S2 § Open; S1 p. 2], S1 §2.1 says", ["S2 § Open", "S1 p. 2", "S1 §2.1"]),
        ("S1 p. 3, 14 children", ["S1 p. 3"]),
        ("", []),
    ],
)
def test_tags_are_found_in_brackets_and_without_them_if_there_is_such_a_source(text: str, expected: list[str]) -> None:
    assert tagged(text) == expected


def test_a_tag_that_the_question_or_a_source_has_as_a_word_counts_only_in_brackets() -> None:
    buckets = Index([REPORT, NOTES, UNREAD], "Should we use S3 for files?")
    assert [found.tag for found in buckets.references("S3 is cheap, says S1 [S3].")] == ["S1", "S3"]


def test_a_reference_knows_what_is_quoted_with_it_and_leads_there() -> None:
    text = (
        'It says "1,850 children learned to swim" [S1 p. 2]; S2 says "nobody came to swim before noon". See [S1 p. 3].'
    )
    found = SOURCES.references(text)
    assert [(each.tag, each.pages, each.quote) for each in found] == [
        ("S1", ((2, 2),), "1,850 children learned to swim"),
        ("S2", (), "nobody came to swim before noon"),
        ("S1", ((3, 3),), ""),
    ]
    first, second, third = map(led_to, found)
    assert (first[:14], second[:11], third[:7]) == ("1,850 children", "nobody came", "# Costs")
    assert SOURCES.target(found[2]) == (75, "page-3")


def test_a_reference_leads_to_a_section_or_else_to_the_top() -> None:
    section, top, nowhere = SOURCES.references("[S2 § Open] S2 [S8]")
    assert led_to(section).startswith("## Open")
    assert (SOURCES.target(top), SOURCES.target(nowhere)) == ((0, ""), None)


def test_the_report_says_what_carried_the_decision_what_was_cited_and_what_was_never_used() -> None:
    said = {
        3: 'It says "1,850 children learned to swim" [S1 p. 2], and nobody came, says S2.',
        4: 'Again: "1,850 children learned to swim" [S1].',
        5: 'No: "nobody came to swim before ten" [S2], "all is well with us" [S1], "one two three" [S7], [S1 p. 9], '
        "[S2 § X]",
    }
    report = SOURCES.report(said, basis=["Keep it: 1,850 children [S1]."])
    assert [(each.tag, each.use, each.turns) for each in report.sources] == [
        ("S1", "carried", (3, 4, 5)),
        ("S2", "cited", (3, 5)),
        ("S3", "unused", ()),
    ]
    first, second, _ = report.sources
    assert [(first.words(each), each.exact, each.turns) for each in first.passages] == [
        ("1,850 children learned to swim", True, (3, 4))
    ]
    assert [(second.words(each), each.exact) for each in second.passages] == [
        ("nobody came to swim before noon.", False)
    ]
    assert report.unresolved == (
        Unresolved(5, "S2", "misquoted", "nobody came to swim before ten", "nobody came to swim before noon."),
        Unresolved(5, "S1", "not_found", "all is well with us"),
        Unresolved(5, "S7", "no_source", "one two three"),
        Unresolved(5, "S1 p. 9", "no_page"),
        Unresolved(5, "S2 § X", "no_section"),
    )


def test_a_quote_with_another_page_than_its_own_is_told() -> None:
    text = "One two three four.\n\f\nFive six seven\n\f\neight nine ten.\n\f\nOne two three four."
    said = (
        '"one two three four" [S1 p. 1], "one two three four" [S1 p. 4], "six seven eight nine" [S1 p. 2], '
        '"six seven eight nine" [S1 p. 3], "eight nine ten" [S1 p. 1]'
    )
    report = Index([Source(name="a.pdf", text=text)], "Count?").report({0: said})
    assert report.unresolved == (Unresolved(0, "S1 p. 1", "other_page", "eight nine ten", "p. 3"),)


def test_words_that_are_quoted_wrongly_lead_to_what_the_source_says_once_a_report_has_found_it() -> None:
    text = 'S2: "The winter was long, and nobody came to drink before noon" [S2].'
    fresh = Index([REPORT, NOTES], "Should the pool close?")
    (found,) = fresh.references('"The winter was long, and nobody came to drink before noon" [S2]')
    assert fresh.target(found) == (0, "")
    fresh.report({0: text})
    assert fresh.target(found) == (8, "at-8")


def test_a_turn_that_a_decision_is_linked_to_carries_it_with_what_it_quotes_rightly() -> None:
    said = {1: 'S2 says "nobody ever came to swim at all there" and [S1] has figures.'}
    report = SOURCES.report(said, linked=[1])
    assert [each.use for each in report.sources] == ["carried", "cited", "unused"]


def test_without_sources_there_is_nothing_to_report_and_no_tag() -> None:
    nothing = index((), "Should the pool close?")
    assert nothing.references("[S1] S1") == []
    assert nothing.report({0: "[S1]"}).sources == ()


def test_a_long_source_is_shown_in_parts_that_end_with_a_line() -> None:
    text = SourceText(("x" * 99 + "\n") * 1000)
    assert [text.text[start:end][-1] for start, end in text.parts] == ["\n"] * len(text.parts)
    assert "".join(text.text[start:end] for start, end in text.parts) == text.text
    assert [text.part_at(0), text.part_at(len(text.text) - 1)] == [1, len(text.parts)]
    assert len(SourceText("y" * (2 * MAX_PART + 1)).parts) == 3


def test_a_text_of_nothing_but_tags_takes_time_in_proportion() -> None:
    text = '"one two three" [S1] ' * 2000
    assert len(SOURCES.references(text)) == 2000


def test_a_reference_is_a_plain_value() -> None:
    assert SOURCES.references("[S1]") == [Reference(1, 3, "S1")]


def test_pages_from_one_to_another_are_all_of_them() -> None:
    text = "One two three four.\f\nFive six seven.\f\nEight nine ten."
    said = (
        '"eight nine ten" [S1 pp. 2-3], "eight nine ten" [S1 p. 1, 3], "five six seven" [S1 p. 1–3], '
        '"eight nine ten" [S1 p. 1–2], [S1 p. 2–9]'
    )
    report = Index([Source(name="a.pdf", text=text)], "Count?").report({0: said})
    assert report.unresolved == (
        Unresolved(0, "S1 p. 1–2", "other_page", "eight nine ten", "p. 3"),
        Unresolved(0, "S1 p. 2–9", "no_page"),
    )


def test_sources_from_one_to_another_are_all_cited() -> None:
    report = SOURCES.report({0: "All agree [S1-S3]."}, basis=["So it is [S1–S3]."])
    assert [(each.use, each.turns) for each in report.sources] == [("carried", (0,))] * 3


@pytest.mark.parametrize(
    ("cited", "heading"),
    [
        ("[S1 §2]", "## 2. Costs"),
        ("S1 §2 says", "## 2. Costs"),
        ("[S1 section 2]", "## 2. Costs"),
        ("[S1 § Costs]", "## 2. Costs"),
        ("[S1 § 3.1]", "3.1 Open questions"),
        ("[S1 § Lessons]", "## Lessons"),
    ],
)
def test_a_section_is_found_by_its_number_or_its_words(cited: str, heading: str) -> None:
    text = "# All\nThere are 2\n2 cats like lessons\n\n## 2. Costs\nNone.\n## Lessons\nMany.\f3.1 Open questions\n"
    sources = Index([Source(name="a.md", text=text)], "Count?")
    (found,) = sources.references(cited)
    target = sources.target(found)
    assert target
    assert text[target.at :].startswith(heading)
    assert sources.faults(cited) == []
