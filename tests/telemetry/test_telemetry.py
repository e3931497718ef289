"""What a process tells of its work: lines, numbers and spans, without a text of a debate and without a secret."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from prometheus_client.parser import text_string_to_metric_families

from forkserver import ForkedPopen
from model_server import PATIENCE, ModelServer
from moot.app import App
from moot.core.debate import Status, Usage
from moot.errors import ModelError, ModelTimeout, WrongKey
from moot.settings import AppSettings
from moot.telemetry.log_context import here, within
from moot.telemetry.logs import JsonLines, TextLines, secrets
from moot.telemetry.metrics import MAX_MODELS, OTHER, Metrics
from moot.telemetry.otel import OtelSpans
from moot.telemetry.spans import NoSpans, open_spans, wanted
from moot.testing import MemoryStore, ScriptedModel, scripted_app
from moot.text.plain import hiding
from program import COMMAND, run
from stage import Panelists, sensible

TOPIC = "Is the sentinel topic ever told?"
AT = 1_700_000_000.125
TIME = "2023-11-14T22:13:20.125Z"
DUEL = {"max_rounds": 1}


def record(message: str, level: int = logging.INFO, **more: Any) -> logging.LogRecord:
    name = logging.getLevelName(level)
    return logging.makeLogRecord({"name": "moot.x", "levelname": name, "msg": message, "created": AT, **more})


@contextmanager
def logged(formatter: logging.Formatter | None = None) -> Iterator[io.StringIO]:
    """What moot logs meanwhile."""
    lines, logger = io.StringIO(), logging.getLogger("moot")
    handler = logging.StreamHandler(lines)
    handler.setFormatter(formatter or JsonLines({}, str))
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def events(lines: io.StringIO, *fields: str) -> list[tuple[Any, ...]]:
    told = map(json.loads, lines.getvalue().splitlines())
    return [tuple(line.get(field) for field in ("event", *fields)) for line in told]


def faulty(*faults: ModelError, store: MemoryStore | None = None) -> App:
    return scripted_app(ScriptedModel(sensible, faults=dict(enumerate(faults, 1))), store)


async def played(app: App, format: str = "duel", **settings: Any) -> str:
    made = await app.create(format, TOPIC, {**DUEL, **settings}, start=True)
    await app.runner.run_queued(made.id, lambda event: None, shared=True)
    return made.id


# Lines


def test_a_line_of_json_says_when_what_and_what_about() -> None:
    with within(debate="DEB-1", run=2), within(seat="judge"):
        line = JsonLines({"worker": "process 7 on here"}, str).format(record("turn stored", kind="verdict", colour=1))
    assert json.loads(line) == {
        "time": TIME,
        "level": "info",
        "event": "turn stored",
        "logger": "moot.x",
        "worker": "process 7 on here",
        "debate": "DEB-1",
        "run": 2,
        "seat": "judge",
        "kind": "verdict",
    }
    assert here() == {}


def test_a_line_of_text_says_the_same_to_people() -> None:
    with within(debate="DEB-1", run=2):
        line = TextLines(str).format(record("turn\nstored", logging.WARNING, duration_ms=12))
    assert line == f'{TIME} WARNING turn stored debate="DEB-1" run=2 duration_ms=12'


def test_a_traceback_is_one_field_of_json_and_lines_of_text() -> None:
    try:
        raise ValueError("no")
    except ValueError:
        broken = record("it failed", logging.ERROR, exc_info=sys.exc_info())
    assert json.loads(JsonLines({}, str).format(broken))["exception"].endswith("ValueError: no")
    assert TextLines(str).format(broken).splitlines()[-1] == "ValueError: no"


@given(st.text(), st.text())
def test_no_character_of_a_line_can_steer_a_terminal(message: str, error: str) -> None:
    shown = record("%s", args=(message,), error=error)
    told = JsonLines({}, str).format(shown)
    assert told.isascii()
    assert told.isprintable()
    assert (json.loads(told)["event"], json.loads(told)["error"]) == (message, error)
    assert TextLines(str).format(shown).isprintable()


def test_secrets_of_the_environment_and_the_settings_are_in_no_line() -> None:
    password, token, key, quoted = "p%40ss-sentinel", "token-sentinel", "sk-sentinel-1", 'sk"sentinel"\\2é'
    settings = AppSettings(database_url=f"postgresql://me:{password}@host/moot", token=token)  # type: ignore[arg-type]
    environ = {
        "DEEPSEEK_API_KEY": key,
        "GH_TOKEN": quoted,
        "PGPASSWORD": "sentinel-9",
        "SHORT_KEY": "e",
        "HOME": "moot",
    }
    hide = hiding(secrets(settings, environ))
    known = (password, "p@ss-sentinel", token, key, quoted, "sentinel-9")
    try:
        raise ValueError(f"refused: {quoted} {key}")
    except ValueError:
        broken = record(" ".join(known), error=quoted, exc_info=sys.exc_info())
    line = json.loads(JsonLines({}, hide).format(broken))
    assert (line["event"], line["error"]) == (" ".join(["[hidden]"] * len(known)), "[hidden]")
    assert line["exception"].endswith("ValueError: refused: [hidden] [hidden]")
    text = TextLines(hide).format(broken)
    assert "sentinel" not in text
    assert "moot" in JsonLines({}, hide).format(record("moot"))  # a word is no secret


def test_without_a_secret_a_line_stays_as_it_is() -> None:
    assert hiding(["short"])("a short line") == "a short line"
    assert list(secrets(AppSettings(database_url="postgresql://[broken"), {})) == []


async def test_a_run_is_told_with_its_turns() -> None:
    with logged() as lines:
        debate_id = await played(faulty(ModelTimeout("the model took too long")))
    fields = ("debate", "run", "format", "seat", "kind", "round", "position", "code")
    who = (debate_id, 1, "duel")
    assert events(lines, *fields) == [
        ("run started", *who, None, None, None, None, None),
        ("model call failed", *who, "debater_a", "argument", None, 0, "model_timeout"),
        ("turn stored", *who, "debater_a", "argument", 1, 0, None),
        ("turn stored", *who, "debater_b", "argument", 1, 1, None),
        ("turn stored", *who, "judge", "verdict", None, 2, None),
        ("run ended", *who, None, None, None, None, None),
    ]
    ended = json.loads(lines.getvalue().splitlines()[-1])
    assert (ended["status"], ended["reason"], ended["duration_ms"] >= 0) == ("finished", "max_rounds", True)
    assert TOPIC not in lines.getvalue()


async def test_a_retry_says_when_it_is_due_and_why() -> None:
    with logged() as lines:
        await played(faulty(*[ModelTimeout("the model took too long")] * 2))
    told = events(lines, "status", "retry_in", "error")
    assert told[-1] == ("retry scheduled", "queued", 10.0, "the model took too long")


async def test_a_debate_that_is_given_up_is_told() -> None:
    app = faulty(*[ModelTimeout("too slow")] * 2)
    debate_id = await played(app)
    app.settings.max_retries = 0
    with logged() as lines:
        await app.runner.run_queued(debate_id, lambda event: None)
    assert events(lines, "level", "code", "run") == [
        (f"{debate_id} is given up after 1 attempts: too slow", "warning", "given_up", 2)
    ]


async def test_a_run_that_failed_is_a_warning_that_tells_the_reason() -> None:
    with logged(TextLines(str)) as lines:
        debate_id = await played(faulty(WrongKey("check DEEPSEEK_API_KEY")))
    last = lines.getvalue().splitlines()[-1]
    assert f" WARNING {debate_id} failed: check DEEPSEEK_API_KEY debate=" in last
    assert 'status="failed" reason="failed"' in last


async def test_a_run_that_another_takes_over_tells_of_the_one_that_was_lost() -> None:
    app = faulty()
    made = await app.create("duel", TOPIC, DUEL, start=True)
    await app.store.take(made.id, "process 9 on there (room)", 0.0)
    with logged() as lines:
        await app.runner.run_queued(made.id, lambda event: None)
    lost = f"{made.id}: process 9 on there was lost in the middle of a run; another has taken over"
    assert events(lines, "code", "run")[0] == (lost, "taken_over", 2)


async def test_a_run_that_is_interrupted_says_so() -> None:
    reached = asyncio.Event()

    async def hold() -> None:
        reached.set()
        await asyncio.Event().wait()

    app = scripted_app(ScriptedModel(sensible, pace=hold))
    with logged() as lines:
        running = asyncio.create_task(played(app))
        await reached.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert events(lines, "code") == [("run started", None), ("run left", "interrupted")]


# Numbers


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Moot's own counters and histograms by name and labels; of times only how many there are."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
        if sample.name.startswith("moot_") and sample.name.endswith(("_total", "_count"))
    }


async def test_runs_turns_tokens_and_errors_are_counted() -> None:
    metrics = Metrics()
    app = faulty(ModelTimeout("slow"), ModelTimeout("slow"))
    app.telemetry.metrics = metrics
    debate_id = await played(app)
    await app.runner.run_queued(debate_id, lambda event: None, shared=True)
    turns = (await app.load(debate_id)).turns
    tokens = sum((turn.usage for turn in turns), Usage())
    assert samples(metrics) == {
        ("moot_runs_total", "duel", "queued"): 1,
        ("moot_runs_total", "duel", "finished"): 1,
        ("moot_retries_total",): 1,
        ("moot_turn_seconds_count", "duel", "argument"): 2,
        ("moot_turn_seconds_count", "duel", "verdict"): 1,
        ("moot_model_call_seconds_count", "scripted"): 3,
        ("moot_tokens_total", "input", "scripted:model"): tokens.input_tokens,
        ("moot_tokens_total", "output", "scripted:model"): tokens.output_tokens,
        ("moot_cached_tokens_total", "scripted:model"): tokens.cached_tokens,
        ("moot_model_errors_total", "model_timeout", "scripted"): 2,
    }
    assert TOPIC not in metrics.text().decode()


def test_models_have_names_up_to_a_number_and_then_are_counted_together() -> None:
    metrics = Metrics()
    for number in range(MAX_MODELS + 2):
        metrics.call_answered("p", f"m{number}", 0.1, Usage(output_tokens=1))
    counted = [labels for name, *labels in samples(metrics) if name == "moot_cached_tokens_total"]
    assert counted == [*([f"p:m{number}"] for number in range(MAX_MODELS)), [OTHER]]
    assert samples(metrics)["moot_tokens_total", "output", OTHER] == 2


# Spans


class Traced:
    """An app whose spans are kept."""

    def __init__(self, app: App) -> None:
        self.exporter = InMemorySpanExporter()
        self.app = app
        app.telemetry.spans = OtelSpans(SimpleSpanProcessor(self.exporter), {})

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return tuple(sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0))

    def tree(self) -> list[tuple[str, str | None]]:
        """Each span and the one around it, in the order in which they began."""
        names = {span.context.span_id: span.name for span in self.spans}
        return [(span.name, names.get(span.parent.span_id) if span.parent else None) for span in self.spans]

    def about(self, name: str) -> Mapping[str, Any]:
        return next(dict(span.attributes or {}) for span in self.spans if span.name == name)


@pytest.fixture
async def traced() -> AsyncIterator[Callable[[App], Traced]]:
    made: list[Traced] = []

    def trace(app: App) -> Traced:
        made.append(Traced(app))
        return made[-1]

    yield trace
    for each in made:
        await each.app.close()


async def test_a_run_is_one_trace_of_steps_and_calls(traced: Callable[[App], Traced]) -> None:
    trace = traced(faulty())
    debate_id = await played(trace.app)
    run = "invoke_workflow duel"
    seats = ["invoke_agent debater_a", "invoke_agent debater_b", "invoke_agent judge"]
    assert trace.tree() == [(run, None), *(pair for seat in seats for pair in ((seat, run), ("chat model", seat)))]
    assert len({span.context.trace_id for span in trace.spans}) == 1
    assert {span.kind for span in trace.spans if span.name == "chat model"} == {SpanKind.CLIENT}
    within_debate = {"gen_ai.conversation.id": debate_id, "moot.debate": debate_id}
    assert trace.about(run) == {
        **within_debate,
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "duel",
        "moot.run": 1,
        "moot.status": "finished",
        "moot.stop_reason": "max_rounds",
    }
    assert trace.about("invoke_agent judge") == {
        **within_debate,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "judge",
        "moot.kind": "verdict",
        "moot.position": 2,
    }
    usage = (await trace.app.load(debate_id)).turns[0].usage
    assert trace.about("chat model") == {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": debate_id,
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "model",
        "gen_ai.request.max_tokens": 600,
        "gen_ai.request.temperature": 0.7,
        "gen_ai.output.type": "text",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }


async def test_a_span_that_failed_names_the_code_and_holds_no_words(traced: Callable[[App], Traced]) -> None:
    trace = traced(faulty(WrongKey("the model said: sentinel words", partial="sentinel")))
    await played(trace.app)
    failed = [(span.name, (span.attributes or {}).get("error.type"), span.status.status_code) for span in trace.spans]
    assert failed == [
        ("invoke_workflow duel", None, StatusCode.UNSET),
        ("invoke_agent debater_a", "wrong_key", StatusCode.ERROR),
        ("chat model", "wrong_key", StatusCode.ERROR),
    ]
    told = " ".join(span.to_json() for span in trace.spans)
    assert "sentinel" not in told
    assert "Reason number" not in told


async def test_a_person_who_is_waited_for_is_no_error(traced: Callable[[App], Traced]) -> None:
    trace = traced(scripted_app(ScriptedModel(Panelists())))
    made = await trace.app.create("panel", TOPIC, {})
    assert (await trace.app.run(made.id, lambda event: None)).status is Status.WAITING
    assert trace.tree()[-1] == ("step human", "invoke_workflow panel")
    assert {span.status.status_code for span in trace.spans} == {StatusCode.UNSET}


async def test_runs_of_one_debate_are_traces_with_the_same_debate(traced: Callable[[App], Traced]) -> None:
    store = MemoryStore()
    first, second = traced(faulty(*[ModelTimeout("slow")] * 2, store=store)), traced(faulty(store=store))
    debate_id = await played(first.app)
    await second.app.runner.run_queued(debate_id, lambda event: None, shared=True)
    runs = [trace.about("invoke_workflow duel") for trace in (first, second)]
    assert [(run["moot.debate"], run["moot.run"]) for run in runs] == [(debate_id, 1), (debate_id, 2)]
    assert first.spans[0].context.trace_id != second.spans[0].context.trace_id


ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


@pytest.mark.parametrize(
    ("environ", "on"),
    [
        ({}, False),
        ({"OTEL_SERVICE_NAME": "debates"}, False),
        (ENDPOINT, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, False),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_the_standard_variables_say_whether_there_are_traces(environ: dict[str, str], on: bool) -> None:
    assert wanted(environ) is on
    if not on:
        assert isinstance(open_spans(environ), NoSpans)


def test_a_debate_in_the_terminal_imports_neither_spans_nor_metrics() -> None:
    script = (
        "import asyncio, sys, moot; from moot.testing import ScriptedModel;"
        "from moot.app import build; from moot.settings import load\n"
        "async def main():\n"
        "    async with build(load(), {}, {'scripted': ScriptedModel(lambda request: 'x')}) as app:\n"
        "        made = await app.create('duel', 'Cats?', {'model': 'scripted:m', 'max_rounds': 1})\n"
        "        await app.run(made.id, lambda event: None)\n"
        "asyncio.run(main())\n"
        "print(sorted({'opentelemetry', 'prometheus_client'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Somebody who takes traces over HTTP: their address, and what was posted where."""
    posted: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", posted
        finally:
            server.shutdown()
            thread.join()


