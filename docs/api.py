"""Write docs/api.md, every call of the HTTP API and every event there is: python docs/api.py"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

from moot.core.events import Event
from moot.testing import ScriptedModel, scripted_app
from moot.web.pages.api_page import Operation, operations, usual_answers
from moot.web.server import build_app
from moot.web.stream.hub import Hub

HEAD = """# Calls and events

What [the API](http.md) takes and answers; a server shows the same at `/docs`, and programs read it at
`/api/openapi.json`.

## Calls

Any of them may also answer {usual}.

{calls}
## Events

As `GET /api/debates/ID/events` streams them, `--json` prints them and `moot.stream` yields them. Each also has
`id`, which grows, `debate` and `at`.

| event | has |
|---|---|
{events}
"""


def text() -> str:
    app = scripted_app(ScriptedModel(str))
    calls = list(operations(build_app(app, Hub(app.follow)).openapi()))
    usual = usual_answers(calls)
    said = ", ".join(f"{status} ({about})" for status, about in usual)
    shown = "\n".join("\n".join(_call(each, usual)) for each in calls)
    return HEAD.format(usual=said, calls=shown, events="\n".join(map(_event, get_args(Event))))


def _call(call: Operation, usual: list[tuple[str, str]]) -> Iterator[str]:
    yield f"### {call.method} {call.path}\n"
    if about := call.about or call.summary:
        yield f"{' '.join(about.split())}\n"
    if call.fields:
        yield "| name | in | type | |\n|---|---|---|---|"
        for name, where, type, required, about in call.fields:
            note = "; ".join(filter(None, ("required" if required else "", " ".join(about.split()))))
            yield f"| `{name}` | {where} | {type} | {note} |"
        yield ""
    own = (each for each in call.answers if each not in usual)
    answers = "; ".join(status if about == "Successful Response" else f"{status}: {about}" for status, about in own)
    yield f"Answers {answers}.\n"


def _event(event: type) -> str:
    own = [field.name for field in fields(event) if field.name not in ("id", "debate", "at", "type")]
    (name,) = get_args(get_type_hints(event)["type"])
    return f"| `{name}` | {', '.join(f'`{name}`' for name in own)} |"


if __name__ == "__main__":
    Path(__file__).with_name("api.md").write_text(text())
