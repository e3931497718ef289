"""A reader of pages without JavaScript: sees the elements, fills in forms, presses buttons, follows redirects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl

import httpx

VOID = {"br", "hr", "img", "input", "link", "meta", "path", "line", "rect", "circle"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    inside: list[Element | str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Element]:
        """It and all that is in it, in the order of the page."""
        yield self
        for each in self.inside:
            if isinstance(each, Element):
                yield from each

    @property
    def text(self) -> str:
        parts = [each if isinstance(each, str) else f" {each.text} " for each in self.inside]
        return " ".join("".join(parts).split())

    @property
    def raw(self) -> str:
        return "".join(each if isinstance(each, str) else each.raw for each in self.inside)

    def all(self, tag: str | None = None, **attributes: str) -> list[Element]:
        """Those of a tag, a class (`class_`), or with these attributes."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [each for each in self if tag in (None, each.tag) and all(_has(each, *pair) for pair in wanted.items())]

    def one(self, tag: str | None = None, **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found


def _has(element: Element, name: str, value: str) -> bool:
    own = element.attributes.get(name)
    return own is not None and (value in own.split() if name == "class" else value == own)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].inside.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def parsed(html: str) -> Element:
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert [each.tag for each in builder.open] == [""], "something is never closed"
    return builder.open[0]


def fields_of(form: Element) -> list[tuple[str, str]]:
    """What a browser would post of a form that nobody has touched."""
    found: list[tuple[str, str]] = []
    for each in form:
        name, kind = each.attributes.get("name"), each.attributes.get("type")
        if not name or "disabled" in each.attributes:
            continue
        if each.tag == "textarea":
            found.append((name, each.raw.removeprefix("\n")))
        elif each.tag == "select":
            options = each.all("option")
            chosen = next((option for option in options if "selected" in option.attributes), options[0])
            found.append((name, chosen.attributes.get("value", chosen.text)))
        elif each.tag == "input" and (kind not in ("radio", "checkbox") or "checked" in each.attributes):
            found.append((name, each.attributes.get("value", "on")))
    return found


class Reader:
    """Somebody with an old browser."""

    def __init__(self, web: Any) -> None:
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(web), base_url="http://localhost")
        self.response: httpx.Response = httpx.Response(200)
        self.page = Element("")

    async def open(self, path: str) -> Element:
        return self._read(await self.client.get(path))

    async def submit(self, action: str, button: str = "", **typed: Any) -> Element:
        """Fill in the form with this action, press the button of this value, and see where it leads.

        Underscores twice stand for the dot of a field's name; a list is what several boxes of one name say.
        """
        form = self.page.one("form", action=action)
        new = {name.replace("__", "."): value for name, value in typed.items()}
        data = [pair for pair in fields_of(form) if pair[0] not in new]
        data += [
            (name, each) for name, value in new.items() for each in (value if isinstance(value, list) else [value])
        ]
        data += [(each.attributes["name"], button) for each in form.all("button", value=button)] if button else []
        if form.attributes["method"] == "get":
            return await self.open(f"{action}?{httpx.QueryParams(data)}")
        body = str(httpx.QueryParams(data))
        headers = {"content-type": "application/x-www-form-urlencoded"}
        response = await self.client.post(action, content=body, headers=headers)
        if response.status_code == 303:
            return await self.open(response.headers["location"])
        return self._read(response)

    @property
    def path(self) -> str:
        return self.response.url.path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.response.url.query.decode()))

    def _read(self, response: httpx.Response) -> Element:
        self.response = response
        self.page = parsed(response.text)
        return self.page
