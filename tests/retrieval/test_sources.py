"""Reading what a debate may cite: real files, and a PDF written by hand."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter

from moot.errors import InvalidInput, NotFound
from moot.retrieval import extract as extraction
from moot.retrieval.extract import MAX_PAGES, MAX_TEXT, extract
from moot.retrieval.folders import MAX_FILES
from moot.retrieval.markup import MAX_UNPACKED
from moot.retrieval.sources import MAX_FILE, NO_TEXT, Gathered, read_all, read_data, read_sent
from moot.sources.quotes import check
from moot.sources.source import Source
from pdf_file import made_of, pdf

TEXT = "Größe zählt – “nicht”.\n"


def read(path: Path) -> Source:
    (source,) = read_all([path]).sources
    return source


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_text_is_read_in_whatever_encoding_it_is_written(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "notes.md"
    path.write_bytes(TEXT.encode(encoding))
    assert read(path) == Source(name="notes.md", text=TEXT)


def test_the_pages_of_a_pdf_are_read_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(pdf("The first page ends in the middle", "of a sentence."))
    source = read(path)
    assert source == Source(name="report.pdf", text="The first page ends in the middle\n\f\nof a sentence.")
    assert check("in the middle of a sentence", source.text).verdict == "verified"


def test_a_pdf_is_known_by_its_beginning_and_not_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_bytes(pdf("Some words."))
    (tmp_path / "text.pdf").write_text("Some words.")
    assert [source.text for source in read_all([tmp_path / "report.txt", tmp_path / "text.pdf"]).sources] == [
        "Some words."
    ] * 2


def test_an_encrypted_pdf_is_refused_unless_it_opens_without_a_password(tmp_path: Path) -> None:
    (tmp_path / "plain.pdf").write_bytes(pdf("Some words."))
    for name, password in [("locked.pdf", "secret"), ("open.pdf", "")]:
        writer = PdfWriter(clone_from=PdfReader(tmp_path / "plain.pdf"))
        writer.encrypt(password, "owner", algorithm="RC4-128")
        writer.write(tmp_path / name)
    assert read(tmp_path / "open.pdf") == Source(name="open.pdf", text="Some words.")
    with pytest.raises(InvalidInput) as refused:
        read(tmp_path / "locked.pdf")
    assert str(refused.value) == f"{tmp_path / 'locked.pdf'} is encrypted; save it without a password"


WHOLE = pdf("Some words.")
REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pipe": (os.mkfifo, "is no file; name files, folders or patterns such as 'docs/**/*.md'"),
    "nothing in it": (Path.touch, "is empty; give a file with text"),
    "white space": (lambda path: path.write_text(" \n\t\n"), "is empty; give a file with text"),
    "a picture": (
        lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff"),
        NO_TEXT,
    ),
    "a program": (lambda path: path.write_bytes(b"\x7fELF\0\0"), NO_TEXT),
    "half of UTF-16": (lambda path: path.write_bytes(b"\xff\xfea"), NO_TEXT),
    "too large": (
        lambda path: path.write_bytes(b"a" * (MAX_FILE + 1)),
        "is larger than 20 MB; give the part that matters",
    ),
    "a scan": (
        lambda path: path.write_bytes(pdf("")),
        "has no text, only pictures; run it through text recognition (OCR) first",
    ),
    "a PDF of far too many pages": (
        lambda path: path.write_bytes(pdf(*[""] * (MAX_PAGES + 1))),
        "has over 2,000 pages, or takes over 60 s to read; give the part that matters",
    ),
    "a PDF's beginning": (
        lambda path: path.write_bytes(WHOLE[:60]),
        "is a damaged PDF (PdfStreamError); save it anew or give its text",
    ),
    "a PDF without pages": (
        lambda path: path.write_bytes(made_of(["<< /Type /Catalog >>"])),
        "is a damaged PDF (PdfReadError); save it anew or give its text",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_readable_text_is_refused_with_what_to_do(tmp_path: Path, kind: str) -> None:
    make, message = REFUSED[kind]
    path = tmp_path / "thing"
    make(path)
    with pytest.raises(InvalidInput) as refused:
        read(path)
    assert str(refused.value) == f"{path} {message}"


def test_a_file_that_takes_too_long_is_refused_and_its_process_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow.pdf").write_bytes(pdf("One.", "Two."))
    monkeypatch.setattr(extraction, "MAX_SECONDS", 0.001)
    with pytest.raises(InvalidInput, match="takes over 60 s to read; give the part that matters"):
        read(tmp_path / "slow.pdf")


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as missing:
        read(tmp_path / "no.md")
    assert str(missing.value) == f"no file {tmp_path / 'no.md'}"


def test_a_name_the_system_cannot_take_is_refused(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 300)
    with pytest.raises(InvalidInput) as refused:
        read(path)
    assert str(refused.value) == f"{path} cannot be read: File name too long"


@given(at=st.integers(0, len(WHOLE) - 1), byte=st.integers(0, 255))
def test_a_pdf_with_any_byte_changed_is_read_or_refused_and_never_breaks(at: int, byte: int) -> None:
    with suppress(InvalidInput):
        assert extract("pdf", WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :]).strip()


def test_files_of_one_name_become_sources_of_different_names(tmp_path: Path) -> None:
    paths = [tmp_path / folder / name for folder in "abc" for name in ("notes.md", "x" * 120)]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(path.parent.name)
    assert read_all(paths).sources == (
        Source(name="notes.md", text="a"),
        Source(name="x" * 120, text="a"),
        Source(name="notes.md (2)", text="b"),
        Source(name="x" * 114 + " (2)", text="b"),
        Source(name="notes.md (3)", text="c"),
        Source(name="x" * 114 + " (3)", text="c"),
    )


@pytest.mark.parametrize(
    ("file", "name"), [('a<b>"c".md', "a_b__c_.md"), ("a\nb", "a_b"), (" ", "source"), ("y" * 200, "y" * 120)]
)
def test_a_file_s_name_becomes_a_name_that_no_prompt_stumbles_over(tmp_path: Path, file: str, name: str) -> None:
    path = tmp_path / file
    path.write_text("words")
    assert read(path) == Source(name=name, text="words")


def test_all_sources_together_have_a_limit(tmp_path: Path) -> None:
    half, rest = tmp_path / "half.txt", tmp_path / "rest.txt"
    half.write_text("a" * (MAX_TEXT // 2))
    rest.write_text("b" * (MAX_TEXT // 2))
    assert [len(source.text) for source in read_all([half, rest]).sources] == [MAX_TEXT // 2] * 2
    rest.write_text("b" * (MAX_TEXT // 2 + 1))
    with pytest.raises(InvalidInput) as refused:
        read_all([half, rest])
    assert str(refused.value) == f"the sources up to {rest} are over 2,000,000 characters; give fewer or shorter ones"


# Pages and Word documents

PAGE = """<!doctype html><html><head><title>Pools</title><style>p { color: red }</style></head><body>
<nav><a href="/">Home</a></nav><h1>Fees &amp; hours</h1><p>Open
daily.<br>Closed on <b>Mon</b>days.</p><ul><li>Adults</li><li>Children</li></ul>
<table><tr><th>Year</th><th>Guests</th></tr><tr><td>2019</td><td>281,000</td></tr></table>
<pre>a
  b</pre><script>alert("no")</script></body></html>"""
PAGE_TEXT = """Pools

