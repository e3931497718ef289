"""Draw a stored debate as the terminal shows it: python docs/picture.py DEB-… docs/debate.svg"""

import asyncio
import re
import sys
from pathlib import Path
from textwrap import shorten

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from moot.app import build
from moot.settings import load
from moot.terminal.tables import introduction, outcome_view
from moot.terminal.views import headline

MAX_TEXT = 380


async def picture(debate_id: str) -> str:
    console = Console(record=True, width=100, force_terminal=True, file=sys.stderr)
    async with build(load()) as app:
        debate = await app.read(debate_id)
    console.print(introduction(debate))
    for turn in debate.events:
        console.print()
        console.print(headline(debate.format, turn))
        console.print(Padding(Text(shorten(turn.content, MAX_TEXT, placeholder=" …")), (0, 2)))
    if debate.outcome:
        console.print(outcome_view(debate.outcome, debate.reason))
    return console.export_svg(title=f"moot debate {debate.record.topic!r}", code_format=_without_fonts())


def _without_fonts() -> str:
    """Rich's drawing, but with the reader's own fonts: it loads nothing from elsewhere."""
    return re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


Path(sys.argv[2]).write_text(asyncio.run(picture(sys.argv[1])))
