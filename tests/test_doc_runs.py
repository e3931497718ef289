"""What README and docs show is run: every command of moot's against a model server of ours, every request of curl's
against a moot server, every piece of Python. What cannot be run here is named below, with the reason.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from theatre import Theatre, company

from in_process import moot
from model_server import ModelServer
from moot.core.debate import Status
from ollama_server import OllamaServer
from pdf_file import pdf
from stage import SYNTHESIS
from test_doc_blocks import BLOCKS, ROOT, Block, answering, commands, named

NOT_RUN: Mapping[str, str] = {
    "uv": "installs from the registry; scripts/wheels.py tries it",
    "pip": "installs from the registry",
    "docker": "needs Docker; tests/test_deployment.py reads compose.yaml",
    "make": "make runs these tests",
    "ollama": "needs Ollama; tests/llm/test_ollama.py plays its server",
    "claude": "needs Claude Code; tests/integrations/test_mcp.py plays the client",
    "moot allow": "asks a person; tests/terminal/test_allow.py is one",
    "sqlite3": "needs SQLite's own program",
    "pg_dump": "needs PostgreSQL's own programs",
    "pg_restore": "needs PostgreSQL's own programs",
    "moot serve": "stays until it is stopped; tests/web/theatre.py runs it",
    "moot worker": "stays until it is stopped; tests/faults runs it",
    "moot mcp": "stays until it is stopped; tests/integrations/test_mcp_transports.py runs it",
    'moot debate "Tabs are better than spaces" --format duel --model local:qwen': "needs the model that was pulled "
    "before; tests/llm/test_local_debate.py has the built-in one",
    'moot debate "Rain" --format slam': "needs the package above; tests/test_docs.py plays its format",
    "moot models pull": "tests/llm/test_weights.py runs it against a hub of its own",
}
"""How lines begin that are not run here."""
MODELS = ("qwen3:8b", "qwen3:32b")
SEARCHER = shlex.join([sys.executable, "-IS", str(ROOT / "tests/bare_server.py")])
FILES = {
    "our-numbers.md": "Reads: 4,200 a second.",
    "notes/pool.md": "The pool costs 80,000 a year.",
    "docs/cache.md": "Redis answers in 0.2 ms.",
    "numbers.csv": "year,cost\n2025,80000\n",
    "change.diff": "-tabs\n+spaces\n",
    "api-guidelines.md": "Every list has a cursor.",
    "moot.yaml": f"research: {{files: {{command: {SEARCHER}, tools: [search]}}}}\n",
}
"""What the commands speak of."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server behind the addresses of all vendors, Ollama's too."""
    play = company()
    with (
        ModelServer(answering(play)).running() as server,
        OllamaServer(MODELS, as_ollama(answering(play))).running() as other,
    ):
        for vendor in ("DEEPSEEK", "OPENAI", "OPENROUTER"):
            monkeypatch.setenv(f"{vendor}_BASE_URL", server.url)
            monkeypatch.setenv(f"{vendor}_API_KEY", "any")
        monkeypatch.setenv("OLLAMA_HOST", other.host)
        monkeypatch.setenv("MOOT_MODEL", server.model)
        yield server


def as_ollama(reply: Callable[[dict[str, Any]], str]) -> Callable[[dict[str, Any]], str]:
    def answer(body: dict[str, Any]) -> str:
        form = (
            {"response_format": {"json_schema": {"name": "form", "schema": body["format"]}}} if "format" in body else {}
        )
        return reply({"messages": body["messages"], **form})

    return answer


def lines(text: str) -> Iterator[str]:
    """What a shell is to do, one command after the other, without comments."""
    line = ""
    for part in re.sub(r"\\\n\s*", " ", text).splitlines():
        line += re.sub(r"(^|\s+)# .*", "", part.removeprefix("$ "))
        if line.count("'") % 2:  # a text of several lines
            continue
        if line := line.strip():
            yield line
        line = ""