def test_moot_sends_its_traces_where_the_environment_says() -> None:
    with ModelServer().running() as model, collector() as (address, posted):
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_SERVICE_NAME": "debates"}
        ran = run("debate", TOPIC, "--format", "duel", "--max-rounds", "1", "--model", model.model, env=env)
    assert ran.code == 0
    ((path, body),) = posted
    (told,) = ExportTraceServiceRequest.FromString(body).resource_spans
    assert path == "/v1/traces"
    service = next(each.value.string_value for each in told.resource.attributes if each.key == "service.name")
    assert service == "debates"
    names = sorted(span.name for span in told.scope_spans[0].spans)
    seats = [f"invoke_agent {seat}" for seat in ("debater_a", "debater_b", "judge")]
    assert names == [*["chat mock"] * 3, *seats, "invoke_workflow duel"]
    assert TOPIC.encode() not in body


# A worker


def test_a_worker_logs_lines_of_json_and_no_key_is_in_any(postgres_url: str) -> None:
    key = "sk-sentinel-0123456789"
    with ModelServer().running() as model:
        model.refusal = (401, f"{key} is not a key")
        env = {
            **os.environ,
            "MOOT_DATABASE_URL": postgres_url,
            "MOOT_MODEL": "deepseek:deepseek-chat",
            "DEEPSEEK_BASE_URL": model.url,
            "DEEPSEEK_API_KEY": key,
            "MOOT_LOG": "json",
            "MOOT_LOG_LEVEL": "debug",
        }
        pipe = subprocess.PIPE
        with ForkedPopen([*COMMAND, "worker"], stdout=pipe, stderr=pipe, text=True, env=env) as worker:
            try:
                assert worker.stdout
                assert worker.stdout.readline().startswith("Working on ")
                ran = run("debate", TOPIC, "--format", "duel", "--max-rounds", "1", env=env)
            finally:
                worker.send_signal(signal.SIGTERM)
                out, err = worker.communicate(timeout=PATIENCE)
    assert (ran.code, worker.returncode) == (1, 0)
    told = [json.loads(line) for line in err.splitlines()]
    own = [line["event"] for line in told if line["logger"].startswith("moot.") and line["level"] != "debug"]
    (failed,) = [event for event in own if " failed: " in event]
    assert own == ["worker started", "run started", "model call failed", failed, "worker draining", "worker stopped"]
    assert {line["worker"] for line in told} == {f"process {worker.pid} on {os.uname().nodename}"}
    for text in (out, err, ran.out, ran.err):
        assert key not in text
        assert TOPIC not in text or text in (ran.out, ran.err)


DEAD_COLLECTOR = """
import asyncio, threading
from opentelemetry.sdk.trace import SpanProcessor
from moot.telemetry import otel

class Dead(SpanProcessor):
    def shutdown(self):
        threading.Event().wait()

otel.CLOSE_SECONDS = 0.01
asyncio.run(otel.OtelSpans(Dead(), {}).close())
print("left")
"""


def test_a_collector_that_takes_nothing_keeps_no_process_from_ending(
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    process = start(DEAD_COLLECTOR)
    assert process.communicate(timeout=PATIENCE)[0] == "left\n"
    assert process.returncode == 0
