"""The page about the HTTP API, made of the same document that programs read at /api/openapi.json; loads no script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

    from moot.web.pages.frame import Frame

METHODS = ("get", "post", "put", "delete")


class Field(NamedTuple):
    name: str
    where: str
    type: str
    required: bool
    about: str


class Operation(NamedTuple):
    method: str
    path: str
    summary: str
    about: str
    fields: tuple[Field, ...]
    answers: tuple[tuple[str, str], ...]
    """Status and what it means."""

    @property
    def id(self) -> str:
        return f"{self.method}-{self.path.strip('/')}".replace("/", "-").replace("{", "").replace("}", "").lower()


class ApiPage:
    def __init__(self, web: FastAPI, frame: Frame) -> None:
        self._web = web
        self._frame = frame

    async def show(self, request: Request) -> Response:
        return await self._frame.page("api.html", operations=self._operations, usual=usual_answers(self._operations))

    @cached_property
    def _operations(self) -> list[Operation]:
        return list(operations(self._web.openapi()))


def usual_answers(operations: Sequence[Operation]) -> list[tuple[str, str]]:
    """What most calls may answer, said once."""
    counts = Counter(answer for each in operations for answer in each.answers)
    return sorted(answer for answer, number in counts.items() if number > len(operations) / 2 and answer[0] > "3")


def operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    """Every call of an OpenAPI document, in its order."""
    for path, calls in document["paths"].items():
        for method in METHODS:
            if call := calls.get(method):
                yield Operation(
                    method.upper(),
                    path,
                    call.get("summary", ""),
                    call.get("description", ""),
                    (*_parameters(call), *_body(call, document)),
                    tuple((status, answer["description"]) for status, answer in call.get("responses", {}).items()),
                )


def _parameters(call: Mapping[str, Any]) -> Iterator[Field]:
    for each in call.get("parameters", ()):
        about = each.get("description", "") or each["schema"].get("description", "")
        yield Field(each["name"], each["in"], _type(each["schema"]), each.get("required", False), about)


def _body(call: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Field]:
    schema = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    schema = next((each for each in schema.get("anyOf", ()) if "$ref" in each), schema)  # a body may be left out
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for name, field in schema.get("properties", {}).items():
        yield Field(name, "body", _type(field), name in schema.get("required", ()), field.get("description", ""))


def _type(schema: Mapping[str, Any]) -> str:
    if kinds := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(map(_type, kinds)))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema or "const" in schema:
        return " or ".join(map(str, schema.get("enum") or [schema["const"]]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "anything"))
