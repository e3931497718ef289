"""How long commands take to start and end, and what heavy things they import: python bench/start.py [TURNS]"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from moot.app import build
from moot.examples.catalog import examples
from moot.llm.recording import Recording
from moot.settings import AppSettings

HEAVY = ("pydantic", "rich.console", "uvloop", "aiohttp", "jinja2", "yaml", "numpy", "fastapi", "genai_prices")
COMMANDS = (
    *("--version", "debate --list", "show ID", "show ID --claims", "claims latency", "export ID", "traces stats"),
    *("perspectives", "templates list", "fork ID", "doctor", "demo four-day-week --speed 0"),
)


async def made(database: str, folder: Path) -> str:
    """The id of a finished debate in a new database."""
    example = examples()[-1]
    settings = AppSettings.model_construct(database_url=database, decisions=folder)
    async with build(settings, {}, tape=Recording.load(example.recording)) as app:
        record = await app.create(example.format, example.topic, example.settings())
        await app.run(record.id, lambda event: None)
        return record.id


def cpu_ms(words: list[str], env: dict[str, str]) -> float:
    with subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = status
    return 1000 * (used.ru_utime + used.ru_stime)


def imported(words: list[str], env: dict[str, str]) -> list[str]:
    told = subprocess.run([sys.executable, "-X", "importtime", *words[1:]], env=env, capture_output=True, text=True)
    names = {line.rpartition("|")[2].strip() for line in told.stderr.splitlines()}
    return [name for name in HEAVY if name in names]


def main(turns: int) -> None:
    with TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/moot.db"
        debate = asyncio.run(made(database, Path(folder)))
        plain = {name: text for name, text in os.environ.items() if not name.startswith("MOOT_")}
        env = plain | {"HOME": folder, "XDG_DATA_HOME": folder, "MOOT_DATABASE_URL": database}
        called = {text: [sys.executable, "-m", "moot", *text.replace("ID", debate).split()] for text in COMMANDS}
        times: dict[str, list[float]] = {text: [] for text in called}
        for _ in range(turns):
            for text, words in called.items():
                times[text].append(cpu_ms(words, env))
        base = median(times["--version"])
        print(f"{'moot …':30} {'CPU':>7} {'times':>6}  imports")
        for text, words in called.items():
            taken = median(times[text])
            print(f"{text:30} {taken:4.0f} ms {taken / base:6.2f}  {', '.join(imported(words, env))}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
