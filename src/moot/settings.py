"""Typed configuration: the environment's MOOT_*, then moot.yaml (here, then the user's), then defaults.

A moot.yaml in the working directory may be a stranger's: what could run, send, read or write beyond a debate counts
there only once the user has allowed that file.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self, TypeAlias, get_origin

import orjson
from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    IPvAnyNetwork,
    JsonValue,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo

from moot.core.webhooks import Address, Webhooks
from moot.core.workflows import WorkflowSettings
from moot.errors import InvalidInput, faults, meant
from moot.places import FILE as FILE
from moot.places import NAMED_FILE, usual_database
from moot.places import cache_folder as cache_folder
from moot.places import config_folder as config_folder
from moot.places import data_folder as data_folder
from moot.text import strict_yaml
from moot.text.allowed import AllowedFiles
from moot.text.commands import words
from moot.text.files import contained_in
from moot.text.plain import comma_separated

log = logging.getLogger(__name__)


class ResearchServer(BaseModel, extra="forbid", hide_input_in_errors=True):
    """An MCP server whose tools debaters may use: a command that runs it, or its address."""

    command: str | None = Field(None, description="runs it; it is talked to over its standard input and output")
    url: Address | None = Field(None, description="an http or https address, talked to over streamable HTTP")
    tools: list[str] = Field(min_length=1, description="what debaters may use of it; nothing else is ever called")
    env: list[str] = Field(default_factory=list, description="the environment variables that its command is given")
    key_env: str | None = Field(None, description="the environment variable with the key for its address")

    @model_validator(mode="after")
    def _is_in_one_place(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("write either a command or a url")
        if self.url and self.env:
            raise ValueError("env is for a command; write key_env for the key of a url")
        if self.command is not None and self.key_env:
            raise ValueError("key_env is for a url; name the variables of a command under env")
        if not self.url and not self.words:
            raise ValueError("command names no program; write one with its arguments")
        return self

    @property
    def words(self) -> list[str]:
        """The command as a program is started with it; no shell reads it. Raises ValueError."""
        return words(self.command or "")


ServerName: TypeAlias = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9_-]{0,30}$")]


MAX_FILE = 64_000
MAX_SHOWN_NAME = 40


class ProviderSettings(BaseModel, extra="forbid"):
    """A server of the user's own, or another address for a known one."""

    base_url: str | None = None
    key_env: str | None = Field(None, description="the environment variable that holds its key")
    max_concurrent: int | None = Field(None, ge=1, description="calls at once, over all debates of a process")
    requests_per_minute: float | None = Field(None, gt=0)


