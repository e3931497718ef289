"""Bytes of a document to its text, in a process of its own that can be ended: `python -m moot.retrieval.extract`.

A PDF, a page or a Word document may be made to take hours or all memory. It takes them here, and is refused.
"""

from __future__ import annotations

import csv
import json
import logging
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias, cast

from moot.errors import InvalidInput

if TYPE_CHECKING:
    from pypdf import PageObject

Kind: TypeAlias = Literal["pdf", "docx", "html"]

MAX_TEXT = 2_000_000
"""Characters, of all sources of a debate together."""
MAX_PAGES = 2000
MAX_SECONDS = 60
"""For one file."""
MAX_MEMORY = 2 << 30
"""Bytes."""
PAGE_BREAK = "\n\f\n"
"""Between two pages of a text, as in what pdftotext writes: whoever counts form feeds knows the page."""

BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
HTML = re.compile(rb"\s*(<!--.{0,500}?-->\s*)?<(!doctype html|html)\b", re.IGNORECASE | re.DOTALL)
DOCUMENT = b"word/document.xml"
"""Names stand in a zip as they are."""
PAGES_OF_HTML = (".html", ".htm", ".xhtml")
TOO_MUCH_MEMORY = "takes too much memory to read; give the part that matters"
TOO_LONG = f"has over {MAX_PAGES:,} pages, or takes over {MAX_SECONDS} s to read; give the part that matters"


def kind_of(name: str, file: BinaryIO) -> Kind | None:
    """What has to be extracted, by its beginning; None for what is text, or nothing that moot reads."""
    begins = file.read(1024)
    if begins.startswith(b"%PDF-"):
        return "pdf"
    if begins.startswith(b"PK\x03\x04"):
        return "docx" if DOCUMENT in begins + file.read() else None
    return "html" if name.lower().endswith(PAGES_OF_HTML) or HTML.match(begins) else None


def extract(kind: Kind, data: bytes) -> str:
    """The text; raises InvalidInput with what is wrong with the file, as the end of a sentence about it."""
    try:
        text = {"pdf": _pdf, "docx": _docx, "html": _html}[kind](data)
    except InvalidInput:
        raise
    except MemoryError:
        raise InvalidInput(TOO_MUCH_MEMORY) from None
    except Exception as error:  # each library raises whatever the damage leads to
        what = {"pdf": "PDF", "docx": "Word document", "html": "page"}[kind]
        raise InvalidInput(f"is a damaged {what} ({type(error).__name__}); save it anew or give its text") from None
    return BINARY.sub("", text[: MAX_TEXT + 1]).encode("utf-8", "ignore").decode()


def extract_all(files: Sequence[tuple[Path, Kind]]) -> Iterator[str | InvalidInput]:
    """The text of each file, or what is wrong with it; one that takes too long is given up, and those after it read."""
    left = list(files)
    while left:
        for said in _child(left):
            left.pop(0)
            yield said


def csv_text(text: str) -> str:
    """A table of what a spreadsheet wrote; as it is when that cannot be told."""
    first = text.lstrip().partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(StringIO(text), delimiter=delimiter))
    except csv.Error:
        return text
    from moot.retrieval.markup import table

    return table(rows) if delimiter in first and rows else text


def decoded(data: bytes, named: str | None = None) -> str | None:
    """UTF-8, or UTF-16 that says so, or the encoding it names, or else what older programs on Windows write."""
    usual = ["utf-16"] if data.startswith((b"\xff\xfe", b"\xfe\xff")) else ["utf-8-sig", named or "cp1252"]
    for encoding in usual:
        with suppress(UnicodeDecodeError):
            text = data.decode(encoding)
            if not BINARY.search(text):
                return text
    return None


def _pdf(data: bytes) -> str:
    from pypdf import PdfReader  # slow to import
    from pypdf.errors import DependencyError, FileNotDecryptedError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports every flaw that it gets over
    try:
        pages = PdfReader(BytesIO(data)).pages
        if len(pages) > MAX_PAGES:  # as it says; what it says may be untrue
            raise InvalidInput(TOO_LONG)
        text = _pages(pages)
    except (DependencyError, FileNotDecryptedError):
        raise InvalidInput("is encrypted; save it without a password") from None
    if not text.strip():
        raise InvalidInput("has no text, only pictures; run it through text recognition (OCR) first")
    return text


def _pages(pages: Iterable[PageObject]) -> str:
    """The pages' texts until there is more than a debate can take."""
    texts: list[str] = []
    length = 0
    for number, page in enumerate(pages, 1):
        if number > MAX_PAGES:
            raise InvalidInput(TOO_LONG)
        texts.append(page.extract_text().replace("\f", "\n"))
        length += len(texts[-1])
        if length > MAX_TEXT:
            break
    return PAGE_BREAK.join(texts)


def _docx(data: bytes) -> str:
    from moot.retrieval.markup import docx_text

    return docx_text(data)


def _html(data: bytes) -> str:
    from moot.retrieval.markup import charset, html_text

    if (html := decoded(data, charset(data))) is None:
        raise InvalidInput("is no text; give its text")
    return html_text(html)


# The process


def _child(files: Sequence[tuple[Path, Kind]]) -> Iterator[str | InvalidInput]:
    """What a process says of these files, until it is through or has to be ended."""
    asked = [word for path, kind in files for word in (kind, str(path.absolute()))]
    # -P: a folder that somebody debates over may hold a json.py
    command = [sys.executable, "-P", "-m", "moot.retrieval.extract", *asked]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:  # noqa: S603
        lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=_read_lines, args=(child.stdout, lines), daemon=True).start()
        try:
            for _ in files:
                if not (line := lines.get(timeout=MAX_SECONDS)):
                    yield InvalidInput(TOO_MUCH_MEMORY)  # of which the system ends a process
                    return
                readable, said = json.loads(line)
                yield said if readable else InvalidInput(said)
        except queue.Empty:
            yield InvalidInput(TOO_LONG)
        finally:
            child.kill()


def _read_lines(output: BinaryIO, lines: queue.Queue[bytes]) -> None:
    for line in output:
        lines.put(line)
    lines.put(b"")


def main(asked: Sequence[str]) -> None:
    _limit_memory()
    for kind, path in zip(asked[::2], asked[1::2], strict=True):
        try:
            said: tuple[bool, str] = True, extract(cast(Kind, kind), Path(path).read_bytes())
        except InvalidInput as error:
            said = False, str(error)
        except OSError as error:
            said = False, f"cannot be read: {error.strerror}"
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


def _limit_memory() -> None:
    if os.name == "posix":
        import resource

        with suppress(ValueError, OSError):  # the system allows less already
            resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))


if __name__ == "__main__":
    main(sys.argv[1:])
