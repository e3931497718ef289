"""What a debate is told of the conversation it comes from: question, background, sources. Pure: words in, words out.

Whatever a client sends is only words: a debate that a message names is looked up by whoever calls this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from moot.app import MAX_TOPIC
from moot.core.debate import Action
from moot.errors import InvalidInput
from moot.sources.source import Source
from moot.text.plain import shortened
from moot.web.openai.requests import Message

MAX_CONTEXT = 2000
"""Characters of background; everything else is a source."""
MAX_LINE = 800
"""Characters; a longer message becomes a source."""
MAX_LEAD = 120
"""Characters of its beginning that stand in its place."""
MAX_DOCUMENTS = 20
"""Messages that become sources of their own; what else is too much goes into one together."""
EARLIER = "Earlier messages"
SPEAKERS = {"user": "User", "assistant": "Assistant", "system": "Instructions", "developer": "Instructions"}
SPEAKERS |= {"tool": "Tool", "function": "Tool"}

_SIGNATURE = re.compile(r"^— \[moot (DEB-[a-z0-9]{8})\]\((?:[^#\n]*#turn-([0-9]{1,9})\)|.*\))[ \t]*$", re.MULTILINE)
_THOUGHTS = (("<think>", "</think>"), ('<details type="reasoning"', "</details>"))
"""What some chat pages put before a message when they send it back."""
_TAG = re.compile(r"<(?=[\s/]*conversation\b)", re.IGNORECASE)


class Conversation(NamedTuple):
    question: str
    before: tuple[Message, ...]
    debates: Mapping[str, int | None]
    """The debates that our own messages name, as the client has sent them back, and how far each had come."""


class Told(NamedTuple):
    """What a new debate is told, and what it is not."""

    question: str
    background: str = ""
    sources: tuple[Source, ...] = ()
    left_out: tuple[str, ...] = ()


class Said(NamedTuple):
    """A message of the conversation as a debate hears of it."""

    number: int
    speaker: str
    text: str

    @property
    def line(self) -> str:
        """In one line, so that none can pretend to be two."""
        return f"{self.speaker}: {_tagless(' '.join(self.text.split()))}"


def conversation(messages: Sequence[Message]) -> Conversation:
    at = max((at for at, message in enumerate(messages) if message.role == "user"), default=None)
    if at is None:
        raise InvalidInput("messages: none is the user's; send one with the question to debate")
    # What follows the question (a tool's result, instructions) was said to it too, and is no less known.
    last, before = messages[at], (*messages[:at], *messages[at + 1 :])
    if others := last.others():
        raise InvalidInput(f"messages.{at}: {others[0]!r} cannot be debated; send its content as text")
    if len(last.text()) > MAX_TOPIC:
        raise InvalidInput(
            f"messages.{at}: the question has {len(last.text())} characters; at most {MAX_TOPIC} are allowed: "
            "send what is to be read with it as a message before it"
        )
    named = [found for message in before if message.role == "assistant" if (found := signed(message.text()))]
    return Conversation(last.text(), before, dict(named))


class Signed(NamedTuple):
    debate: str
    position: int | None


def signed(text: str) -> Signed | None:
    """The debate that one of our messages names at its end, and how many turns it had then."""
    found = _SIGNATURE.findall(text)
    return Signed(found[-1][0], int(found[-1][1]) if found[-1][1] else None) if found else None


def told_of(said: Conversation, outcomes: Mapping[str, str], room: int) -> Told:
    """The question with what was said before.

    `outcomes` tells what the debates of this conversation came to; it stands in place of our messages. `room` is how
    many sources the debate can take besides those the client names.
    """
    lines = [*_lines(said, outcomes)]
    left_out = _not_text([kind for message in said.before for kind in message.others()])
    kept, sources = _with_sources(lines, min(room, MAX_DOCUMENTS))
    background = "\n".join(["<conversation>", *kept, "</conversation>"]) if kept else ""
    return Told(_tagless(said.question), background, tuple(sources), tuple(left_out))


def _not_text(kinds: Sequence[str]) -> list[str]:
    number = "1 part" if len(kinds) == 1 else f"{len(kinds)} parts"
    named = shortened(", ".join(sorted({*kinds})), MAX_LEAD)
    return [f"{number} of earlier messages that {'is' if len(kinds) == 1 else 'are'} no text ({named})"] * bool(kinds)


def _lines(said: Conversation, outcomes: Mapping[str, str]) -> Iterable[Said]:
    """What was said before; instructions come last."""
    found: list[Said] = []
    instructions: list[Said] = []
    named = set()
    for number, message in enumerate(said.before, 1):
        mark = signed(message.text()) if message.role == "assistant" else None
        named.add(mark.debate if mark else "")
        text = outcomes.get(mark.debate if mark else "") or _without_thoughts(message.text())
        line = Said(number, SPEAKERS.get(message.role, "Somebody"), text)
        if text:
            (instructions if line.speaker == "Instructions" else found).append(line)
    results = [Said(0, f"Debate {name}", text) for name, text in outcomes.items() if name not in named]
    return [*found, *results, *instructions]


def _with_sources(lines: Sequence[Said], room: int) -> tuple[list[str], list[Source]]:
    """Lines for the background, and as sources the messages that are too long for it or too many."""
    long = [each for each in lines if len(each.line) > MAX_LINE][-room:] if room > 0 else []
    names = {each.number: f"Message {each.number}, {each.speaker}" for each in long}
    short = [_mention(each, names.get(each.number)) for each in lines]
    left = MAX_CONTEXT
    first = len(lines)
    while first and len(short[first - 1]) < left and (lines[first - 1] in long or len(short[first - 1]) <= MAX_LINE):
        first -= 1
        left -= len(short[first]) + 1
    rest = [f"{each.speaker}: {each.text}" for each in lines[:first] if each not in long]
    sources = [Source(name=names[each.number], text=each.text) for each in long]
    earlier = [Source(name=EARLIER, text="\n\n".join(rest))] if rest else []
    return short[first:], [*earlier, *sources]


def _mention(said: Said, source: str | None) -> str:
    return f"{shortened(said.line, MAX_LEAD)} (whole in the source “{source}”)" if source else said.line


def _without_thoughts(text: str) -> str:
    for opening, closing in _THOUGHTS:
        if text.startswith(opening):
            text = text.partition(closing)[2]
    return text.strip()


def _tagless(text: str) -> str:
    return _TAG.sub("‹", text)


# What a message means to a debate that is not over

ANYTIME: tuple[Action, ...] = ("continue", "guide", "end")
"""What a debate takes that asks nothing."""
WORDS: Mapping[Action, str] = {
    "continue": "`continue`: go on",
    "end": "`end`: end the rounds and come to a conclusion",
    "approve": "`approve`: accept it",
    "reject": "`reject: why`, or `reject`: turn it down",
    "guide": "anything else: guidance that everybody reads",
    "answer": "your answer, in your own words",
}


class Heard(NamedTuple):
    action: Action
    text: str


def heard(words: str, actions: Sequence[Action]) -> Heard:
    """What a message means to a debate that takes these actions.

    An action's own name is that action, `name: text` is it with a text, and everything else is guidance or the answer.
    """
    name, colon, text = words.strip().partition(":")
    for action in actions:
        if name.strip().rstrip(".!").lower() == action:
            return Heard(action, text.strip() if colon else "")
    for action in ("guide", "answer"):
        if action in actions:
            return Heard(action, words.strip())
    choices = "; ".join(text for action, text in WORDS.items() if action in actions)
    raise InvalidInput(f"this is no answer to what the debate asks; reply with one of {choices}")