class Price(BaseModel, extra="forbid"):
    """US dollars per million tokens; cached and cache-written input costs as other input unless it says otherwise."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(None, ge=0, allow_inf_nan=False)
    cache_written: float | None = Field(None, ge=0, allow_inf_nan=False)


class RetrievalSettings(BaseModel, extra="forbid"):
    """What searches templates and sources."""

    embedder: str = Field("wordllama", description="wordllama, ollama, or ollama:MODEL")
    store: Literal["builtin", "chroma"] = "builtin"

    @field_validator("embedder")
    @classmethod
    def _known(cls, embedder: str) -> str:
        if re.fullmatch("wordllama|ollama(:.+)?", embedder):
            return embedder
        raise ValueError(f"write wordllama, ollama or ollama:MODEL, not {embedder!r}")


Seconds: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]


class AppSettings(BaseModel, extra="forbid"):
    database_url: str = Field(
        default_factory=usual_database,
        description="sqlite:///PATH or postgresql://…; an SQLite file in the user's data directory by default",
    )
    model: str | None = Field(None, description="the model of every seat that has none of its own")
    models: dict[str, str] = Field(default_factory=dict, description="seat → model")
    depth: Literal["quick", "normal", "careful"] | None = Field(
        None, description="how carefully outcomes are judged, where a format knows of that"
    )
    judges: Annotated[list[str], BeforeValidator(comma_separated)] = Field(
        default_factory=list, description="further judges, PROVIDER:MODEL, where a format knows of them"
    )
    providers: dict[str, ProviderSettings] = Field(
        default_factory=dict, description="servers of your own: base_url, key_env, max_concurrent, requests_per_minute"
    )
    formats: dict[str, dict[str, JsonValue]] = Field(default_factory=dict, description="format → its default settings")
    prices: dict[str, Price] = Field(default_factory=dict, description="model → its price")
    prompts: Path | None = Field(None, description="a folder whose <format>/<kind>.md replace moot's own prompts")
    retrieval: RetrievalSettings = Field(
        default_factory=RetrievalSettings, description="embedder (wordllama, ollama) and store (builtin, chroma)"
    )
    research: dict[ServerName, ResearchServer] = Field(
        default_factory=dict, description="MCP servers that debaters may look things up with, each under a name"
    )
    decisions: Path = Field(Path("docs/decisions"), description="where approved decisions are written")
    workflow: WorkflowSettings | None = Field(None, description="what the issues made of decisions are handed to")
    webhooks: Webhooks = Field(default_factory=list, description="who is told of outcomes, questions and failures")
    lease_seconds: Seconds = Field(30, gt=0, description="after so long without a heartbeat others take a run over")
    heartbeat_seconds: Seconds = Field(10, gt=0, description="how often a run says that it lives")
    share_seconds: Seconds = Field(120, gt=0, description="after so long a run lets others go first, if there are any")
    max_retries: int = Field(3, ge=0, description="how often a worker tries a debate again that comes no further")
    retry_seconds: Seconds = Field(10, gt=0, description="before the first such retry; twice as long before each next")
    host: str = Field("127.0.0.1", description="where the server listens")
    port: int = Field(8321, ge=0, le=65535)
    token: SecretStr | None = Field(None, description="who shows it may use the server; needed beyond this machine")
    allowed_hosts: Annotated[list[str], BeforeValidator(comma_separated)] = Field(
        default_factory=list, description="further names under which the server is called"
    )
    user_header: str | None = Field(
        None, pattern="^[A-Za-z0-9-]{1,60}$", description="the header in which a proxy names who asks: X-Forwarded-User"
    )
    trusted_proxies: Annotated[list[IPvAnyNetwork], BeforeValidator(comma_separated)] = Field(
        default_factory=list, description="the addresses of that proxy; from all others the header counts for nothing"
    )
    user: str | None = Field(None, description="your name beside what you say in a terminal; else your login name")
    max_running: int = Field(20, ge=1, description="debates that a process runs at once; the others are queued")
    grace_seconds: Seconds = Field(20, ge=0, description="what a server that ends gives the steps in progress")
    log: Literal["file", "text", "json"] = Field(
        "file", description="what a server or a worker logs: warnings to moot.log, or lines of text or JSON to stderr"
    )
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    metrics_host: str = Field("127.0.0.1", description="where a worker with a metrics_port listens")
    metrics_port: int | None = Field(None, ge=0, le=65535, description="where a worker tells its metrics and health")

    def __init__(self, **given: object) -> None:
        """What is given counts before the environment, and that before the files."""
        values: Mapping[str, object] = {}
        for each in (*(file.counting for file in reversed(config_files())), _environment(), given):
            values = _merged(values, each)
        super().__init__(**values)

    @field_validator("token")
    @classmethod
    def _is_a_token(cls, token: SecretStr | None) -> SecretStr | None:
        given = token.get_secret_value() if token else ""
        if given and not given.strip():
            raise ValueError("holds nothing but white space; set it to a long random text, or leave it out")
        return SecretStr(given.strip()) if given else None

    @model_validator(mode="after")
    def _trusts_somebody(self) -> Self:
        if bool(self.user_header) != bool(self.trusted_proxies):
            raise ValueError("user_header and trusted_proxies are set together: the header, and who may send it")
        return self

    @property
    def database_name(self) -> str:
        """The database's address without a password."""
        shown = re.sub(r"(://[^:@/]*):.*@", r"\1:…@", self.database_url)
        return re.sub(r"(password=)[^&]*", r"\1…", shown, flags=re.IGNORECASE)


