"""From a model's name to a client that speaks to it, and which model to take when nobody says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import aiohttp
from pydantic import JsonValue

from moot.errors import InvalidInput, ModelError
from moot.llm.addresses import public_name, refuse_secrets
from moot.llm.calls import Meter, ModelCalls
from moot.llm.client import Client, Connection, Timeouts
from moot.llm.dialect import Dialect
from moot.llm.http import ModelServer, new_session
from moot.llm.local import BUILT_IN_MODEL, LocalModels, find_weights
from moot.llm.ollama import OllamaClient
from moot.llm.openai_api import OpenAIClient
from moot.llm.pace import Pace
from moot.llm.prices import Prices
from moot.llm.providers import BUILT_IN, ModelName, Provider, parse_name
from moot.llm.recording import Recorder, Recording
from moot.settings import Price, ProviderSettings

LOCAL_SAMPLING: Mapping[str, JsonValue] = {
    "repeat_penalty": 1.1,
    "repeat_last_n": 256,
    "dry_multiplier": 0.8,
    "dry_penalty_last_n": 2048,
}
"""Small models circle in their own words without this, and copy those of others."""
PROBE = Timeouts(connect=2)


class ModelChoice(NamedTuple):
    """A model, and why it was taken."""

    name: str
    why: str


class Models:
    """All model servers of one process; keys and addresses are read from the environment when first needed."""

    def __init__(
        self,
        environ: Mapping[str, str],
        own: Mapping[str, ProviderSettings] | None = None,
        clients: Mapping[str, Client] | None = None,
        prices: Mapping[str, Price] | None = None,
        tape: Recorder | Recording | None = None,
        meter: Meter | None = None,
    ) -> None:
        """`clients` are the caller's own, by the provider name under which models then use them.

        A `tape` that records keeps every call; one that was recorded answers every call, and no server is asked.
        `meter` measures them all.
        """
        self._environ = environ
        self._own = own or {}
        self._tape = tape
        self._meter = meter
        self._paces: dict[str, Pace] = {}
        self._own_clients = clients or {}
        self._clients: dict[str, Client] = {}
        self.providers = known_providers(own or {}) | {name: Provider(name, "") for name in self._own_clients}
        self.prices = Prices(self.providers, prices or {})
        self._local = LocalModels()
        self._local_models: dict[str, tuple[str, ...]] = {}
        self._session: aiohttp.ClientSession | None = None

    async def connect(self, name: str) -> Connection:
        parsed = parse_name(name, self.providers)
        key = str(parsed) if parsed.provider == "local" else parsed.provider
        if key not in self._clients:
            self._clients[key] = await self._calls(parsed)
        return Connection(self._clients[key], parsed.model)

    @property
    def taped(self) -> bool:
        """Whether calls are recorded or replayed, which only those of this process can be."""
        return self._tape is not None

    async def _calls(self, name: ModelName) -> ModelCalls:
        if isinstance(self._tape, Recording):
            return ModelCalls(self._tape.client(name.provider), name.provider, self.prices, meter=self._meter)
        client = self._own_clients.get(name.provider) or await self._open(name)
        if self._tape is not None:
            client = self._tape.wrap(name.provider, client)
        return ModelCalls(client, name.provider, self.prices, self._pace(name.provider), self._meter)

    def _pace(self, provider: str) -> Pace:
        """One for each provider, shared by all debates of the process."""
        if provider not in self._paces:
            own = self._own.get(provider, ProviderSettings())
            self._paces[provider] = Pace(own.max_concurrent, own.requests_per_minute)
        return self._paces[provider]

    def check(self, name: str) -> None:
        """Raises InvalidInput when no call could ever be made under this name."""
        refuse_secrets(name)
        parsed = parse_name(name, self.providers)
        if not isinstance(self._tape, Recording):
            self._provider(parsed)

    async def default(self) -> ModelChoice:
        """What there is: a key in the environment, a server on this machine that is running, or the built-in model."""
        if isinstance(self._tape, Recording) and (calls := self._tape.unused()):
            return ModelChoice(
                str(ModelName(calls[0].provider, calls[0].request.model)), "the recording begins with it"
            )
        for provider in self.providers.values():
            if provider.default_model and self._key(provider):
                return ModelChoice(f"{provider.name}:{provider.default_model}", f"{provider.key_env} is set")
        for provider in self.providers.values():
            if self._looked_for(provider) and (models := await self.reachable(provider)):
                chat = [model for model in models if "embed" not in model]
                if chat:
                    return ModelChoice(f"{provider.name}:{chat[0]}", f"{provider.name} is running")
        return ModelChoice(BUILT_IN_MODEL, "nothing else is configured")

    async def reachable(self, provider: Provider) -> tuple[str, ...] | None:
        """The provider's models; None when it cannot be asked."""
        try:
            return await self.list_models(provider)
        except ModelError:
            return None

    async def has(self, name: str) -> bool:
        """Whether a server on this machine is running and has this model."""
        parsed = parse_name(name, self.providers)
        if parsed.provider not in self._local_models:
            found = await self.reachable(self.providers[parsed.provider])
            self._local_models[parsed.provider] = found or ()
        return parsed.model in self._local_models[parsed.provider]

    def ollama(self) -> OllamaClient:
        """A client of the Ollama server for what is no chat: embeddings."""
        provider = self.providers["ollama"]
        client = self._client(provider, provider.timeouts)
        assert isinstance(client, OllamaClient)  # noqa: S101 - its dialect says so
        return client

    async def list_models(self, provider: Provider) -> tuple[str, ...]:
        return await self._client(provider, PROBE).list_models()

    def group_default(self, group: str) -> ModelChoice | None:
        """A provider's own variable for a group of seats, such as DEEPSEEK_MODEL_JUDGE."""
        for provider in self.providers.values():
            variable = f"{provider.name.upper()}_MODEL_{group.upper()}"
            if self._key(provider) and (model := self._environ.get(variable)):
                return ModelChoice(f"{provider.name}:{model}", f"{variable} is set")
        return None

    def configured(self, provider: Provider) -> bool:
        return provider.local or provider.key_env is None or bool(self._key(provider))

    def local_state(self) -> str:
        """Whether the built-in model is there."""
        try:
            find_weights(parse_name(BUILT_IN_MODEL, self.providers).model)
        except ModelError as error:
            return str(error)
        return "ready"

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _open(self, name: ModelName) -> Client:
        if name.provider == "local":
            server = await asyncio.to_thread(self._local.start, name.model)
            provider = Provider(str(name), server.base_url, takes=Dialect(extra=LOCAL_SAMPLING))
            return self._client(provider, Timeouts(), server.api_key)
        provider = self._provider(name)
        return self._client(provider, provider.timeouts)

    def _provider(self, name: ModelName) -> Provider:
        provider = self.providers.get(name.provider, Provider(public_name(name.provider), name.provider))
        if not self.configured(provider):
            raise InvalidInput(f"{provider.name} needs a key: set {provider.key_env}, or choose another --model")
        return provider

    def _client(self, provider: Provider, timeouts: Timeouts, key: str | None = None) -> OpenAIClient | OllamaClient:
        if self._session is None:
            self._session = new_session()
        server = ModelServer(
            session=self._session,
            base_url=self.address(provider),
            api_key=key or self._key(provider),
            name=provider.name,
            key_hint=provider.key_env or provider.own_key_env or "its key",
            timeouts=timeouts,
        )
        return OllamaClient(server) if provider.dialect == "ollama" else OpenAIClient(server, provider.takes_for)

    def address(self, provider: Provider) -> str:
        return provider.address(self._environ.get(provider.url_env) if provider.url_env else None)

    def _looked_for(self, provider: Provider) -> bool:
        """Whether a server on this machine may be taken when nobody named one."""
        return provider.looked_for or bool(provider.local and self._environ.get(provider.url_env or ""))

    def _key(self, provider: Provider) -> str | None:
        return self._environ.get(provider.key_env or provider.own_key_env or "")


def known_providers(own: Mapping[str, ProviderSettings]) -> dict[str, Provider]:
    providers = {provider.name: provider for provider in BUILT_IN}
    for name, chosen in own.items():
        known = providers.get(name)
        if known is None and chosen.base_url is None:
            raise InvalidInput(f"provider {name!r} in the settings needs a base_url")
        known = known or Provider(name, "")
        if chosen.base_url:
            known = replace(known, base_url=chosen.base_url, url_env=None)
        providers[name] = replace(known, key_env=chosen.key_env or known.key_env)
    return providers
