"""A debate as a document: all of it is there, and nothing that was said in it can break it.

To change the document, write it, run

    REWRITE_SNAPSHOTS=1 uv run pytest tests/export/test_transcript.py

and read the difference that git shows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from moot.core.debate import Record, SeatSettings, Status, Turn
from moot.core.stored import StoredDebate
from moot.export.transcript import transcript as document
from moot.formats.duel.format import DUEL, Verdict
from moot.reading.debate import Reading
from moot.text.markdown import contained, in_line

SNAPSHOT = Path(__file__).parent.parent / "snapshots" / "transcript.md"
RECORD = Record(
    id="DEB-abcd1234",
    format="duel",
    format_version=1,
    topic="Should we use GraphQL or REST?\n\nOur clients are *many*; see <https://example.org>.",
    settings={"max_rounds": 2},
    seats={
        "debater_a": SeatSettings("http://10.0.0.1:8000/v1#qwen", 0.7, 600),
        "judge": SeatSettings("x:two", 0.2, 400),
    },
    created_at=1_764_892_800.0,
    status=Status.FINISHED,
    stop_reason="max_rounds",
)
TURNS = (
    Turn(
        position=0,
        seat="debater_a",
        kind="argument",
        round=1,
        content="# REST\n\nIt is *simple*:\n\n```http\nGET /users/<id>\n```",
    ),
    Turn(position=1, seat="human", kind="guidance", round=None, content="Think of our team."),
    Turn(
        position=2,
        seat="debater_b",
        kind="argument",
        round=1,
        content="Claim\n=====\n<b>GraphQL</b> has `List<User>`.",
        marks=("truncated",),
    ),
    Turn(
        position=3,
        seat="debater_a",
        kind="argument",
        round=2,
        content="| cost | REST |\n|---|---|\n| cache | free |\n\n```\nnever closed",
    ),
    Turn(
        position=4,
        seat="judge",
        kind="verdict",
        round=None,
        content="A was clearer.\n\n## Round 9\n\n### Debater A · argument",
    ),
)
OUTCOME = Verdict(
    winner="a",
    score_a=7,
    score_b=4.5,
    stance_a="pro",
    stance_b="con",
    no_new_substantive_arguments=False,
    fallback=False,
    models={},
    summary="A was clearer.\n\n# Not a title",
    caveats=["the judge is of the same model family (x_*y*) as Debater A", "[link](http://example.org) | <b>"],
)
PIECES = (
    *(
        "#",
        "# ",
        "- ",
        "1. ",
        "> ",
        "    ",
        "\t",
        " ",
        "\n",
        "\n\n",
        "\r",
        "\u2028",
        "\x00",
        "a",
        "*",
        "=",
        "-",
        "|",
        "\\",
    ),
    *("```", "~~~", "`", "``", "\n---\n", "\n===\n", "\n-\n", "|---|---|\n", "[a]: b", "[a]", "![x](y)", "![", "](x)"),
    *("<script>", "</a>", "<a id='turn-1'>", "<!--", "<?", "<![CDATA[", "&lt;"),
)
HOSTILE = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES), max_size=25).map("".join))


def read(text: str) -> tuple[list[Token], dict[str, object]]:
    """As a reader does that knows HTML and tables."""
    env: dict[str, object] = {}
    return MarkdownIt("commonmark", {"maxNesting": 200}).enable("table").parse(text, env), env


def outline(text: str) -> list[str]:
    """The headings that are not within something else."""
    tokens, _ = read(text)
    return [
        f"{token.markup} {tokens[at + 1].content}"
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


def anchors(text: str) -> list[str]:
    return [
        token.content for token in read(text)[0] for token in (token, *(token.children or ())) if "html" in token.type
    ]


# The document


def markdown(record: Record, turns: Sequence[Turn] = (), outcome: Verdict | None = None) -> str:
    whole = replace(record, outcome=outcome.model_dump(mode="json") if outcome else None)
    return document(Reading(StoredDebate(whole, tuple(turns)), DUEL))


def test_the_document_is_that_of_the_snapshot() -> None:
    made = markdown(RECORD, TURNS, OUTCOME)
    if os.environ.get("REWRITE_SNAPSHOTS"):
        SNAPSHOT.write_text(made, encoding="utf-8")
    assert made == SNAPSHOT.read_text(encoding="utf-8")


def test_its_outline_is_its_own() -> None:
    _, _, body = markdown(RECORD, TURNS, OUTCOME).split("---\n", 2)
    assert outline(body) == [
        "# Should we use GraphQL or REST? Our clients are \\*many\\*; see \\<https://example.org\\>.",
        "## Question",
        "## Outcome",
        "#### Not a title",
        "## Round 1",
        "### Debater A · argument",
        "#### REST",
        "### Human · guidance",
        "### Debater B · argument",
        "## Round 2",
        "### Debater A · argument",
        "## Closing",
        "### Judge · verdict",
        "##### Round 9",
        "###### Debater A · argument",
    ]


def test_tools_read_its_front_matter() -> None:
    _, head, _ = markdown(RECORD, TURNS, OUTCOME).split("---\n", 2)
    assert yaml.safe_load(head) == {
        "title": "Should we use GraphQL or REST? Our clients are *many*; see <https://example.org>.",
        "debate": "DEB-abcd1234",
        "format": "duel",
        "date": "2025-12-05",
        "status": "finished",
        "stop_reason": "max_rounds",
        "models": ["Debater A: qwen", "Judge: x:two"],
    }


def test_a_german_debate_has_a_german_document_and_says_in_german_why_it_ended() -> None:
    outcome = OUTCOME.model_copy(update={"language": "de"}).model_dump(mode="json")
    german = replace(RECORD, topic="Soll die Stadt ihr Freibad schließen?", outcome=outcome)
    reading = Reading(StoredDebate(german, TURNS), DUEL)
    text = document(reading)
    assert reading.reason == "alle Runden wurden gespielt"
    assert "· alle Runden wurden gespielt" in text
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## Ergebnis", "## Runde 1", "## Runde 2", "## Schluss"]
    assert "Bevor Sie sich darauf verlassen:" in text


def test_what_a_person_chose_without_a_word_is_told() -> None:
    chosen = Turn(position=0, seat="human", kind="checkpoint", round=1, content="", data={"action": "continue"})
    assert markdown(RECORD, [chosen]).endswith("### Human · checkpoint\n\ncontinue\n")


def test_a_debate_without_turns_or_outcome_is_a_document_too() -> None:
    record = replace(RECORD, topic="Cats?", seats={}, status=Status.STOPPED, stop_reason=None)
    assert markdown(record) == (
        "---\ntitle: Cats?\ndebate: DEB-abcd1234\nformat: duel\ndate: '2025-12-05'\nstatus: stopped\nmodels: []\n---\n"
        "\n"
        "# Cats?\n\nduel · DEB-abcd1234 · 2025-12-05 · stopped\n\n## Outcome\n\nThere is none: the debate is stopped.\n"
    )


def test_a_long_question_is_cut_in_the_title_alone() -> None:
    made = markdown(replace(RECORD, topic="why " * 100))
    assert f"# {'why ' * 29}why…\n" in made
    assert f"## Question\n\n{('why ' * 100)}\n" in made


@pytest.mark.parametrize(
    ("rounds", "names"),
    [
        ([None, 1, None, 1, 2, None, None], ["Opening", "Round 1", "Round 2", "Closing"]),
        ([None, None], ["Opening"]),
        ([1, 2], ["Round 1", "Round 2"]),
        ([], []),
    ],
)
def test_turns_are_grouped_by_round(rounds: list[int | None], names: list[str]) -> None:
    turns = [
        Turn(position=at, seat="debater_a", kind="argument", round=round, content="Yes.")
        for at, round in enumerate(rounds)
    ]
    found = [line[3:] for line in outline(markdown(RECORD, turns)) if line.startswith("## ")]
    assert found[-len(names) - 1 :] == ["Outcome", *names]


@given(st.lists(HOSTILE, min_size=1, max_size=3), HOSTILE)
@example(["- a"], "    <!A")
@example(["    <b>"], "- a\n\n  <b>")
def test_no_turn_adds_to_the_outline_or_the_anchors(contents: list[str], summary: str) -> None:
    turns = [
        Turn(position=at, seat="debater_a", kind="argument", round=1, content=content)
        for at, content in enumerate(contents)
    ]
    outcome = OUTCOME.model_copy(update={"summary": summary})
    made = markdown(replace(RECORD, topic="Cats?"), turns, outcome)
    body = made.split("---\n", 2)[2]
    assert anchors(body) == [part for at in range(len(turns)) for part in (f'<a id="turn-{at}">', "</a>")]
    headings = [line for line in outline(body) if line.startswith(("# ", "## ", "### Debater"))]
    assert headings == ["# Cats?", "## Outcome", "## Round 1", *["### Debater A · argument"] * len(turns)]


# What somebody else wrote


@given(HOSTILE)
@example("```")
@example("- ```\n  <b>")
@example("~~~~\n```\n~~~")
@example(">" * 25 + " a ` b\n" + ">" * 25 + " ` <script> `")
@example("| a | b |\n|---|---|\n| `a | <b>` |")
@example("[a\nb]: javascript:x")
@example("text\n\\\\![x](y)")
def test_contained_text_stays_in_its_place(text: str) -> None:
    tokens, env = read(f"{contained(text, 3)}\n\nThe end.")
    parts = [*tokens, *(part for token in tokens for part in token.children or ())]
    assert [(token.type, token.level, token.content) for token in tokens[-3:]] == [
        ("paragraph_open", 0, ""),
        ("inline", 1, "The end."),
        ("paragraph_close", 0, ""),
    ]
    assert {part.type for part in parts} & {"html_block", "html_inline", "image"} == set()
    assert {part.tag for part in parts} & {"h1", "h2", "h3"} == set()
    assert not env.get("references")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (
            "Plain, *with* **stress** and a [link](http://a.example).",
            "Plain, *with* **stress** and a [link](http://a.example).",
        ),
        ("- one\n- two\n\n1. three", "- one\n- two\n\n1. three"),
        ("# One\n\n## Two\n\n#### Four", "#### One\n\n##### Two\n\n###### Four"),
        ("> # Quoted", "> #### Quoted"),
        ("Title\n=====\nText", "Title\n\nText"),
        ("a < b and <b>bold</b>", "a &lt; b and &lt;b>bold&lt;/b>"),
        ("`a<b>` and ``<`>`` but <i>", "`a<b>` and ``<`>`` but &lt;i>"),
        ("`over\ntwo <lines>`", "`over\ntwo <lines>`"),
        ("`a\n\n<b>`", "`a\n\n&lt;b>`"),
        ("\\`<b>\\`", "\\`&lt;b>\\`"),
        ("```python\nx <y\n# no heading\n```", "```python\nx <y\n# no heading\n```"),
        ("1. step\n   ```\n   <x>\n   ```", "1. step\n   ```\n   <x>\n   ```"),
        ("    # code <b>", "    # code <b>"),
        ("```\nopen", "```\nopen\n```"),
        ("~~~~ x\n~~~", "~~~~ x\n~~~\n~~~~"),
        ("![cat](http://a.example/cat.png)", "\\![cat](http://a.example/cat.png)"),
        ("[a]: http://a.example", "[a]\\: http://a.example"),
        ("one\r\ntwo\u2028three\x1b[31m", "one\ntwo\nthree\ufffd[31m"),
        ("| a | b |\n|---|---|\n| `x | <b>` |", "```text\n| a | b |\n|---|---|\n| `x | <b>` |\n```"),
        ("\\\\![x](y) ```` z", "`````text\n\\\\![x](y) ```` z\n`````"),
        ("", ""),
    ],
)
def test_text_keeps_its_formatting_as_far_as_it_can(text: str, made: str) -> None:
    assert contained(text, 3) == made


@given(st.text(alphabet="\\`*_[]<>|~#!&$ \n\ta(1):ltä;", max_size=30))
@example("&lt;b&gt; <b> [a](b) `c` ![d](e)")
def test_text_in_a_line_reads_letter_by_letter(text: str) -> None:
    tokens, env = read(f"# {in_line(text)}")
    parts = tokens[1].children or []
    assert "".join(part.content for part in parts) == " ".join(text.split())
    assert {part.type for part in parts} <= {"text"}
    assert not env.get("references")
