"""Prompt files of the user's own, which take the place of a format's: they word a prompt and can do nothing else.

They come with folders of others, so they are rendered in Jinja's sandbox, from a part of its language in which text
and work cannot grow beyond what a prompt needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from numbers import Number
from pathlib import Path
from time import thread_time
from traceback import extract_tb
from types import BuiltinMethodType, MethodType
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from moot.core.prompt_files import OPTIONS
from moot.errors import BrokenPrompt

MAX_FILE = 64_000
MAX_PROMPT = 1_000_000
MAX_LOOPS = 2_000
"""So often all loops of a prompt together go round."""
MAX_SECONDS = 1.0
"""Of work, looked at in each turn of a loop, filter, method and piece of text."""
_until: ContextVar[float] = ContextVar("_until")

KNOWN = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.CondExpr,
    nodes.Name, nodes.Const, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair, nodes.Keyword,
    nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Filter, nodes.Test, nodes.Call,
    nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Concat,
    nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Neg, nodes.Pos,
)  # fmt: skip
"""Left out: what calls itself or another template, and variables, with which a text can be doubled again and again."""
FILTERS = (
    "abs", "capitalize", "count", "d", "default", "first", "float", "int", "items", "last", "length", "list", "lower",
    "map", "max", "min", "rejectattr", "reverse", "selectattr", "sort", "string", "sum", "title", "trim",
    "truncate", "unique", "upper", "wordcount",
)  # fmt: skip
METHODS: Mapping[type, Collection[str]] = {
    str: (
        "capitalize", "count", "endswith", "find", "index", "lower", "lstrip", "rstrip", "split", "startswith", "strip",
        "title", "upper",
    ),
    dict: ("get", "items", "keys", "values"),
    LoopContext: ("changed", "cycle"),
}  # fmt: skip
"""All that may be called, beside range; the other methods of a text make a long one of a short one."""
MAX_PLACES = 15
_WIDE = re.compile(r"%[^a-zA-Z%]*(\d{3}|[*(])")


class OwnPrompts:
    """The files `<folder>/<format>/<kind>.md`."""

    def __init__(self, folder: Path, data: Callable[[str], str]) -> None:
        self.folder = folder
        self._environment = _Environment(loader=jinja2.FileSystemLoader(folder), **OPTIONS)
        known = {name: self._environment.filters[name] for name in FILTERS}
        filters = {**known, "join": _join, "format": _format, "round": _round, "data": data}
        self._environment.filters = {name: _in_time(each) for name, each in filters.items()}
        self._environment.globals = {"range": _range}
        self._missing: set[str] = set()

    def render(self, format: str, kind: str, variables: Mapping[str, object]) -> str | None:
        """The prompt as the user words it; None when the format's own is to be taken."""
        name = f"{format}/{kind}.md"
        if name in self._missing:
            return None
        with self._faults_told(name):
            try:
                template = self._environment.get_template(name)
            except jinja2.TemplateNotFound:
                self._missing.add(name)
                return None
            _until.set(thread_time() + MAX_SECONDS)
            return _bounded(template.generate(variables, _loop=_Loops()))

    def files(self) -> list[Path]:
        """All there are, by format and kind."""
        return sorted(self.folder.glob("*/*.md"))

    def check(self, file: Path) -> None:
        """Raises BrokenPrompt for a file that is no template, whatever its variables are."""
        name = file.relative_to(self.folder).as_posix()
        with self._faults_told(name):
            self._environment.get_template(name)

    @contextmanager
    def _faults_told(self, name: str) -> Iterator[None]:
        """Whatever goes wrong with a file, its writer is told where."""
        try:
            yield
        except Exception as error:  # a template may do anything that an expression can
            path = self.folder / name
            line = _line(error, path)
            where = f"{path}, line {line}" if line else str(path)
            fault = getattr(error, "message", None) or str(error)
            raise BrokenPrompt(f"the prompt file {where}: {fault}; mend it, or remove it for the usual one") from None


