"""Ideas as files: read one with its evaluation and its challenges, and write the report beside it.

An idea is a markdown file, or a folder with `idea.md` or `README.md`. Errors name the file, the line and the field.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from pydantic import JsonValue, TypeAdapter, ValidationError

from moot.core.debate import JsonObject
from moot.core.format import FileDebate
from moot.errors import InvalidInput, Missing, fault_words
from moot.formats.evaluation.settings import MAX_IDEA, Challenge, Challenges, Evaluation, Topic, Topics
from moot.text.files import contained_in
from moot.text.plain import clean, shortened
from moot.text.strict_yaml import line_of, load

NAMES = ("idea.md", "README.md")
"""What an idea's text is called in a folder of its own, the first before the second."""
SUFFIXES = (".yaml", ".yml", ".json")
REPORT = Path("analysis") / "debate.md"
MAX_FILE = 1_000_000
"""Bytes."""
MAX_TITLE = 200
MAX_FAULTS = 5

EVALUATION: TypeAdapter[Evaluation] = TypeAdapter(Evaluation)
CHALLENGES: TypeAdapter[list[Challenge]] = TypeAdapter(Challenges)
TOPICS: TypeAdapter[list[Topic]] = TypeAdapter(Topics)
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)


def read(path: Path, topics: Path | None = None, debate: bool = True) -> FileDebate:
    """The idea at a path; whatever lies beside a text that has its folder for itself belongs to it.

    Topics come from a YAML or JSON file of their own: a list, or the list under `topics`.
    """
    file = _text_file(path)
    alone = _has_folder_for_itself(file)
    name, text = _name(file), _idea_text(file)
    report = file.parent / (REPORT if alone else REPORT.parent / file.stem / REPORT.name)
    key = _key(name, file)
    settings: JsonObject = {"idea": text, "idea_key": key, "debate": debate}
    if alone:
        settings |= _beside(file.parent, "evaluation", EVALUATION) | _beside(file.parent, "challenges", CHALLENGES)
    if topics:
        settings["topics"] = _parsed(topics, TOPICS, "topics")
    return FileDebate(name, _title(text) or name, settings, key, report, file.parent)


def is_report(path: Path) -> bool:
    """Whether it is the folder in which the reports on its neighbours lie."""
    return path.is_dir() and path.name == REPORT.parent.name and not any((path / name).is_file() for name in NAMES)


# The idea's own text


def _text_file(path: Path) -> Path:
    if path.is_file():
        return path
    if not path.is_dir():
        raise Missing(f"there is no file or folder {path}")
    found = next((path / name for name in NAMES if (path / name).is_file()), None)
    if found is None:
        raise Missing(f"the folder {path} holds no idea: it needs {' or '.join(NAMES)}")
    return found


def _has_folder_for_itself(file: Path) -> bool:
    others = (other for other in file.parent.glob("*.md") if other.name != file.name and other.name not in NAMES)
    return file.name in NAMES or not any(others)


def _name(text_file: Path) -> str:
    name = text_file.parent.resolve().name if text_file.name in NAMES else text_file.stem
    return name.encode("utf-8", "replace").decode()


def _key(name: str, file: Path) -> str:
    return f"{name[:100]}-{hashlib.sha256(str(file.resolve()).encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


def _idea_text(file: Path) -> str:
    text = _text(file, file.parent).strip()
    if not text:
        raise InvalidInput(f"{file} is empty: describe the idea in it")
    if len(text) > MAX_IDEA:
        raise InvalidInput(f"{file} has {len(text)} characters; at most {MAX_IDEA} can be debated: shorten it")
    return text


def _title(text: str) -> str:
    heading = _HEADING.search(text)
    return heading[1].rstrip().rstrip("#").rstrip()[:MAX_TITLE].strip() if heading else ""


def _text(file: Path, within: Path | None = None) -> str:
    """A file's text. What a link leads to outside `within` is not read, lest an error should show lines of it."""
    if within and not contained_in(file, within):
        raise InvalidInput(f"{file} is a link that leads out of its folder; put a copy in its place")
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_FILE + 1)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}") from None
    if len(content) > MAX_FILE:
        raise InvalidInput(f"{file} is larger than {MAX_FILE} bytes: shorten it")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{file}, line {line}: this is no UTF-8 text; save it as UTF-8") from None
    if "\0" in text:
        raise InvalidInput(f"{file} is no text: it holds a zero byte")
    return text


# YAML and JSON


def _beside(folder: Path, name: str, content: TypeAdapter[Any]) -> JsonObject:
    """What the file of this name holds, whichever of the suffixes it has; nothing without one."""
    files = [file for suffix in SUFFIXES if (file := folder / f"{name}{suffix}").is_file()]
    if len(files) > 1:
        raise InvalidInput(f"{files[0]} and {files[1].name} lie side by side: keep one of them")
    return {name: _parsed(files[0], content, name, folder)} if files else {}


def _parsed(file: Path, content: TypeAdapter[Any], name: str, within: Path | None = None) -> JsonValue:
    """A file's content, checked, as a setting; a list may stand under a name of its own."""
    text = _text(file, within)
    try:
        value: Any = clean(_json(text) if file.suffix == ".json" else load(text).value)
    except (InvalidInput, ValueError) as error:
        raise InvalidInput(f"{file}, {error}") from None
    except RecursionError:
        raise InvalidInput(f"{file} is nested too deeply to be read") from None
    if value is None:
        raise InvalidInput(f"{file} is empty: fill it, or remove it")
    under = (name,) if isinstance(value, dict) and list(value) == [name] else ()
    try:
        checked = content.validate_python(value[name] if under else value)
    except ValidationError as error:
        raise InvalidInput(f"{file}, {_faults(text, error, under)}") from None
    setting: JsonValue = content.dump_python(checked, mode="json")
    return setting


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"line {error.lineno}: this is no JSON: {error.msg}") from None
    except ValueError:
        raise InvalidInput("line 1: a number with too many digits") from None


def _faults(text: str, error: ValidationError, under: tuple[str, ...]) -> str:
    """The first faults, each with its line and field."""
    root = None
    with suppress(ValueError):
        root = load(text.replace("\t", " ")).root  # JSON is YAML too, but for its tabs
    found = error.errors(include_input=False, include_url=False)
    more = [f"and {len(found) - MAX_FAULTS} more"] if len(found) > MAX_FAULTS else []
    told = (_fault(root, (*under, *fault["loc"]), fault_words(fault)) for fault in found[:MAX_FAULTS])
    return "; ".join([*told, *more])


def _fault(root: yaml.Node | None, place: Sequence[int | str], message: str) -> str:
    """A field that is missing is looked for where it belongs."""
    fields = [part for part in place if part != "[key]"]
    node = root
    for part in fields:
        node = _inner(node, part) or node
    where = [line_of(node.start_mark)] if node else []
    named = [shortened(".".join(map(str, fields)), MAX_TITLE)] if fields else []
    return f"{', '.join([*where, *named])}: {shortened(message, MAX_TITLE)}"


def _inner(node: yaml.Node | None, part: int | str) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        found: yaml.Node = node.value[part]
        return found
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == str(part)), None)
    return None
