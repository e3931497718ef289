"""Text that models, people and documents should never write, and every pure function that gets to see theirs.

`growth` tells how the CPU time of one grows with the text's length: 1 is in proportion to it, 2 by its square.
"""

from __future__ import annotations

import asyncio
import gc
import json
import math
import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, NamedTuple

from pydantic import JsonValue

from moot.core.debate import Settings, Turn
from moot.core.fields import number, texts
from moot.core.prompts import Message, data, shortened
from moot.core.script import Debate
from moot.export import html
from moot.formats.critique.answers import Critique
from moot.formats.critique.issues import tracked
from moot.formats.critique.version_1 import replies
from moot.formats.evaluation.answers import _level
from moot.formats.panel.decision import first_sentence
from moot.formats.panel.perspectives import _file, by_keywords
from moot.llm.client import Request
from moot.players.answer import AnswerStream, SpeechStream, parse, rename
from moot.sources import quotes
from moot.sources.passages import cut
from moot.testing import ScriptedModel, scripted_app
from moot.text import markdown, plain
from moot.text.language import language_of
from moot.trust import caveats, figures, novelty
from moot.trust.links import linked, opposed
from moot.web.pages import markdown as page_markdown

Text = Callable[[int], str]
"""Makes a text of so many characters."""
Work = Callable[[str], object]

SOURCE = "The survey of last year found that most of the people asked would rather wait than pay more for it. " * 60


