"""Measure moot and print one table: `make bench`, or `python bench/run.py --quick` for a shorter one.

Starts its own model server and one fresh process per case; needs no network, no key and no other repository.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

FOLDER = Path(__file__).parent
CALLS = 11
TTFT_US = 50_000
GAP_US = 20_000
JSON_TOKENS = 40


class Row(NamedTuple):
    what: str
    measured: str
    aim: str = ""


@dataclass(frozen=True, slots=True)
class Size:
    tokens: int
    """In a debater's reply."""
    debates: int
    unpaced_debates: int
    starts: int

    @property
    def all_tokens(self) -> int:
        """Of one debate."""
        return (CALLS - 1) * self.tokens + JSON_TOKENS

    @property
    def ideal(self) -> float:
        """The seconds that one debate's replies take by themselves."""
        return (CALLS * TTFT_US + (self.all_tokens - CALLS) * GAP_US) / 1e6


FULL = Size(tokens=150, debates=100, unpaced_debates=200, starts=10)
QUICK = Size(tokens=30, debates=100, unpaced_debates=50, starts=3)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure moot's speed.")
    parser.add_argument("--quick", action="store_true", help="a quarter of a minute instead of two; less exact")
    parser.add_argument("--server", metavar="URL", help="another server than our own, such as http://127.0.0.1:9099/v1")
    options = parser.parse_args()
    size = QUICK if options.quick else FULL
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, duels of {CALLS} calls\n")
    print("| what | measured | aim |\n|---|---|---|", flush=True)
    busy, began = busy_seconds(), time.perf_counter()
    with model_server(options.server) as url:
        for row in measurements(url, size):
            print(f"| {' | '.join(row)} |", flush=True)
    others = busy_seconds() - busy - own_seconds()
    share = others / (time.perf_counter() - began) / (os.cpu_count() or 1)
    print(f"\nOther work took {max(0, share):.0%} of the machine meanwhile; above a few per cent, measure again.")


def measurements(url: str, size: Size) -> Iterator[Row]:
    yield from at_once(url, size)
    yield from alone(url, size)
    yield from unpaced(url, size)
    yield from starting(size)


def at_once(url: str, size: Size) -> Iterator[Row]:
    """Many debates beside each other, each at a model's usual pace."""
    tokens = size.debates * size.all_tokens
    set_pace(url, size.tokens, TTFT_US, GAP_US)
    before = stats(url)["server_cpu_s"]
    moot = case("moot", url=url, debates=size.debates)
    asked = stats(url)
    check(asked, size.debates, size)
    bare = case("bare", url=url, debates=size.debates)
    many = f"{size.debates} debates at {1_000_000 // GAP_US} tokens/s"
    cpu, bare_cpu = (1e6 * load["cpu_seconds"] / tokens for load in (moot, bare))
    yield Row(f"CPU per token, {many}", f"{cpu:.1f} µs", "≤ 60 µs")
    yield Row("the same calls in a bare aiohttp loop that stores nothing", f"{bare_cpu:.1f} µs")
    yield Row("moot : bare loop", f"{cpu / bare_cpu:.2f}")
    yield Row("the model server's own, in its process", f"{1e6 * (asked['server_cpu_s'] - before) / tokens:.1f} µs")
    yield Row(f"time over the ideal, {many}, the last to end", over(moot["seconds"], size), "≤ 3%")
    yield Row("the mean debate of these", over(moot["mean_seconds"], size))
    yield Row("the bare loop, the last to end", over(bare["seconds"], size))
    yield Row(f"peak memory, {many}", f"{moot['peak_mb']:.0f} MB", "≤ 60 MB")
    yield Row("the bare loop", f"{bare['peak_mb']:.0f} MB")


def alone(url: str, size: Size) -> Iterator[Row]:
    load = case("moot", url=url, debates=1)
    yield Row("time over the ideal, 1 debate", over(load["seconds"], size))


def unpaced(url: str, size: Size) -> Iterator[Row]:
    """A model that answers at once: all the time is moot's."""
    set_pace(url, size.tokens, 0, 0)
    load = case("moot", url=url, debates=size.unpaced_debates)
    check(stats(url), size.unpaced_debates, size)
    aim = "≤ 2.5 s" if size is FULL else ""
    yield Row(f"{size.unpaced_debates} debates without a model's delay", f"{load['seconds']:.2f} s", aim)
    yield Row("replay of 101 stored turns, read from SQLite", f"{1000 * case('replay', url=url):.1f} ms")


def starting(size: Size) -> Iterator[Row]:
    case("import")  # leaves the bytecode that any second start finds
    imports = statistics.median(case("import") for _ in range(size.starts))
    yield Row(f"`import moot.app`, median of {size.starts}", f"{imports:.2f} s")
    helps = statistics.median(help_seconds() for _ in range(size.starts))
    yield Row(f"`moot --help`, median of {size.starts}", f"{helps:.2f} s", "≤ 0.25 s")


def case(name: str, **arguments: object) -> Any:
    """The result of a case, measured in a process of its own."""
    command = [sys.executable, str(FOLDER / "cases.py"), name, orjson.dumps(arguments).decode()]
    return orjson.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment()).stdout)


def help_seconds() -> float:
    program = shutil.which("moot", path=str(Path(sys.executable).parent))
    if program is None:
        raise SystemExit("the program moot is not installed beside this Python: run `make bench`")
    began = time.perf_counter()
    subprocess.run([program, "--help"], check=True, stdout=subprocess.DEVNULL, env=environment())
    return time.perf_counter() - began


def environment() -> dict[str, str]:
    """Ours without what would change moot's settings or keep Python from caching bytecode; each duel is judged once."""
    dropped = ("MOOT_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "MOOT_DEPTH": "quick"}


def busy_seconds() -> float:
    """What all processes of this machine have used of its cores, where Linux tells."""
    try:
        user, nice, system, _, _, irq, softirq, *_ = Path("/proc/stat").read_text().split()[1:9]
    except FileNotFoundError:
        return 0.0
    return sum(map(int, (user, nice, system, irq, softirq))) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """What this process and those it started have used; the server counts once it has ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


@contextmanager
def model_server(running: str | None) -> Iterator[str]:
    """The address of the server to measure with."""
    if running:
        yield running
        return
    command = [sys.executable, str(FOLDER / "model_server.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def set_pace(url: str, tokens: int, ttft_us: int, gap_us: int) -> None:
    pace = f"ttft_us={ttft_us}&gap_us={gap_us}&tokens={tokens}&json_tokens={JSON_TOKENS}"
    urllib.request.urlopen(f"{url.removesuffix('/v1')}/control?{pace}", data=b"").close()


def stats(url: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/stats") as response:
        counted: dict[str, float] = orjson.loads(response.read())
        return counted


def check(asked: dict[str, float], debates: int, size: Size) -> None:
    """That the debates were the ones we mean to measure, whole and without retries."""
    expected = {"requests": debates * CALLS, "tokens": debates * size.all_tokens}
    if (counted := {name: asked[name] for name in expected}) != expected:
        raise SystemExit(f"the model server was to count {expected}, not {counted}")


def over(seconds: float, size: Size) -> str:
    return f"{100 * (seconds / size.ideal - 1):.1f}%"


if __name__ == "__main__":
    main()
