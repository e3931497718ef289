"""The `moot` program: from its first import on, Ctrl-C ends it without a word."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from moot.terminal.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
