"""Typed configuration: the environment's MOOT_*, then moot.yaml (here, then the user's), then defaults.

A moot.yaml in the working directory may be a stranger's: what could run, send, read or write beyond a debate counts
there only once the user has allowed that file.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self, TypeAlias
from urllib.parse import urlsplit

import platformdirs
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from moot.core.notices import EVENTS, HookEvent
from moot.errors import InvalidInput, faults
from moot.text import strict_yaml
from moot.text.allowed import AllowedFiles
from moot.text.files import contained_in

log = logging.getLogger(__name__)


def _address(url: str) -> str:
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return url
    raise ValueError("is not an address; write one that begins with https:// or http:// and names a host")


def _each_once(hooks: list[Webhook]) -> list[Webhook]:
    if len({hook.url for hook in hooks}) < len(hooks):
        raise ValueError("two webhooks have the same url; write one with the events of both")
    return hooks


class Webhook(BaseModel):
    """An address that is told about debates."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    url: Annotated[str, AfterValidator(_address)] = Field(description="an http or https address")
    events: list[HookEvent] = Field(default_factory=lambda: list(EVENTS.values()), min_length=1)
    secret_env: str | None = Field(
        None, min_length=1, description="the environment variable with the key that signs: whsec_ and base64"
    )

    @property
    def name(self) -> str:
        """What it is called where its address, which may hold a key, must not stand."""
        return f"{urlsplit(self.url).hostname} {hashlib.sha256(self.url.encode()).hexdigest()[:6]}"


Webhooks: TypeAlias = Annotated[list[Webhook], AfterValidator(_each_once)]


_EXAMPLE = "gh issue create --title {title} --body-file -"
TITLE_OPTIONS = ("--title", "--subject", "--summary", "--name")
"""Where a title may stand in a command: no program runs what follows one of these, but for those that make one line of
all their words and hand it to a shell."""
_JOINING = {
    "ssh",
    "autossh",
    "rsh",
    "mosh",
    "watch",
    "at",
    "parallel",
    "powershell",
    "pwsh",
    "cmd",
    "wsl",
    "tmux",
    "screen",
}


class WorkflowSettings(BaseModel):
    """Where issues go: exactly one of file, command and webhook."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    file: Path | None = Field(None, description="a folder in which each issue becomes a file of its own")
    command: str | None = Field(None, description=f"gets the issue on standard input, as in: {_EXAMPLE}")
    webhook: Annotated[str, AfterValidator(_address)] | None = Field(
        None, description="an http or https address that gets the issue as JSON"
    )
    secret_env: str | None = Field(None, description="the environment variable with the key that signs webhooks")
    attempts: int = Field(3, ge=1, le=10)

    @field_validator("file")
    @classmethod
    def _begins_at_home(cls, file: Path | None) -> Path | None:
        return file and file.expanduser()

    @field_validator("command")
    @classmethod
    def _can_be_split(cls, command: str | None) -> str | None:
        try:
            parts = None if command is None else shlex.split(command)
        except ValueError:
            raise ValueError(f"has a quote that is not closed; write it as for a shell: {_EXAMPLE}") from None
        if parts is not None and ("".join(parts[:1]) == "" or "\0" in "".join(parts)):
            raise ValueError(f"names no program; write one with its arguments: {_EXAMPLE}")
        joining = _JOINING & {Path(word).name.lower().removesuffix(".exe") for word in parts or ()}
        for before, word in pairwise(["", *(parts or ())]):
            is_title = word == "{title}" and before in TITLE_OPTIONS and not joining
            if (
                not is_title and not (before and word == "{debate}") and ("{title}" in word or "{debate}" in word)
            ):  # a shell would run what a topic says
                raise ValueError(
                    f"has {word!r} where it could be run; write {{title}} after {' or '.join(TITLE_OPTIONS)}, or let a "
                    f"script read MOOT_TITLE and MOOT_DEBATE: {_EXAMPLE}"
                )
        return command

    @model_validator(mode="after")
    def _goes_to_one_place(self) -> Self:
        named = [name for name in ("file", "command", "webhook") if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError(f"write exactly one of file, command and webhook, not {' and '.join(named) or 'none'}")
        if self.secret_env is not None and self.webhook is None:
            raise ValueError("secret_env signs webhooks only; leave it out, or write webhook")
        return self


FILE = "moot.yaml"
MAX_FILE = 64_000
MAX_SHOWN_NAME = 40
NAMED_FILE = "MOOT_CONFIG"
"""The variable that names another file than the working directory's; who names it means it."""


class ProviderSettings(BaseModel):
    """A server of the user's own, or another address for a known one."""

    model_config = ConfigDict(extra="forbid")

    base_url: str | None = None
    key_env: str | None = Field(None, description="the environment variable that holds its key")
    max_concurrent: int | None = Field(None, ge=1, description="calls at once, over all debates of a process")
    requests_per_minute: float | None = Field(None, gt=0)


class Price(BaseModel):
    """US dollars per million tokens; cached and cache-written input costs as other input unless it says otherwise."""

    model_config = ConfigDict(extra="forbid")

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(None, ge=0, allow_inf_nan=False)
    cache_written: float | None = Field(None, ge=0, allow_inf_nan=False)


class RetrievalSettings(BaseModel):
    """What searches templates and sources."""

    model_config = ConfigDict(extra="forbid")

    embedder: str = Field(
        "wordllama", pattern=r"^(wordllama|ollama(:.+)?)$", description="wordllama, ollama, or ollama:MODEL"
    )
    store: Literal["builtin", "chroma"] = "builtin"


