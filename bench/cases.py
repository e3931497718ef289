"""What is measured, one case per process: `python bench/cases.py CASE '{"argument": …}'` prints its result as JSON."""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import uvloop

if TYPE_CHECKING:
    import aiohttp

    from moot.app import App

TOPIC = "A city should make its public transport free"
CALLS = 11
REPLAYED_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Load:
    """What a number of debates at once took of this process."""

    seconds: float
    """From the first call to the last debate's end."""
    mean_seconds: float
    """Of one debate."""
    cpu_seconds: float
    peak_mb: float


async def moot_debates(url: str, debates: int) -> Load:
    """Duels as moot runs them: each turn committed to SQLite, each event handed to a reader."""
    import aiohttp  # noqa: F401 - as for the bare loop: what comes with the first debate is not measured

    with tempfile.TemporaryDirectory() as folder:
        async with open_app(folder, url) as app:
            await app.estimate("duel", TOPIC)
            load = await measure(debates, lambda number: debate(app, number))
            records = await app.list(limit=debates + 1)
            stored = [await app.load(record.id) for record in records]
    turns = [len(debate.turns) for debate in stored]
    if turns != [CALLS] * debates:
        raise SystemExit(f"{debates} debates of {CALLS} turns were to be stored, not {turns}")
    return load


async def bare_loop(url: str, debates: int) -> Load:
    """The same calls by hand with aiohttp; nothing is stored, nobody reads along, nothing is retried."""
    import aiohttp

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session:
        return await measure(debates, lambda number: bare_debate(session, f"{url}/chat/completions", number))


async def replay(url: str) -> float:
    """Seconds to load a debate of 101 turns and play them into its script again."""
    from moot.core.replay import next_steps

    with tempfile.TemporaryDirectory() as folder:
        async with open_app(folder, url) as app:
            settings = {"max_rounds": REPLAYED_ROUNDS, "max_total_output_tokens": 1_000_000}
            record = await app.create("duel", TOPIC, settings)
            await app.run(record.id, lambda event: None)
            times = []
            for _ in range(20):
                began = time.perf_counter()
                stored = await app.load(record.id)
                left = next_steps(stored.record, stored.turns, app.formats["duel"])
                times.append(time.perf_counter() - began)
                if left or len(stored.turns) != 2 * REPLAYED_ROUNDS + 1:
                    raise SystemExit(f"{len(stored.turns)} turns are stored and {len(left)} steps left to play")
    return statistics.median(times)


async def importing() -> float:
    began = time.perf_counter()
    import moot.app.app  # noqa: F401

    return time.perf_counter() - began


async def measure(debates: int, run: Callable[[int], Coroutine[None, None, float]]) -> Load:
    cpu, began = cpu_seconds(), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run(number)) for number in range(debates)]
    seconds, cpu = time.perf_counter() - began, cpu_seconds() - cpu
    return Load(seconds, statistics.mean(task.result() for task in tasks), cpu, peak_mb())


async def debate(app: App, number: int) -> float:
    seen: Counter[str] = Counter()
    began = time.perf_counter()
    record = await app.create("duel", f"{TOPIC} ({number})")
    ending = await app.run(record.id, lambda event: seen.update((event.type,)))
    took = time.perf_counter() - began
    if ending.outcome is None or seen["turn_finished"] != CALLS or seen["debate_finished"] != 1:
        raise RuntimeError(f"{record.id} ended as {ending} after {seen}")
    return took


async def bare_debate(session: aiohttp.ClientSession, url: str, number: int) -> float:
    began = time.perf_counter()
    said: list[str] = []
    for call in range(CALLS):
        prompt = "\n\n".join([f"{TOPIC} ({number})", *said])
        body: dict[str, object] = {"model": "mock", "messages": [{"role": "user", "content": prompt}], "stream": True}
        if call == CALLS - 1:
            body["response_format"] = {"type": "json_object"}
        said.append(await bare_call(session, url, orjson.dumps(body)))
    return time.perf_counter() - began


async def bare_call(session: aiohttp.ClientSession, url: str, body: bytes) -> str:
    text: list[str] = []
    async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as response:
        async for line in response.content:
            if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                choices = orjson.loads(line[6:])["choices"]
                text.extend(choice["delta"].get("content", "") for choice in choices)
    return "".join(text)


def open_app(folder: str, url: str) -> AbstractAsyncContextManager[App]:
    from moot.app import build
    from moot.settings import AppSettings

    return build(AppSettings(database_url=f"sqlite:///{folder}/moot.db", model=f"{url}#mock"))


def cpu_seconds() -> float:
    """Of all threads of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_mb() -> float:
    """The most memory this process has held; what `getrusage` says counts the process that started it as well."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


CASES: dict[str, Callable[..., Awaitable[Load | float]]] = {
    "moot": moot_debates,
    "bare": bare_loop,
    "replay": replay,
    "import": importing,
}


async def main() -> None:
    logging.disable()  # a debate's failure is told once, below
    gc.set_threshold(10_000, 10, 10)  # as the program moot does; for the bare loop too
    try:
        result = await CASES[sys.argv[1]](**orjson.loads(sys.argv[2]))
    except* RuntimeError as faults:
        raise SystemExit(f"{len(faults.exceptions)} debates failed; the first: {faults.exceptions[0]}") from None
    print(orjson.dumps(asdict(result) if isinstance(result, Load) else result).decode())


if __name__ == "__main__":
    uvloop.run(main())