# Fees & hours

Open daily.
Closed on Mondays.

- Adults

- Children

| Year | Guests |
| --- | --- |
| 2019 | 281,000 |

a
  b"""


def test_of_a_page_only_what_a_reader_sees_is_read(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    (tmp_path / "page.txt").write_text(PAGE)
    (tmp_path / "old.htm").write_bytes("<meta charset='shift_jis'><p>日本語".encode("shift_jis"))
    read = read_all([tmp_path / "page.html", tmp_path / "page.txt", tmp_path / "old.htm"]).sources
    assert [source.text for source in read] == [PAGE_TEXT, PAGE_TEXT, "日本語"]


DOCUMENT = """<w:document xmlns:w="w" xmlns:mc="mc"><w:body>
<w:p><w:pPr><w:pStyle w:val="berschrift2"/></w:pPr><w:r><w:t>Fees </w:t></w:r><w:r><w:t>2025</w:t></w:r></w:p>
<w:p><w:r><w:t>Open</w:t><w:tab/><w:t>daily.</w:t><w:br/><w:t>Always.</w:t><w:delText>Gone.</w:delText></w:r></w:p>
<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>Adults</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Year</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Guests</w:t></w:r></w:p></w:tc></w:tr>
<w:tr><w:tc><w:p><w:r><w:t>2019</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc></w:tr></w:tbl>
<mc:AlternateContent><mc:Choice><w:p><w:r><w:t>Once.</w:t></w:r></w:p></mc:Choice>
<mc:Fallback><w:p><w:r><w:t>Twice.</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>
</w:body></w:document>"""
STYLES = """<w:styles xmlns:w="w"><w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style></w:styles>"""


def docx(document: str, **more: str) -> bytes:
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as archive:
        for name, text in {"document": document, "styles": STYLES, **more}.items():
            archive.writestr(f"word/{name}.xml", text)
    return made.getvalue()


def test_a_word_document_keeps_its_headings_lists_and_tables() -> None:
    note = """<w:footnotes xmlns:w="w"><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnotes>"""
    assert extract("docx", docx(DOCUMENT, footnotes=note)).split("\n\n") == [
        "## Fees 2025",
        "Open daily.\nAlways.",
        "- Adults",
        "| Year | Guests |\n| --- | --- |\n| 2019 |  |",
        "Once.",
        "A note.",
    ]


LAUGHS = """<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><w:document xmlns:w="w">&b;</w:document>"""


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (docx(LAUGHS), "declares entities, which no Word document does; save it anew"),
        (docx(DOCUMENT, bomb="0" * (MAX_UNPACKED + 1)), "unpacks to over 200 MB; give the part that matters"),
        (docx(DOCUMENT)[:300], "is a damaged Word document (BadZipFile); save it anew or give its text"),
        (docx("<w:p>"), "is a damaged Word document (ExpatError); save it anew or give its text"),
    ],
    ids=["entities", "a zip bomb", "half of it", "broken inside"],
)
def test_a_word_document_that_is_no_honest_one_is_refused(data: bytes, fault: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        extract("docx", data)
    assert str(refused.value) == fault


def test_what_takes_all_memory_is_refused_and_the_next_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first file ends the process: it is a folder's in which that is no reason to read nothing."""
    (tmp_path / "python").write_text(f'#!/bin/sh\ncase $5 in *bomb*) exit 1;; esac\nexec {sys.executable} "$@"\n')
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "bomb.pdf").write_bytes(WHOLE)
    (tmp_path / "whole.pdf").write_bytes(WHOLE)
    bomb, whole = extraction.extract_all([(tmp_path / name, "pdf") for name in ("bomb.pdf", "whole.pdf")])
    assert (str(bomb), whole) == ("takes too much memory to read; give the part that matters", "Some words.")