def load(**overrides: object) -> AppSettings:
    """Raises InvalidInput that names the setting, the value and where it came from as far as that is known."""
    refuse_ignored()
    try:
        loaded = AppSettings(**overrides)
    except ValidationError as error:
        raise InvalidInput(f"settings (MOOT_* or {FILE}): {faults(error.errors(), AppSettings)}") from None
    for file in config_files():
        if file.ignored:
            log.warning(file.warning)
    return loaded


def _environment() -> Mapping[str, object]:
    """What the variables say: MOOT_MODELS is JSON, and MOOT_MODELS__JUDGE a part of it. Raises InvalidInput."""
    values: Mapping[str, object] = {}
    for variable, text in sorted(os.environ.items()):
        name, *parts = variable.lower().removeprefix(PREFIX).split("__")
        if not variable.lower().startswith(PREFIX) or name not in AppSettings.model_fields:
            continue
        if not text.strip() and not _may_be_empty(name):
            raise InvalidInput(f"{variable} is empty: give it a value, or unset it")
        value: object = text
        if _has_parts(AppSettings.model_fields[name]) and (not parts or text.startswith(("[", "{"))):
            try:
                value = orjson.loads(text)
            except ValueError:
                if not parts:
                    message = f"{variable} is no JSON: write it as JSON, or each part as {variable}__NAME"
                    raise InvalidInput(message) from None
        for part in reversed(parts):
            value = {part: value}
        values = _merged(values, {name: value})
    return values


def _may_be_empty(name: str) -> bool:
    """Whether no text means none. Elsewhere it is a mistake: `$DB` that nobody set, and debates go to another place."""
    is_list = any(type(of) is BeforeValidator for of in AppSettings.model_fields[name].metadata)
    return is_list or name in ("model", "token", "user")


def _has_parts(field: FieldInfo) -> bool:
    kind = get_origin(field.annotation) or field.annotation
    return kind in (dict, list, RetrievalSettings) and not any(type(of) is BeforeValidator for of in field.metadata)


def _merged(low: Mapping[str, object], high: Mapping[str, object]) -> Mapping[str, object]:
    """What stands higher counts, part by part."""
    both = {name: (low.get(name), value) for name, value in high.items()}
    return {**low} | {
        name: _merged(below, above) if isinstance(below, Mapping) and isinstance(above, Mapping) else above
        for name, (below, above) in both.items()
    }


PREFIX = "moot_"
NOT_SETTINGS = {NAMED_FILE, "MOOT_TITLE", "MOOT_DEBATE"}
"""Variables of moot that are none; the last two are what a workflow's command is given."""


def refuse_ignored() -> None:
    """Raises InvalidInput for a variable or a file that would have no effect."""
    for folder in (Path.cwd(), config_folder()):
        if (folder / "moot.yml").exists():
            raise InvalidInput(f"{folder / 'moot.yml'} is not read: rename it to {FILE}")
        if os.path.lexists(folder / FILE) and not (folder / FILE).is_file():
            raise InvalidInput(f"{folder / FILE} is no file, or a link to none: remove it")
    known = {f"MOOT_{name.upper()}" for name in AppSettings.model_fields} | NOT_SETTINGS
    unknown = {
        variable: name
        for variable in os.environ
        if (name := variable.upper().split("__")[0]).startswith("MOOT_")  # MOOT_MODELS__JUDGE is a part of MOOT_MODELS
        and name not in known
    }
    if unknown:
        told = (f"the variable {each} is no setting{meant(unknown[each], known) or '; unset it'}" for each in unknown)
        raise InvalidInput("; ".join(told).replace("?; ", "? "))


