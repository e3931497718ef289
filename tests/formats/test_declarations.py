"""What a format is lies in its folder: no surface knows a format's words, and no format knows a vendor."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import moot
from moot import formats
from moot.formats import DEFAULT, built_in
from moot.llm.providers import BUILT_IN
from moot.terminal.help import USUAL_FORMAT
from moot.trust.depth import JurySettings
from moot.trust.poll import PolledSettings

ROOT = Path(moot.__file__).parent
FORMATS = Path(formats.__file__).parent
FAMILIES = ("claude", "gpt", "llama", "mistral", "qwen")
COMMON_WORDS = {
    "conceded",
    "debate",
    "decision",
    "ledger",
    "options",
    "poll",
    "quorum",
    "ready",
    "rule",
    "scribe",
    "sources",
    "together",
}
"""Words of a format, or of a vendor, that have another meaning too."""
NAMED: Mapping[str, set[str]] = {
    "terminal/debate_commands.py": {"perspectives", "stance_a"},
    "terminal/evaluate.py": {"evaluation"},
    "trust/poll.py": {"voter"},
    "terminal/kept.py": {"perspectives"},
    "terminal/help.py": {"panel"},
    "web/api.py": {"perspectives"},
}
"""Commands, options and routes that are named after something of a format."""


def test_no_format_names_a_vendor_or_a_model() -> None:
    vendors = {*FAMILIES, *(provider.name for provider in BUILT_IN)} - COMMON_WORDS
    pattern = re.compile(rf"\b({'|'.join(sorted(vendors))})", re.IGNORECASE)
    texts = [file for kind in ("py", "md", "yaml") for file in FORMATS.rglob(f"*.{kind}")]
    assert len(texts) > 30
    assert {file.name: found for file in texts if (found := pattern.findall(file.read_text(encoding="utf-8")))} == {}


def test_nothing_outside_formats_names_one_or_its_settings_seats_and_reasons() -> None:
    words = {*_words()} - COMMON_WORDS
    assert {"panel", "judge", "stance_a", "agreed"} <= words
    found = {
        name: used
        for file in ROOT.rglob("*.py")
        if FORMATS not in file.parents
        and (used := (words & {*_strings(file)}) - NAMED.get(name := str(file.relative_to(ROOT)), set()))
    }
    assert found == {}


def test_the_command_line_begins_with_the_usual_format() -> None:
    assert USUAL_FORMAT == DEFAULT


def _words() -> Iterator[str]:
    for format in built_in():
        yield format.name
        yield from (seat.name for seat in format.seats if seat.player == "model")
        yield from {*format.settings.model_fields} - {*PolledSettings.model_fields, *JurySettings.model_fields}
        yield from format.reasons


def _strings(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
