"""Reading what a debate may cite: real files, and a PDF written by hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter

from moot.errors import InvalidInput, NotFound
from moot.retrieval import sources
from moot.retrieval.sources import MAX_FILE, MAX_PAGES, MAX_TEXT, read, read_all
from moot.trust.quotes import Source, check
from pdf_file import made_of, pdf

TEXT = "Größe zählt – “nicht”.\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_text_is_read_in_whatever_encoding_it_is_written(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "notes.md"
    path.write_bytes(TEXT.encode(encoding))
    assert read(path) == Source(name="notes.md", text=TEXT)


def test_the_pages_of_a_pdf_are_read_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(pdf("The first page ends in the middle", "of a sentence."))
    source = read(path)
    assert source == Source(name="report.pdf", text="The first page ends in the middle\n\nof a sentence.")
    assert check("in the middle of a sentence", source.text).verdict == "verified"


def test_a_pdf_is_known_by_its_beginning_and_not_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_bytes(pdf("Some words."))
    (tmp_path / "text.pdf").write_text("Some words.")
    assert [source.text for source in read_all([tmp_path / "report.txt", tmp_path / "text.pdf"])] == ["Some words."] * 2


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
    "a folder": (Path.mkdir, "is no file; name the files you want to be cited"),
    "a pipe": (os.mkfifo, "is no file; name the files you want to be cited"),
    "nothing in it": (Path.touch, "is empty; give a file with text"),
    "white space": (lambda path: path.write_text(" \n\t\n"), "is empty; give a file with text"),
    "a picture": (
        lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff"),
        "is no text; give plain text, markdown or PDF",
    ),
    "a program": (lambda path: path.write_bytes(b"\x7fELF\0\0"), "is no text; give plain text, markdown or PDF"),
    "half of UTF-16": (lambda path: path.write_bytes(b"\xff\xfea"), "is no text; give plain text, markdown or PDF"),
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


def test_a_pdf_that_takes_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow.pdf").write_bytes(pdf("One.", "Two."))
    monkeypatch.setattr(sources, "MAX_SECONDS", -1)
    with pytest.raises(InvalidInput, match="takes over -1 s to read; give the part that matters"):
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
def test_a_pdf_with_any_byte_changed_is_read_or_refused_and_never_breaks(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "changed.pdf"
    path.write_bytes(WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :])
    with suppress(InvalidInput):
        assert read(path).text.strip()


def test_files_of_one_name_become_sources_of_different_names(tmp_path: Path) -> None:
    paths = [tmp_path / folder / name for folder in "abc" for name in ("notes.md", "x" * 120)]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(path.parent.name)
    assert read_all(paths) == (
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
    assert [len(source.text) for source in read_all([half, rest])] == [MAX_TEXT // 2] * 2
    rest.write_text("b" * (MAX_TEXT // 2 + 1))
    with pytest.raises(InvalidInput) as refused:
        read_all([half, rest])
    assert str(refused.value) == f"the sources up to {rest} are over 2,000,000 characters; give fewer or shorter ones"