class ConfigFile(NamedTuple):
    """A file of settings, as it was read."""

    path: Path
    content: bytes
    values: Mapping[str, object]
    guarded: Mapping[str, object]
    """Those of its values that count only once the user has allowed the file."""
    answer: bool | None
    """Whether the user has; None when they were not asked."""

    @property
    def ignored(self) -> Mapping[str, object]:
        return {} if self.answer else self.guarded

    @property
    def counting(self) -> Mapping[str, object]:
        return {name: value for name, value in self.values.items() if name not in self.ignored}

    @property
    def warning(self) -> str:
        return f"{self.path} sets {_and(self.ignored)}: ignored until you allow it with: moot allow"


def config_files() -> list[ConfigFile]:
    """The file that is named or the working directory's, then the user's own. Raises InvalidInput."""
    named, own = os.environ.get(NAMED_FILE), config_folder() / FILE
    if named and not Path(named).is_file():
        raise InvalidInput(f"{NAMED_FILE} names {named!r}, which is no file")
    here = Path(named) if named else Path.cwd() / FILE
    found = dict.fromkeys(path for path in (here, own) if path.is_file())
    return [read_config(path, is_own=bool(named) or path == own) for path in found]


def read_config(path: Path, is_own: bool = False) -> ConfigFile:
    """Raises InvalidInput when it is no file of settings."""
    if not is_own and not contained_in(path, path.parent):
        raise InvalidInput(
            f"{path} is a link out of its folder; remove it, or name the file it leads to in {NAMED_FILE}"
        )
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE + 1)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
    if len(content) > MAX_FILE:
        raise InvalidInput(f"{path.name} is over {MAX_FILE // 1000} kB")
    try:
        values = {} if (read := strict_yaml.load(content.decode(errors="replace")).value) is None else read
    except ValueError as error:
        raise InvalidInput(f"{path.name}: {error}") from None
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise InvalidInput(f"{path.name} holds no settings: write lines of the form `name: value`")
    if unknown := [name for name in values if name not in AppSettings.model_fields]:  # pydantic would take `Model` too
        raise InvalidInput(f"{path.name}: {_unknown(unknown)}")
    guarded = {name: value for name, value in values.items() if not is_own and _reaches_out(name, value, path.parent)}
    return ConfigFile(path, content, values, guarded, is_own or allowed_files().answer(path, content))


def _unknown(names: Sequence[str]) -> str:
    """Says little of them: what is no file of settings may be somebody's secrets."""
    shown = [repr(name) for name in names if len(name) <= MAX_SHOWN_NAME][:3] or [f"with {len(names[0])} letters"]
    near = meant(names[0], AppSettings.model_fields)
    known = near or f"; known: {', '.join(sorted(AppSettings.model_fields))}"
    return f"no setting is named {' or '.join(shown)}{known}"


def allowed_files() -> AllowedFiles:
    return AllowedFiles(data_folder() / "allowed")


HARMLESS = frozenset(
    {"prices", "retrieval", "depth", "port", "metrics_port", "log", "log_level", "max_running", "max_retries"}
    | {"lease_seconds", "heartbeat_seconds", "share_seconds", "retry_seconds", "grace_seconds"}
)
LOCAL_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*(?<!\.gguf)")
"""What a local model can be called; all else after `local:` is the path of a file."""
GUARDED_OF_PROVIDERS = ProviderSettings.model_fields.keys() - {"max_concurrent", "requests_per_minute"}


def _reaches_out(name: str, value: object, folder: Path) -> bool:
    """Whether a setting can run, send, read or write beyond a debate; one that is new here does until it is named."""
    if name in ("model", "models", "judges", "formats"):
        return any(is_address(text) for text in _texts(value))
    if name == "providers" and isinstance(value, dict):
        return any(not isinstance(each, dict) or GUARDED_OF_PROVIDERS & set(each) for each in value.values())
    if name == "decisions":
        return not (folder / str(value)).resolve().is_relative_to(folder.resolve())
    return name not in HARMLESS


def is_address(text: str) -> bool:
    """Whether a model of that name is a server or a file, and not one of a known provider."""
    provider, _, model = text.strip().partition(":")
    return "://" in text or (provider.lower() == "local" and not LOCAL_NAME.fullmatch(model))


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)


def _and(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
