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
PACE = f"{1_000_000 // GAP_US} tokens/s"


class Row(NamedTuple):
    what: str
    measured: str
    aim: str = ""


@dataclass(frozen=True, slots=True)
class Size:
    debates: int
    """With replies of `SHORT` tokens, at once."""
    unpaced_debates: int
    starts: int
    long: int
    """Tokens of a long reply; none are measured where there are none."""


SHORT = 30
"""Tokens in a debater's reply."""
FULL = Size(debates=100, unpaced_debates=200, starts=10, long=150)
QUICK = Size(debates=100, unpaced_debates=100, starts=3, long=0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure moot's speed.")
    parser.add_argument("--quick", action="store_true", help="half a minute instead of two; less exact")
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
    yield from unpaced(url, size.unpaced_debates)
    yield from at_once(url, size.debates)
    if size.long:
        yield from long_replies(url, size.debates, size.long)
    yield from starting(size)


def unpaced(url: str, debates: int) -> Iterator[Row]:
    """A model that answers at once: all the time is moot's."""
    set_pace(url, SHORT, 0, 0)
    moot, bare = both(url, debates, SHORT)
    many = f"{debates} debates without a model's delay"
    cpu, bare_cpu = (1e3 * load["cpu_seconds"] / (debates * CALLS) for load in (moot, bare))
    yield Row(f"CPU per call, {many}", f"{cpu:.2f} ms", "≤ 0.7 ms")
    yield Row("the same calls in a bare aiohttp loop that stores nothing", f"{bare_cpu:.2f} ms")
    yield Row("time of these", f"{moot['seconds']:.2f} s")
    yield Row("the bare loop's", f"{bare['seconds']:.2f} s")
    yield Row("replay of 101 stored turns, read from SQLite", f"{1000 * case('replay', url=url):.1f} ms")


def at_once(url: str, debates: int) -> Iterator[Row]:
    """Many debates beside each other, each at a model's usual pace, and twice as many."""
    set_pace(url, SHORT, TTFT_US, GAP_US)
    moot, bare = both(url, debates, SHORT)
    yield Row(f"time over the ideal, {debates} debates at {PACE}, replies of {SHORT}", over(moot, SHORT), "≤ 4%")
    yield Row("the bare loop", over(bare, SHORT))
    moot, bare = both(url, 2 * debates, SHORT)
    yield Row(f"peak memory, {2 * debates} debates at {PACE}", f"{moot['peak_mb']:.0f} MB", "≤ 70 MB")
    yield Row("the bare loop", f"{bare['peak_mb']:.0f} MB")


def long_replies(url: str, debates: int, tokens: int) -> Iterator[Row]:
    """What a token costs."""
    set_pace(url, tokens, TTFT_US, GAP_US)
    before = stats(url)["server_cpu_s"]
    moot, bare = both(url, debates, tokens)
    received = debates * all_tokens(tokens)
    cpu, bare_cpu = (1e6 * load["cpu_seconds"] / received for load in (moot, bare))
    yield Row(f"CPU per token, {debates} debates at {PACE}, replies of {tokens}", f"{cpu:.1f} µs", "≤ 60 µs")
    yield Row("the bare loop", f"{bare_cpu:.1f} µs")
    served = stats(url)["server_cpu_s"] - before
    yield Row("the model server's own, in its process", f"{1e6 * served / (2 * received):.1f} µs")
    yield Row("time over the ideal of these, the last to end", over(moot, tokens), "≤ 3%")
    yield Row("the bare loop", over(bare, tokens))


def both(url: str, debates: int, tokens: int) -> tuple[Any, Any]:
    """What moot takes of a process for so many debates, and what a bare loop does."""
    before = stats(url)
    moot = case("moot", url=url, debates=debates)
    check(before, stats(url), debates, tokens)
    return moot, case("bare", url=url, debates=debates)


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


def check(before: dict[str, float], asked: dict[str, float], debates: int, tokens: int) -> None:
    """That the debates were the ones we mean to measure, whole and without retries."""
    expected = {"requests": debates * CALLS, "tokens": debates * all_tokens(tokens)}
    if (counted := {name: asked[name] - before[name] for name in expected}) != expected:
        raise SystemExit(f"the model server was to count {expected}, not {counted}")


def all_tokens(tokens: int) -> int:
    """Of one debate whose replies have so many."""
    return (CALLS - 1) * tokens + JSON_TOKENS


def over(load: Any, tokens: int) -> str:
    """How much longer than the replies take by themselves."""
    ideal = (CALLS * TTFT_US + (all_tokens(tokens) - CALLS) * GAP_US) / 1e6
    return f"{100 * (load['seconds'] / ideal - 1):.1f}%"


if __name__ == "__main__":
    main()
