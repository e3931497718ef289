"""What a person is asked in the terminal, and how they answer: a letter, a line of text, or nothing in time."""

from __future__ import annotations

import asyncio
import getpass
import signal
import sys
from collections.abc import Mapping
from enum import Enum, auto
from shutil import get_terminal_size
from textwrap import wrap

from moot.app import App
from moot.core.debate import Action
from moot.core.events import Waiting
from moot.core.format import AnyFormat
from moot.errors import InvalidInput, WrongStatus
from moot.settings import AppSettings
from moot.terminal.lines import next_line
from moot.terminal.signals import on_signals
from moot.text.plain import printable

LABELS: Mapping[Action, str] = {
    "continue": "[C]ontinue",
    "guide": "[G]uide",
    "end": "[E]nd early",
    "approve": "[A]pprove",
    "reject": "[R]eject",
    "answer": "[A]nswer",
}
TEXTS: Mapping[Action, str] = {
    "guide": "Your guidance: ",
    "answer": "Your answer: ",
    "reject": "Your reason (or none): ",
}
WIDTH = 78


class NoAnswer(Enum):
    """Why a person did not answer."""

    NO_ANSWER = auto()
    CLOSED = auto()
    INTERRUPTED = auto()


class _Gone(Exception):
    def __init__(self, left: NoAnswer) -> None:
        self.left = left


async def ask_person(app: App, asked: Waiting, format: AnyFormat) -> NoAnswer | None:
    """Ask until there is an answer that the debate takes; None when it has been given."""
    _print(*question_lines(asked, format, min(WIDTH, get_terminal_size().columns)))
    try:
        async with asyncio.timeout(asked.timeout_seconds):
            await _answer(app, asked)
    except TimeoutError:
        await app.pause(asked.debate)
        _print("")
        return NoAnswer.NO_ANSWER
    except _Gone as gone:
        _print("")
        return gone.left
    return None


async def yes(question: str) -> bool:
    """Whether the person agrees; no is the usual answer."""
    return (await line(f"\n{question} [y/N] ") or "").lower() in ("y", "yes")


async def line(question: str) -> str | None:
    """What a person types; None when they leave instead."""
    try:
        return await _line(question)
    except _Gone:
        return None


def user_name(settings: AppSettings) -> str:
    """Who answers, as it is kept beside what they say: the configured name, else the login name, if there is one."""
    if settings.user is not None:
        return settings.user
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a process without a user, as in some containers
        return ""


def question_lines(asked: Waiting, format: AnyFormat, width: int = WIDTH) -> list[str]:
    """The question as the terminal shows it, the possible answers below."""
    title = f"═══ Round {asked.round} Complete ═══" if asked.round else "═══ Your turn ═══"
    name = f"{format.title(format.asker)}: " if format.asker else ""
    paragraphs = printable(asked.question).splitlines() or [""]
    lines = [line for paragraph in paragraphs for line in wrap(paragraph, max(20, width - len(name))) or [""]]
    indented = [(name if not at else " " * len(name)) + line for at, line in enumerate(lines)]
    labels = [] if len(asked.actions) == 1 else ["", "  ".join(_label(action, format) for action in asked.actions)]
    return ["", title, *indented, *labels]


def _label(action: Action, format: AnyFormat) -> str:
    """What an answer is called, with the letter that chooses it."""
    own = format.actions.get(action)
    return LABELS[action] if own is None else f"[{action[0].upper()}] {printable(own)}"


async def _answer(app: App, asked: Waiting) -> None:
    while True:
        action = await _action(asked)
        text = await _line(TEXTS[action]) if action in TEXTS else ""
        try:
            await app.reply(asked.debate, action, text, asked.position, user_name(app.settings))
        except InvalidInput as error:
            _print(printable(str(error)))
        except WrongStatus:  # somebody else was faster: the debate goes on with their answer
            _print("This was answered elsewhere.")
            return
        else:
            if asked.round and action in ("continue", "guide"):
                _print(f"═══ Round {asked.round + 1} Starting ═══")
            return


async def _action(asked: Waiting) -> Action:
    """The answer whose letter was typed; a question with one possible answer needs no letter."""
    if len(asked.actions) == 1:
        return asked.actions[0]
    while True:
        typed = (await _line("> ")).lower()
        for action in asked.actions:
            if typed and action.startswith(typed):
                return action
        _print(f"Type one of {', '.join(LABELS[action][1] for action in asked.actions)}, then Enter.")


async def _line(prompt: str) -> str:
    """A line from the terminal, without blocking the loop. Raises _Gone at its end and on Ctrl-C."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[str] = loop.create_future()

    def heard(line: str) -> None:
        if not typed.done():
            typed.set_result(line)

    def interrupt(_: signal.Signals) -> None:
        if not typed.done():
            typed.set_exception(_Gone(NoAnswer.INTERRUPTED))

    leave = next_line(loop, heard)
    try:
        with on_signals(interrupt):
            sys.stdout.write(prompt)  # who sees it can rely on Ctrl-C
            sys.stdout.flush()
            line = await typed
    finally:
        leave()
    if not line:
        raise _Gone(NoAnswer.CLOSED)
    return line.strip()


def _print(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
