"""Draw the recorded duel that ships with moot as the terminal shows it: python docs/picture.py"""

import asyncio
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from moot.app import build
from moot.examples.catalog import find
from moot.llm.recording import Recording
from moot.settings import AppSettings
from moot.terminal.tables import introduction, outcome_view
from moot.terminal.views import headline

EXAMPLE = find("four-day-week")
SHOWN = ("argument", "verdict")
MAX_TEXT, MAX_TURNS = 420, 4


async def picture() -> str:
    console = Console(record=True, width=100, force_terminal=True, file=sys.stderr)
    with TemporaryDirectory() as folder:
        settings = AppSettings(database_url=f"sqlite:///{folder}/moot.db")
        async with build(settings, {}, tape=Recording.load(EXAMPLE.recording)) as app:
            record = await app.create(EXAMPLE.format, EXAMPLE.topic, EXAMPLE.settings())
            await app.run(record.id, lambda event: None)
            debate = await app.read(record.id)
    console.print(introduction(debate))
    for turn in [turn for turn in debate.events if turn.kind in SHOWN][-MAX_TURNS:]:
        console.print()
        console.print(headline(debate.format, debate.sides, turn))
        console.print(Padding(Text(shorten(turn.content, MAX_TEXT, placeholder=" …")), (0, 2)))
    if debate.outcome:
        console.print(outcome_view(debate.outcome, debate.reason))
    return console.export_svg(title=f"moot debate {debate.record.topic!r}", code_format=_without_fonts())


def _without_fonts() -> str:
    """Rich's drawing, but with the reader's own fonts: it loads nothing from elsewhere."""
    return re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


if __name__ == "__main__":
    Path(__file__).with_name("debate.svg").write_text(asyncio.run(picture()))
