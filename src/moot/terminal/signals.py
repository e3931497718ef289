"""What a person's Ctrl-C means for as long as something lasts, where the event loop hears signals."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def on_signals(call: Callable[[signal.Signals], object], *names: signal.Signals) -> Iterator[None]:
    """Have these signals, or those that ask a process to end, make that call and nothing else."""
    loop, names = asyncio.get_running_loop(), names or ENDING
    with suppress(NotImplementedError):  # Windows' loop hears none
        for name in names:
            loop.add_signal_handler(name, call, name)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            for name in names:
                loop.remove_signal_handler(name)