def _listed(value: object) -> object:
    """Names separated by commas, as they stand in a variable."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


class AppSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="MOOT_", env_nested_delimiter="__", extra="forbid")

    database_url: str = Field(default_factory=lambda: f"sqlite:///{data_folder() / 'moot.db'}")
    model: str | None = Field(None, description="the model of every seat that has none of its own")
    models: dict[str, str] = Field(default_factory=dict, description="seat → model")
    depth: Literal["quick", "normal", "careful"] | None = Field(
        None, description="how carefully outcomes are judged, where a format knows of that"
    )
    providers: dict[str, ProviderSettings] = Field(default_factory=dict)
    formats: dict[str, dict[str, JsonValue]] = Field(default_factory=dict, description="format → its default settings")
    prices: dict[str, Price] = Field(default_factory=dict, description="model → its price")
    prompts: Path | None = Field(None, description="a folder whose <format>/<kind>.md replace moot's own prompts")
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings)
    decisions: Path = Field(Path("docs/decisions"), description="where approved decisions are written")
    workflow: WorkflowSettings | None = Field(None, description="what the issues made of decisions are handed to")
    webhooks: Webhooks = Field(default_factory=list, description="who is told of outcomes, questions and failures")
    lease_seconds: float = Field(30, gt=0)
    heartbeat_seconds: float = Field(10, gt=0)
    share_seconds: float = Field(120, gt=0, description="after so long a run lets others go first, if there are any")
    max_retries: int = Field(3, ge=0, description="how often a worker tries a debate again that comes no further")
    retry_seconds: float = Field(10, gt=0, description="before the first such retry; twice as long before each next")
    host: str = Field("127.0.0.1", description="where the server listens")
    port: int = Field(8321, ge=0, le=65535)
    token: SecretStr | None = Field(None, description="who shows it may use the server; needed beyond this machine")
    allowed_hosts: Annotated[list[str], NoDecode, BeforeValidator(_listed)] = Field(
        default_factory=list, description="further names under which the server is called"
    )
    max_running: int = Field(20, ge=1, description="debates that a process runs at once; the others are queued")
    grace_seconds: float = Field(20, ge=0, description="what a server that ends gives the steps in progress")
    log: Literal["file", "text", "json"] = Field(
        "file", description="what a server or a worker logs: warnings to moot.log, or lines of text or JSON to stderr"
    )
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    metrics_host: str = Field("127.0.0.1", description="where a worker with a metrics_port listens")
    metrics_port: int | None = Field(None, ge=0, le=65535, description="where a worker tells its metrics and health")

    @field_validator("token")
    @classmethod
    def _is_a_token(cls, token: SecretStr | None) -> SecretStr | None:
        given = token.get_secret_value() if token else ""
        if given and not given.strip():
            raise ValueError("holds nothing but white space; set it to a long random text, or leave it out")
        return SecretStr(given.strip()) if given else None

    @property
    def database_name(self) -> str:
        """The database's address without a password."""
        shown = re.sub(r"(://[^:@/]*):.*@", r"\1:…@", self.database_url)
        return re.sub(r"(password=)[^&]*", r"\1…", shown, flags=re.IGNORECASE)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        files = (InitSettingsSource(settings_cls, dict(file.counting)) for file in config_files())
        return (init_settings, env_settings, *files)


def load(**overrides: object) -> AppSettings:
    """Raises InvalidInput that names the setting, the value and where it came from as far as that is known."""
    try:
        loaded = AppSettings(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        raise InvalidInput(f"settings (MOOT_* or {FILE}): {faults(error)}") from None
    except SettingsError as error:
        raise InvalidInput(f"settings (MOOT_*): {error}") from None
    for file in config_files():
        if file.ignored:
            log.warning(file.warning)
    return loaded


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
    near = get_close_matches(names[0][:MAX_SHOWN_NAME].lower(), AppSettings.model_fields, 1)
    known = f"write {near[0]}" if near else f"known: {', '.join(sorted(AppSettings.model_fields))}"
    return f"no setting is named {' or '.join(shown)}; {known}"


def allowed_files() -> AllowedFiles:
    return AllowedFiles(data_folder() / "allowed")


HARMLESS = frozenset(
    {"prices", "retrieval", "depth", "port", "metrics_port", "log", "log_level", "max_running", "max_retries"}
    | {"lease_seconds", "heartbeat_seconds", "share_seconds", "retry_seconds", "grace_seconds"}
)
GUARDED_OF_PROVIDERS = ProviderSettings.model_fields.keys() - {"max_concurrent", "requests_per_minute"}


def _reaches_out(name: str, value: object, folder: Path) -> bool:
    """Whether a setting can run, send, read or write beyond a debate; one that is new here does until it is named."""
    if name in ("model", "models", "formats"):
        return any(is_address(text) for text in _texts(value))
    if name == "providers" and isinstance(value, dict):
        return any(not isinstance(each, dict) or GUARDED_OF_PROVIDERS & set(each) for each in value.values())
    if name == "decisions":
        return not (folder / str(value)).resolve().is_relative_to(folder.resolve())
    return name not in HARMLESS


def is_address(text: str) -> bool:
    """Whether a model of that name is a server or a file, and not one of a known provider."""
    name = text.strip().lower()
    return "://" in name or (name.startswith("local:") and name != "local:smollm2")


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)


def _and(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def config_folder() -> Path:
    return platformdirs.user_config_path("moot")


def cache_folder() -> Path:
    return platformdirs.user_cache_path("moot")


def data_folder() -> Path:
    return platformdirs.user_data_path("moot")