def start_of(line: str) -> str:
    """The program, with its command where it is moot."""
    words = re.sub(r"^(\w+=(\$\(.*?\)|\S*) )*", "", line).split()
    return " ".join(words[:3] if words[:2] == ["moot", "models"] else words[:2] if words[0] == "moot" else words[:1])


def is_run(line: str) -> bool:
    return line not in NOT_RUN and start_of(line) not in {*NOT_RUN, "export", "curl"}


def test_what_is_not_run_stands_in_the_docs_and_what_runs_it_instead_is_there() -> None:
    starts = {
        start
        for block in BLOCKS
        if block.language == "sh"
        for start in (*map(start_of, lines(block.text)), *lines(block.text))
    }
    assert NOT_RUN.keys() <= starts
    named = {path for reason in NOT_RUN.values() for path in re.findall(r"(?:tests|scripts|\.github)/[\w./]+", reason)}
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("block", [each for each in named("sh", "console") if "tutorial" not in each.id])
@pytest.mark.usefixtures("server")
def test_every_command_does_what_it_shows(block: Block, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in {**FILES, "rubber-duck.md": text_of("docs/templates.md", "markdown")}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("our-numbers.pdf", "report.pdf"):
        (tmp_path / name).write_bytes(pdf("The pool costs 80,000 a year."))
    shutil.copytree(ROOT / "examples/ideas", tmp_path / "examples/ideas")
    if "--research" in block.text:
        assert moot(capsys, "allow", "--yes").code == 0
    for line in filter(is_run, lines(block.text)):
        if "DEB-…" in line:
            assert moot(capsys, "debate", "Latency matters most", "--format", "duel", "--set", "depth=normal").code == 0
            newest = moot(capsys, "debate", "--list", "--json").out.splitlines()[0]
            line = line.replace("DEB-…", json.loads(newest)["id"])
        own = list(commands(line))
        if len(own) == 1 and not re.search(r"[$<>|]", line):
            code, shown = (ran := moot(capsys, *own[0])).code, ran.out + ran.err
        else:
            code, shown = in_shell(line)
        assert code in (0, 3), f"{line}\n{shown}"  # 3: it waits for a person


def in_shell(line: str) -> tuple[int, str]:
    python = shlex.quote(sys.executable)
    script = f'moot() {{ {python} -m moot "$@"; }}\npython() {{ {python} "$@"; }}\n{line}'
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def text_of(page: str, language: str) -> str:
    return next(block.text for block in BLOCKS if (block.page, block.language) == (page, language))


@pytest.fixture
def theatre(tmp_path: Path) -> Iterator[Theatre]:
    record = {**SYNTHESIS, "tasks": ["Measure it"]}
    theatre = Theatre(tmp_path, company(synthesis=record), workflow={"command": "cat"})
    theatre.start()
    yield theatre
    theatre.baton.let_all()
    theatre.stop()


CURLS = [line for block in BLOCKS if block.language == "sh" for line in lines(block.text) if start_of(line) == "curl"]


@pytest.mark.parametrize("line", CURLS)
def test_every_request_is_answered(line: str, theatre: Theatre, tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(pdf("The pool costs 80,000 a year."))
    asked = re.sub(r"http://[\w.]+:8321", theatre.url, line)
    asked = re.sub(r"openai:[\w.-]+", "scripted:model", asked)
    asked = re.sub(r"\bID\b", lambda _: a_debate(theatre, line), asked)
    ran = subprocess.run(["bash", "-c", f"{asked} --fail-with-body"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def a_debate(theatre: Theatre, line: str) -> str:
    """One that is where the request wants it to be."""
    if re.search("/(reply|next-steps|workflow)", line):
        debate = theatre.create("panel", "Redis or PostgreSQL?", max_rounds=2, checkpoints="/reply" in line)
        theatre.until(debate, Status.WAITING if "/reply" in line else Status.FINISHED)
        return debate
    if re.search("/(stop|resume|conclude)", line):
        theatre.baton.let(3)
        debate = theatre.create("duel", "Cats are better than dogs")
        if "/resume" in line:
            theatre.do(lambda app: app.stop(debate))
            theatre.baton.let_all()
            theatre.until(debate, Status.STOPPED)
        return debate
    debate = theatre.create("duel", "Cats are better than dogs", max_rounds=3)
    theatre.until(debate, Status.FINISHED)
    return debate


PYTHON_NOT_RUN: Mapping[str, str] = {
    "import pandas": "needs pandas",
    "# format.py": "run by tests/test_docs.py",
    "# declared.py": "run by tests/test_docs.py",
    "# looking.py": "run by tests/test_docs.py",
    "def careful_agent": "the text of examples/langgraph_agent.py, held by tests/integrations/test_langgraph.py",
    'while "result" not in': "the text of examples/langgraph_agent.py, held by tests/integrations/test_langgraph.py",
    "asyncio.run(main())": "run by tests/test_doc_blocks.py as a program",
}
"""Words of the pieces of Python that are not run here."""
BEFORE: Mapping[str, str] = {
    "polars.read": "from pathlib import Path; Path('debates-2026').mkdir()\n"
    'Path(\'debates-2026/debates.jsonl\').write_text(\'{"format": "duel", "outcome": "{}"}\\n\')',
    "client = openai.OpenAI": "import openai; from langgraph.graph import StateGraph\n"
    "from moot.integrations.langgraph import debate_graph; from moot.testing import scripted_app\n"
    "from moot.testing import ScriptedModel; app = scripted_app(ScriptedModel(str)); graph = StateGraph(dict)",
    "async for event in moot.stream(": "import moot",
    "from moot.llm.recording import Recorder": "from moot.testing import ScriptedModel; client = ScriptedModel(str)",
    "from moot.testing import recorded": "from pathlib import Path; from moot.testing import ScriptedModel\n"
    "from theatre import company; my_client = ScriptedModel(company()); __file__ = 'test_mine.py'",
    "asking = {": "from openai import OpenAI; client = OpenAI(base_url='http://127.0.0.1:8321/v1', api_key='any')",
}
"""What the reader of a piece has already."""
AFTER: Mapping[str, str] = {
    "async def main()": "await main()",
    "def points(debate)": "from types import SimpleNamespace as S\n"
    "assert [each.text for each in points(S(topic='Cats', transcript=[]))] == ['Cats']",
    "async def test_my_format": "await test_my_format_comes_to_a_decision()",
    "async def watch(": "assert (await watch()).status == 'finished'",
    "def is_genuine": "from moot.delivery.webhooks import signature, signing_key\n"
    "key = 'whsec_' + base64.b64encode(b'k' * 32).decode(); now = int(time.time())\n"
    "sent = {'webhook-id': 'msg_1', 'webhook-timestamp': str(now)}\n"
    "sent['webhook-signature'] = signature('msg_1', now, b'{}', signing_key(key))\n"
    "assert is_genuine(sent, b'{}', key) and not is_genuine(sent, b'[]', key)",
    "again = client": "assert again.status == 'completed'",
}
"""What is done with what a piece defines."""


@pytest.mark.parametrize(
    "block", [each for each in named("python") if not any(map(each.values[0].text.count, PYTHON_NOT_RUN))]
)
@pytest.mark.usefixtures("server")
def test_every_piece_of_python_runs(block: Block, theatre: Theatre) -> None:
    def around(texts: Mapping[str, str]) -> str:
        return "\n".join(text for words, text in texts.items() if words in block.text)

    text = f"{around(BEFORE)}\n{textwrap.dedent(block.text)}\n{around(AFTER)}"
    text = text.replace("http://127.0.0.1:8321", theatre.url).replace("timing=True", "timing=False")
    text = text.replace("[…]", '[{"role": "user", "content": "Cats are better than dogs"}]')
    code = compile(text, f"{block.page}:{block.line}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, {"__name__": "docs"})
    if inspect.iscoroutine(result):
        asyncio.run(result)
