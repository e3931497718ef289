"""Documents a debate may cite, read from files: plain text, markdown and PDF.

A file is never trusted: whatever is no readable text is refused, with what to do about it.
"""

from __future__ import annotations

import codecs
import logging
import re
import time
from collections.abc import Iterable
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from moot.errors import InvalidInput, Missing
from moot.trust.quotes import CONTROL, Source

if TYPE_CHECKING:
    from pypdf import PageObject

MAX_FILE = 20_000_000
"""Bytes."""
MAX_TEXT = 2_000_000
"""Characters, of all sources of a debate together."""
MAX_PAGES = 2000
MAX_SECONDS = 60
MAX_NAME = 120

BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
NOT_IN_NAMES = re.compile(rf'[<>"{CONTROL}\ud800-\udfff]')
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _TooLong(Exception):
    """A PDF that nobody wants to wait for."""


def read(path: Path) -> Source:
    """The text of one file, under the file's name."""
    data = _bytes(path)
    text = _pdf_text(path, data) if data.startswith(b"%PDF-") else _decoded(path, data)
    if not text.strip():
        raise InvalidInput(f"{path} is empty; give a file with text")
    return Source(name=_name(path), text=text)


def read_all(paths: Iterable[Path]) -> tuple[Source, ...]:
    """All of these files, each under a name of its own."""
    sources: dict[str, Source] = {}
    left = MAX_TEXT
    for path in paths:
        source = read(path)
        left -= len(source.text)
        if left < 0:
            raise InvalidInput(f"the sources up to {path} are over {MAX_TEXT:,} characters; give fewer or shorter ones")
        name = _unused(source.name, sources)
        sources[name] = source.model_copy(update={"name": name})
    return tuple(sources.values())


def _bytes(path: Path) -> bytes:
    try:
        if not path.exists():
            raise Missing(f"no file {path}")
        if not path.is_file():
            raise InvalidInput(f"{path} is no file; name the files you want to be cited")
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > MAX_FILE:
        raise InvalidInput(f"{path} is larger than {MAX_FILE // 1_000_000} MB; give the part that matters")
    return data


def _decoded(path: Path, data: bytes) -> str:
    """UTF-8, or UTF-16 that says so, or else what older programs on Windows write."""
    for encoding in ["utf-16"] if data.startswith(UTF_16) else ["utf-8-sig", "cp1252"]:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not BINARY.search(text):
            return text
    raise InvalidInput(f"{path} is no text; give plain text, markdown or PDF")


def _pdf_text(path: Path, data: bytes) -> str:
    from pypdf import PdfReader  # slow to import
    from pypdf.errors import DependencyError, FileNotDecryptedError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports every flaw that it gets over
    try:
        text = _pages(PdfReader(BytesIO(data)).pages)
    except _TooLong:
        raise InvalidInput(
            f"{path} has over {MAX_PAGES:,} pages, or takes over {MAX_SECONDS} s to read; give the part that matters"
        ) from None
    except (DependencyError, FileNotDecryptedError):
        raise InvalidInput(f"{path} is encrypted; save it without a password") from None
    except Exception as error:  # pypdf raises whatever the damage leads to
        raise InvalidInput(f"{path} is a damaged PDF ({type(error).__name__}); save it anew or give its text") from None
    if not text.strip():
        raise InvalidInput(f"{path} has no text, only pictures; run it through text recognition (OCR) first")
    return text


def _pages(pages: Iterable[PageObject]) -> str:
    """The pages' texts until there is more than a debate can take, without what no database stores."""
    texts: list[str] = []
    length = 0
    began = time.monotonic()
    for number, page in enumerate(pages, 1):
        if number > MAX_PAGES or time.monotonic() - began > MAX_SECONDS:
            raise _TooLong
        texts.append(BINARY.sub("", page.extract_text()).encode("utf-8", "ignore").decode())
        length += len(texts[-1])
        if length > MAX_TEXT:
            break
    return "\n\n".join(texts)


def _name(path: Path) -> str:
    return NOT_IN_NAMES.sub("_", path.name).strip()[:MAX_NAME].strip() or "source"


def _unused(name: str, used: Iterable[str]) -> str:
    """The name, with a number behind it if another source has it already."""
    taken = set(used)
    numbered = (f"{name[: MAX_NAME - 6].strip()} ({number})" for number in count(2))
    return name if name not in taken else next(other for other in numbered if other not in taken)
