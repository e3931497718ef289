"""The house: rooms, layers, the table in the docs and the glossary stay in step."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "moot"
DESIGN = (ROOT / "docs" / "design.md").read_text()
DOORS = {"app", "formats"}
"""Rooms whose `__init__` exports names."""
MAX_LINES = 400
EVERYWHERE = {"faults", "snapshots"}
"""Folders of tests that belong to no room."""


def layers() -> list[set[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layered,) = (contract for contract in contracts if contract["type"] == "layers")
    assert layered["exhaustive"]
    return [set(layer.split(" | ")) for layer in layered["layers"]]


def rooms() -> set[str]:
    return {folder.name for folder in SRC.iterdir() if (folder / "__init__.py").exists()}


def modules() -> set[str]:
    return {path.stem for path in SRC.glob("*.py")}


def first_sentence(name: str) -> str:
    path = SRC / name / "__init__.py" if name in rooms() else SRC / f"{name}.py"
    return (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n")[0]


def test_there_are_twelve_layers_and_every_room_stands_in_one() -> None:
    counted = Counter(name for layer in layers() for name in layer)
    assert len(layers()) == 12
    assert counted == Counter(rooms() | modules() - {"__init__", "__main__"})
    assert len(modules()) == 7


def test_the_table_in_the_docs_has_every_room_in_its_layer_with_its_own_sentence() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)(?:/|\.py)` \| (.+) \|$", DESIGN, re.MULTILINE)
    assert [(int(number), name) for number, name, _ in rows] == sorted(
        ((int(number), name) for number, name, _ in rows), key=lambda row: row[0]
    )
    assert [{name for number, name, _ in rows if int(number) == at} for at in range(1, 13)] == layers()
    assert {name: job for _, name, job in rows} == {name: first_sentence(name) for _, name, _ in rows}


@pytest.mark.parametrize("room", sorted(rooms() - DOORS))
def test_a_room_s_init_is_its_sentence_and_nothing_else(room: str) -> None:
    (only,) = ast.parse((SRC / room / "__init__.py").read_text()).body
    assert isinstance(only, ast.Expr)
    assert first_sentence(room).endswith(".")


def test_no_file_is_longer_than_a_reader_can_keep_in_mind() -> None:
    lengths = {str(path.relative_to(SRC)): len(path.read_text().splitlines()) for path in SRC.rglob("*.py")}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_tests_stand_in_folders_named_like_the_rooms() -> None:
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/*") if path.suffix == ".py"}
    assert folders - EVERYWHERE <= rooms()
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_surfaces_look_into_a_store_only_where_the_docs_say_so() -> None:
    rooms = ("web", "integrations", "terminal")
    paths = (path for room in rooms for path in (SRC / room).rglob("*.py"))
    use = re.compile(r"\b_?app\.store\b|\bopen_store\b|\brunner\.store\b")
    looking = {str(path.relative_to(SRC)) for path in paths if use.search(path.read_text())}
    assert looking == {"web/metrics.py", "web/pages/frame.py", "terminal/listing.py"}


def shared_nouns() -> dict[str, set[str]]:
    """Class → the rooms that use it, of those that at least two other rooms import; events and errors are families."""
    home = {}
    for path in SRC.rglob("*.py"):
        module = ".".join(["moot", *path.relative_to(SRC).with_suffix("").parts])
        if module not in ("moot.errors", "moot.core.events"):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef):
                    home[module, node.name] = path.relative_to(SRC).parts[0]
    users: dict[str, set[str]] = defaultdict(set)
    for path in SRC.rglob("*.py"):
        room = path.relative_to(SRC).parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and room not in ("model.py", "testing.py", "__init__.py"):
                for name in node.names:
                    if home.get((node.module or "", name.name), room) != room:
                        users[name.name].add(room)
    return {name: used for name, used in users.items() if len(used) > 1}


def test_the_glossary_names_no_class_that_is_gone() -> None:
    glossary = DESIGN[DESIGN.index("## Words") :]
    defined = {
        node.name
        for path in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    }
    assert set(re.findall(r"`([A-Z]\w+[a-z])`", glossary)) - defined == set()


def test_the_glossary_has_every_noun_that_rooms_share() -> None:
    glossary = DESIGN[DESIGN.index("## Words") :]
    words = set(re.findall(r"`(\w+)`", glossary)) | set(re.findall(r"^\| (\w+) \|", glossary, re.MULTILINE))
    assert {name: used for name, used in shared_nouns().items() if name not in words} == {}
