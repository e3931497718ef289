"""The words of a command that a setting names, which no shell reads."""

from __future__ import annotations

import os
import shlex


def words(command: str, system: str = os.name) -> list[str]:
    """As a shell parts them; on Windows a backslash is a part of a path. Raises ValueError for an open quote."""
    lexer = shlex.shlex(command, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    if system == "nt":
        lexer.escape = ""
    return list(lexer)
