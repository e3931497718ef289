"""The numbers of this process, as Prometheus counts them.

No label holds a text somebody has written, and each has few values: formats and kinds are code, providers and models
are those that have answered.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, Summary, generate_latest

from moot.core.debate import Usage
from moot.llm.addresses import public_name

SECONDS = (0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)
MAX_MODELS = 50
"""Those that come later are counted together."""
OTHER = "other"
MAX_NAME = 80


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._models: set[str] = set()
        own = self._registry
        self._runs = Counter("moot_runs", "Runs that ended here, by status", ["format", "status"], registry=own)
        self._retries = Counter("moot_retries", "Runs that failed here and are tried again later", registry=own)
        self._turns = Histogram(
            "moot_turn_seconds", "How long turns took that were stored here", ["format", "kind"],
            registry=own, buckets=SECONDS,
        )  # fmt: skip
        self._calls = Histogram(
            "moot_model_call_seconds", "How long models took to answer, waiting for their pace included", ["provider"],
            registry=own, buckets=SECONDS,
        )  # fmt: skip
        self._tokens = Counter("moot_tokens", "Tokens of answered calls", ["direction", "model"], registry=own)
        self._cached = Counter(
            "moot_cached_tokens", "Input tokens a provider had in its cache", ["model"], registry=own
        )
        self._errors = Counter("moot_model_errors", "Model calls that failed", ["provider", "code"], registry=own)

        self._order_effects = Summary(
            "moot_judge_order_effect", "Points that judgings gave to the side shown first", ["model"], registry=own
        )
        self._flips = Summary(
            "moot_judge_flips", "Share of pairs of judgings that call another winner", ["model"], registry=own
        )

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def run_ended(self, format: str, status: str, *, retried: bool) -> None:
        self._runs.labels(format, status).inc()
        if retried:
            self._retries.inc()

    def turn_stored(self, format: str, kind: str, seconds: float) -> None:
        self._turns.labels(format, kind).observe(seconds)

    def call_answered(self, provider: str, model: str, seconds: float, usage: Usage) -> None:
        name = self._known(f"{provider}:{model}"[:MAX_NAME])
        self._calls.labels(provider).observe(seconds)
        self._tokens.labels("input", name).inc(usage.input_tokens)
        self._tokens.labels("output", name).inc(usage.output_tokens)
        self._cached.labels(name).inc(usage.cached_tokens)

    def call_failed(self, provider: str, code: str) -> None:
        self._errors.labels(provider, code).inc()

    def judged(self, model: str, order_effect: float, flips: float) -> None:
        name = self._known(public_name(model)[:MAX_NAME])
        self._order_effects.labels(name).observe(order_effect)
        self._flips.labels(name).observe(flips)

    def _known(self, model: str) -> str:
        if model not in self._models and len(self._models) >= MAX_MODELS:
            return OTHER
        self._models.add(model)
        return model