@pytest.mark.parametrize(
    ("name", "text", "read_as"),
    [
        ("a.csv", 'Year,Guests\n2019,"281,000"\n', "| Year | Guests |\n| --- | --- |\n| 2019 | 281,000 |"),
        ("a.csv", "Jahr;Gäste\n2019;281.000\n", "| Jahr | Gäste |\n| --- | --- |\n| 2019 | 281.000 |"),
        ("a.tsv", "Year\tGuests\n2019\t\n", "| Year | Guests |\n| --- | --- |\n| 2019 |  |"),
        ("a.csv", "just words\nof a text", "just words\nof a text"),
        ("a.csv", f"a,b\n{'x' * 200_000},1", f"a,b\n{'x' * 200_000},1"),
    ],
)
def test_what_a_spreadsheet_wrote_is_read_as_a_table(name: str, text: str, read_as: str) -> None:
    assert read_data(name, text.encode()) == Source(name=name, text=read_as)


# Folders and patterns


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {
        ".git/config": "",
        ".gitignore": "# made\n*.log\n!kept.log\n/build/\ndeep/**/cache\n",
        "README.md": "Read me.",
        "notes.log": "no",
        "kept.log": "Kept.",
        "build/made.txt": "no",
        "src/.env": "no",
        "src/main.py": "print(1)",
        "src/build/x.py": "print(2)",
        "src/.gitignore": "own.txt",
        "src/own.txt": "no",
        "deep/a/cache/x.txt": "no",
        "deep/a/b.txt": "Deep.",
        "empty.txt": "",
    }
    for name, text in files.items():
        path = tmp_path / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "repo" / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (tmp_path / "secret.txt").write_text("no")
    (tmp_path / "repo" / "link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "repo" / "loop").symlink_to(tmp_path / "repo")
    return tmp_path / "repo"


def test_a_folder_is_read_without_what_is_hidden_ignored_linked_or_no_text(repository: Path) -> None:
    gathered = read_all([repository])
    assert [source.name for source in gathered.sources] == [
        f"repo/{name}" for name in ("README.md", "deep/a/b.txt", "kept.log", "src/build/x.py", "src/main.py")
    ]
    assert gathered.left_out == (
        "12 files left out: hidden (4), ignored by git (4), is empty (1), is no text (1), symbolic link (2)"
    )


def test_a_pattern_finds_files_and_the_rules_above_its_folder_hold(repository: Path) -> None:
    assert [source.name for source in read_all([f"{repository}/src/**/*.py"]).sources] == ["build/x.py", "main.py"]
    assert [source.name for source in read_all([f"{repository}/*/main.*"]).sources] == ["src/main.py"]


def test_a_file_that_is_named_itself_is_read_whatever_it_is(repository: Path) -> None:
    named = [repository / "notes.log", repository / "src" / ".env", repository / "link.txt"]
    assert [source.name for source in read_all(named).sources] == ["notes.log", ".env", "link.txt"]


def test_a_damaged_file_in_a_folder_is_left_out_and_said(tmp_path: Path) -> None:
    (tmp_path / "damaged.pdf").write_bytes(WHOLE[:60])
    (tmp_path / "whole.pdf").write_bytes(WHOLE)
    text = "Some words."
    assert read_all([tmp_path]) == Gathered(
        (Source(name=f"{tmp_path.name}/whole.pdf", text=text),), {"is a damaged PDF (PdfStreamError)": 1}
    )


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    (tmp_path / ".hidden").touch()
    for name, left_out in [(tmp_path, " (1 left out)"), (tmp_path / "*.md", "")]:
        with pytest.raises(NotFound) as missing:
            read_all([name])
        assert str(missing.value) == f"no file to read in {name}{left_out}"


def test_too_many_files_are_refused_before_they_are_read(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 1):
        (tmp_path / f"{number:03}.txt").touch()
    with pytest.raises(InvalidInput) as refused:
        read_all([tmp_path])
    assert str(refused.value) == f"over 200 files, the last {tmp_path}/200.txt; name those that matter"


def test_a_pattern_that_is_made_to_take_long_does_not(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["a"] * 40)
    folder.mkdir(parents=True)
    (folder / "x.txt").write_text("words")
    (tmp_path / ".gitignore").write_text("/".join(["**", "a"] * 20) + "/**/y\n" + "*a" * 60 + "b\n")
    (tmp_path / ("a" * 200)).write_text("words")
    assert len(read_all([tmp_path]).sources) == 2


def test_what_somebody_sends_is_read_like_a_file_of_that_name() -> None:
    assert read_data("report.pdf", WHOLE) == Source(name="report.pdf", text="Some words.")
    with pytest.raises(InvalidInput) as refused:
        read_data("../../a<b>.png", b"\x89PNG\0")
    assert str(refused.value) == f"../../a_b_.png {NO_TEXT}"


PARAGRAPH = '<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:body></w:document>'


def test_what_a_program_sends_has_the_limits_of_files() -> None:
    with pytest.raises(InvalidInput, match=f"201 sources are over {MAX_FILES}; give those that matter"):
        read_sent([{"name": "a", "text": "words"}] * (MAX_FILES + 1))
    half = {"name": "a", "text": "a" * (MAX_TEXT // 2)}
    assert read_sent([half, half]) == [half, half]
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as zipped:
        zipped.writestr("word/document.xml", PARAGRAPH.format("words " * (MAX_TEXT // 12)))
    file = {"name": "b.docx", "base64": base64.b64encode(packed.getvalue()).decode()}
    assert len(file["base64"]) < 20_000
    with pytest.raises(InvalidInput, match="the sources are over 2,000,000 characters together; give fewer or shorter"):
        read_sent([half, file, file])


def test_a_file_that_is_named_in_several_ways_is_one_source(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("One.")
    (tmp_path / "link.md").symlink_to(tmp_path / "notes" / "a.md")
    ways = [tmp_path / "notes" / "a.md", f"{tmp_path}/notes/../notes/a.md", tmp_path / "notes", f"{tmp_path}/**/*.md"]
    assert [each.name for each in read_all([*ways, tmp_path / "link.md"]).sources] == ["a.md"]
