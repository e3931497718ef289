"""YAML that others wrote, read within bounds: of depth, of size, of numbers, and without aliases."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from yaml import Node

MAX_DEPTH = 40
MAX_NODES = 20_000
MAX_NUMBER = 40
"""Characters of a whole number: more digits than that are read in quadratic time, and mean nothing."""


class Yaml(NamedTuple):
    value: Any
    root: Node | None
    """Where each part of it stands."""


def load(text: str) -> Yaml:
    """Raises a ValueError that says what is wrong, and in which line."""
    import yaml  # slow to import

    try:
        loader = _bounded()(text)
        root = loader.get_single_node()
        return Yaml(None if root is None else loader.construct_document(root), root)
    except yaml.MarkedYAMLError as error:
        raise ValueError(f"{line_of(error.problem_mark)}: this is no YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ValueError(f"this is no YAML: {' '.join(str(error).split())}") from None


def line_of(mark: Any) -> str:
    return f"line {mark.line + 1 if mark else 1}"


class _Refused(ValueError):
    """Says already in which line."""


@cache
def _bounded() -> type[Any]:
    import yaml

    class Bounded(yaml.SafeLoader):
        depth = nodes = 0

        def compose_node(self, parent: Node | None, index: Any) -> Node | None:
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            where = line_of(event.start_mark)
            if isinstance(event, yaml.AliasEvent):  # a few lines of them can grow beyond all memory
                raise _Refused(f"{where}: write out what *{event.anchor} stands for")
            self.depth, self.nodes = self.depth + 1, self.nodes + 1
            if self.depth > MAX_DEPTH:
                raise _Refused(f"{where}: nested too deeply to be read")
            if self.nodes > MAX_NODES:
                raise _Refused(f"{where}: too long to be read")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def construct_object(self, node: Node, deep: bool = False) -> Any:
            try:
                return super().construct_object(node, deep)
            except _Refused:
                raise
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):  # `!!int ""`, `!!bool x`
                kind = node.tag.rpartition(":")[2]
                raise _Refused(f"{line_of(node.start_mark)}: this cannot be read as {kind}") from None

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
                if key.value in seen:  # YAML forbids it; PyYAML would pass over all but the last
                    raise _Refused(f"{line_of(key.start_mark)}: {key.value!r} stands here a second time")
                seen.add(key.value)
            return super().construct_mapping(node, deep)

        def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
            if len(node.value) > MAX_NUMBER:
                raise _Refused(f"{line_of(node.start_mark)}: a number with too many digits")
            return int(super().construct_yaml_int(node))

    Bounded.add_constructor("tag:yaml.org,2002:int", Bounded.construct_yaml_int)
    return Bounded