def repeated(part: str) -> Text:
    return lambda length: (part * (length // len(part) + 1))[:length]


def numbered(part: Callable[[int], str]) -> Text:
    def text(length: int) -> str:
        made, size = [], 0
        for at in count():
            made.append(part(at))
            size += len(made[-1])
            if size >= length:
                return "".join(made)[:length]
        raise AssertionError

    return text


TEXTS: Mapping[str, Text] = {
    "combining marks": repeated("\u0315\u0300\u05b0\u0316\u0327"),
    "two-word sentences": numbered(lambda at: f"w{at:x} v{at * 7919 % 65521:x}. "),
    "one word": repeated("a"),
    "a heading of spaces": lambda length: "# a" + " " * (length - 4) + "x",
    "brackets": repeated("["),
    "pictures": repeated("![a]("),
    "links": repeated("[a](<b "),
    "links begun": repeated("[a]("),
    "links with titles begun": repeated('[a](b "'),
    "links in links": repeated("[a](b)["),
    "references": repeated("[a]["),
    "links ended": repeated("](a)"),
    "addresses begun": repeated("<http:a<b@c"),
    "entities": repeated("&#x&amp&a;"),
    "escaped brackets": repeated("\\[a\\]!["),
    "struck out": repeated("~~a~ "),
    "numbered lists": repeated("1. "),
    "lines of quotes and lists": repeated("> - 1. a\n"),
    "emphasis": repeated("*a_ **b __"),
    "backticks": numbered(lambda at: "`" * (at % 97 + 1) + "a"),
    "nested quotes": repeated("> "),
    "nested lists": numbered(lambda at: " " * (at % 60) + "- a\n"),
    "tags": repeated("<a <!-- <turn </ & "),
    "cited quotes": numbered(lambda at: f'"most of the people {at} asked would" [S1] '),
    "quotes without a tag": numbered(
        lambda at: f"S1 says 'most of the people {at} asked' > \"would they rather {at} go\" "
    ),
    "block quotes": numbered(lambda at: f"> most of the people {at} asked\n> — S1\n\n"),
    "apostrophes": repeated("'a 'b's ‘c’d "),
    "straight quotes": repeated('" '),
    "quote marks": repeated("„“”»« [S1]"),
    "ellipses": repeated("would rather … wait than "),
    "hyphens": repeated("a-\n"),
    "line breaks": repeated("\n"),
    "white space": repeated(" \t\u3000"),
    "replies to issues": numbered(lambda at: f"Issue {at % 9999}, 2 and 3: "),
    "tables": repeated("|a|-|\n|-|-|\n"),
    "digits": repeated("1,234.5"),
    "backslashes": repeated("\\"),
    "letters without spaces": repeated("字。"),
    "open fences": repeated("```a\n~~~\n"),
    "links to nowhere": numbered(lambda at: f"[x{at}]: <a\n[x{at}] "),
    "footnotes": numbered(lambda at: f"[^turn-{at}]: a [^turn-{at}] "),
    "underlined": repeated("a\n=\n--\n"),
    "JSON": repeated('{"review": ["\\u00'),
    "front matter": repeated("---\n"),
    "carriage returns": repeated("\r\x0b\u2028\x1b[31m"),
}


def turn_of(text: str, kind: str = "opening", at: int = 0) -> Turn:
    return Turn(position=at, seat="debater_1", kind=kind, round=1, content=text)


def debate_of(text: str) -> Debate[Settings]:
    return Debate("DEB-1", text[:500], Settings(), {}, [turn_of(text)])


def _answer_stream(text: str) -> None:
    stream = AnswerStream("review", {"Ann": "Debater A"}, lambda piece: None)
    whole = json.dumps({"score": 5, "review": text})
    for at in range(0, len(whole), 4):
        stream.feed(whole[at : at + 4])


def _speech_stream(text: str) -> None:
    stream = SpeechStream({"Ann": "Debater A"}, lambda piece: None)
    for at in range(0, len(text), 4):
        stream.feed(text[at : at + 4])


def _spoken_before(text: str) -> None:
    said = novelty.SpokenBefore("Should we?")
    said.add_round([text])
    said.novelty(text[::-1], 2)


def _prose(text: str) -> object:
    try:
        return parse(text, Critique)
    except ValueError:
        return None


def _critique(text: str) -> object:
    said = {"review": f"a{text}", "score": 5, "issues": [{"severity": "major", "text": text, "passage": text}] * 6}
    return tracked(
        [
            turn_of(text, "proposal"),
            Turn(position=1, seat="skeptic", kind="critique", round=1, content=text, data=said),
            turn_of(f"Issue 1: {text}", "proposal", 2),
        ]
    )


FUNCTIONS: Mapping[str, Work] = {
    "quotes.check, a quote": lambda text: quotes.check(text, SOURCE),
    "quotes.check, a source": lambda text: quotes.check("most of the people asked would rather weight", text),
    "quotes.check, a long quote in a source": lambda text: quotes.check(SOURCE[:1500], text),
    "quotes.check, both": lambda text: quotes.check(text[: len(text) // 2], text),
    "quotes.contains": lambda text: quotes.contains(text, SOURCE),
    "quotes.words": quotes.words,
    "quotes.check_all": lambda text: quotes.check_all(text, [quotes.Source(name="a", text=SOURCE)]),
    "quotes.check_all, both": lambda text: quotes.check_all(text, [quotes.Source(name="a", text=f"a{text}")]),
    "quotes.check_all, without tags": lambda text: quotes.check_all(
        text, [quotes.Source(name="a", text=SOURCE), quotes.Source(name="b", text=SOURCE[::-1])], [SOURCE, text[:99]]
    ),
    "novelty.repetition": lambda text: novelty.repetition(text, text[len(text) // 3 :]),
    "novelty.repetition, of another": lambda text: novelty.repetition(text, text.replace("w", "u")),
    "novelty.SpokenBefore": _spoken_before,
    "caveats.model_family": caveats.model_family,
    "plain.slug": plain.slug,
    "plain.one_line": plain.one_line,
    "plain.printable": plain.printable,
    "plain.clean": plain.clean,
    "plain.hiding": lambda text: plain.hiding([text[:40] or "secret-secret"])(text),
    "markdown.contained": lambda text: markdown.contained(text, 2),
    "markdown.in_line": markdown.in_line,
    "markdown.body": markdown.body,
    "markdown.front_matter": lambda text: markdown.front_matter({"title": text}),
    "markdown.table_of": lambda text: markdown.table_of([["a", "b"], [text, text]]),
    "html.page": lambda text: html.page(text, text),
    "page: speech": lambda text: page_markdown.speech.__wrapped__(text),
    "page: document": lambda text: page_markdown.document(text, text),
    "prompts.data": data,
    "prompts.shortened": lambda text: shortened([Message("user", f'<turn by="a">\n{text}\n</turn>\n\n{text}')]),
    "fields.texts": texts,
    "fields.number": number,
    "critique: replies": replies,
    "critique: tracked": _critique,
    "evaluation: level": _level,
    "figures.figures": lambda text: list(figures.figures(text, language_of(text))),
    "figures.provenance": lambda text: figures.provenance(debate_of(text), text, {"debater_1": "A"}, {"S1": text}),
    "links.opposed": lambda text: opposed(text, SOURCE),
    "links.linked": lambda text: linked("most people would rather wait", [turn_of(text)]),
    "links.linked, a claim and its turns": lambda text: linked(text[: len(text) // 2], [turn_of(text)]),
    "panel: first sentence": first_sentence,
    "panel: by_keywords": lambda text: by_keywords(text, _file().perspectives, 3),
    "answer: parse": _prose,
    "answer: AnswerStream": _answer_stream,
    "answer: SpeechStream": _speech_stream,
    "answer: rename": lambda text: rename(text, {"Ann": "A", "Bo": "B"}),
    "passages.cut": cut,
}


def filled(schema: Any, text: str) -> JsonValue:
    """A form with the text wherever there is room for any."""
    if "enum" in schema:
        return str(schema["enum"][0])
    match schema.get("type"):
        case "object":
            return {name: filled(part, text) for name, part in schema.get("properties", {}).items()}
        case "array":
            return [filled(schema.get("items", {"type": "string"}), text)] * 2
        case "integer" | "number":
            return 5
        case "boolean":
            return False
        case _ if "anyOf" in schema:
            return filled(schema["anyOf"][0], text)
    return text


def debated(format: str, settings: Mapping[str, JsonValue]) -> Work:
    """A whole debate in which every word is this text, and all that is shown and exported of it."""

    async def debate(text: str) -> None:
        def said(request: Request) -> str:
            return json.dumps(filled(request.schema.schema, text), ensure_ascii=False) if request.schema else text

        app = scripted_app(ScriptedModel(said))
        record = await app.create(format, "Should we?", settings)
        await app.run(record.id, lambda event: None)
        for style in ("md", "json", "html", "argdown"):
            await app.export(record.id, style)
        await app.close()

    return lambda text: asyncio.run(debate(text))


DEBATES: Mapping[str, Work] = {
    "a duel": debated("duel", {"max_rounds": 2, "max_total_output_tokens": 1_000_000}),
    "a critique": debated("critique", {"max_rounds": 2, "max_total_output_tokens": 1_000_000}),
    "a panel": debated(
        "panel",
        {
            "max_rounds": 3,
            "max_total_output_tokens": 1_000_000,
            "checkpoints": False,
            "perspectives": 2,
            "sources": [{"name": "a", "text": SOURCE[:5000]}],
        },
    ),
    "an evaluation": debated("evaluation", {"idea": SOURCE, "max_total_output_tokens": 1_000_000}),
}


class Growth(NamedTuple):
    """What a long text took, and with which power of the length that has grown: 1 in proportion, 2 by the square."""

    seconds: float
    power: float
    length: int


def superlinear(work: Work, text: Text, longest: int) -> Growth | None:
    """How it grows if that is out of proportion, the second time too: whatever else the machine does must not count.

    Doubling what is in proportion measures as a power of 0.6 to 1.3; what takes under 50 ms tells nothing.
    """
    for _ in range(3):
        found = growth(work, text, longest)
        if found.power <= 1.6 or found.seconds <= 0.05:
            return None
    return found


def growth(work: Work, text: Text, longest: int, enough: float = 0.05) -> Growth:
    """Four times the length again and again, until it is the longest or takes long enough to tell."""
    length = longest
    while length > 1000:
        length //= 4
    before, took = 0.0, _spent(work, text(length))
    while length < longest and took < enough:
        length *= 4
        before, took = took, _spent(work, text(length))
    return Growth(took, math.log(took / before, 4) if before else 0.0, length)


def _spent(work: Work, text: str) -> float:
    gc.disable()  # a look at all that the tests before have left in memory would count as the text's
    try:
        start = time.process_time()
        work(text)
        return max(time.process_time() - start, 1e-6)
    finally:
        gc.enable()