def _line(error: Exception, path: Path) -> int | None:
    """Where in a template something went wrong; Jinja writes its lines into the traceback."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.lineno
    frames = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename) == path]
    return frames[-1].lineno if frames else None


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"%", "*"})

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        if len(source) > MAX_FILE:
            raise jinja2.TemplateSyntaxError(f"over {MAX_FILE // 1000} kB are no prompt", 1, name, filename)
        tree = super()._parse(source, name, filename)
        for node in tree.find_all(nodes.Node):
            if not isinstance(node, KNOWN) or (isinstance(node, nodes.For) and node.recursive):
                what = (
                    f"{type(node).__name__.lower()} cannot stand in a prompt: write with variables, if, for and filters"
                )
                raise jinja2.TemplateSyntaxError(what, node.lineno, name, filename)
        for loop in list(tree.find_all(nodes.For)):
            loop.iter = nodes.Call(nodes.Name("_loop", "load"), [loop.iter], [], None, None, lineno=loop.lineno)
        return tree

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            return _narrow(left) % right
        if not isinstance(left, Number) or not isinstance(right, Number):
            raise SecurityError(f"{operator} in a prompt takes numbers")
        return super().call_binop(context, operator, left, right)

    def call(self, context: Context, called: Any, /, *arguments: Any, **named: Any) -> Any:
        _look_at_the_time()
        return super().call(context, called, *arguments, **named)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return _is_method(obj, attr) or (_is_declared(obj, attr) and not callable(value))

    def is_safe_callable(self, obj: Any) -> bool:
        is_method = isinstance(obj, BuiltinMethodType | MethodType) and _is_method(obj.__self__, obj.__name__)
        return is_method or obj is _range or isinstance(obj, _Loops)


def _is_method(owner: object, name: str) -> bool:
    return any(isinstance(owner, kind) and name in names for kind, names in METHODS.items())


def _is_declared(owner: object, name: str) -> bool:
    """Whether it is data that a class says it holds: a field of whatever kind of model, or a property."""
    kind = type(owner)
    fields = (
        *getattr(kind, "model_fields", ()),
        *getattr(kind, "__dataclass_fields__", ()),
        *getattr(kind, "_fields", ()),
    )
    is_property = isinstance(getattr(kind, name, None), property) or isinstance(owner, LoopContext)
    return not name.startswith("_") and (name in fields or is_property)


class _Loops:
    """Counts how often the loops of one prompt go round."""

    def __init__(self) -> None:
        self._left = MAX_LOOPS

    def __call__(self, items: Iterable[object]) -> Iterator[object]:
        for item in items:
            _look_at_the_time()
            self._left -= 1
            if self._left < 0:
                raise SecurityError(f"a prompt's loops go round {MAX_LOOPS} times at most")
            yield item


def _look_at_the_time() -> None:
    if thread_time() > _until.get():
        raise SecurityError(f"a prompt has {MAX_SECONDS:g} s to be written")


def _in_time(filter: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(filter)
    def timed(*arguments: Any, **named: Any) -> Any:
        _look_at_the_time()
        return filter(*arguments, **named)

    return timed


def _bounded(pieces: Iterable[str]) -> str:
    parts, length = [], 0
    for piece in pieces:
        _look_at_the_time()
        length += len(piece)
        if length > MAX_PROMPT:
            raise SecurityError(f"a prompt has {MAX_PROMPT:,} characters at most")
        parts.append(piece)
    return "".join(parts).strip()


def _format(text: str, *values: object) -> str:
    return _narrow(text) % values


def _round(number: float, places: int = 0) -> float:
    if abs(places) > MAX_PLACES:
        raise SecurityError(f"a number in a prompt is rounded to {MAX_PLACES} places at most")
    return round(number, places)


def _narrow(text: str) -> str:
    if _WIDE.search(text):
        raise SecurityError("a value in a prompt is written by its place, in less than a hundred characters")
    return text


def _range(*bounds: int) -> range:
    if len(numbers := range(*bounds)) > MAX_LOOPS:
        raise SecurityError(f"a range in a prompt has {MAX_LOOPS} numbers at most")
    return numbers


def _join(items: Iterable[object], separator: str = "") -> str:
    parts = [str(item) for item in items]
    if sum(map(len, parts)) + len(separator) * len(parts) > MAX_PROMPT:
        raise SecurityError(f"a prompt has {MAX_PROMPT:,} characters at most")
    return separator.join(parts)
