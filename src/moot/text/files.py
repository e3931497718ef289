"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

Link: TypeAlias = Callable[[Path, Path], None]
PATIENCE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if os.name == "nt" else ()
"""Seconds between attempts to replace a file that somebody is reading; elsewhere that is no obstacle."""


def publish(path: Path, content: bytes, claim: Path, taken: Callable[[], bool], link: Link = os.link) -> bool:
    """Make a file appear at `path`, whole or not at all; False when it is `taken` or somebody else is at it.

    The content is written to `claim`, which one process alone can create: while it exists nobody else with the
    same claim publishes, so that what `taken` says stays true.
    """
    try:
        _create(claim, content)
    except FileExistsError:
        return False
    try:
        if taken():
            return False
        _link_or_create(claim, path, content, link)
        _sync_folder(path.parent)
    except FileExistsError:
        return False
    finally:
        claim.unlink(missing_ok=True)
    return True


def replace_same(path: Path, content: bytes, draft: Path, kept: Path) -> bool:
    """Put a new content at `path` once what was there is at `kept` too; False when it cannot be kept, or is changed."""
    try:
        os.link(path, kept)
    except OSError:  # it is there, or this is a file system without hard links
        return False
    _create(draft, content)
    try:
        if not os.path.samefile(path, kept):  # somebody has just saved it anew
            return False
        put(draft, path)
        _sync_folder(path.parent)
    finally:
        draft.unlink(missing_ok=True)
    return True


@contextmanager
def alone(lock: Path) -> Iterator[bool]:
    """Whether nobody else is within this block with the same lock, a file; who dies in it leaves it."""
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    held = _lock(handle, lock)
    try:
        yield held
    finally:
        if held and os.name == "posix":  # before it is let go: else it might be somebody else's by then
            lock.unlink()
        os.close(handle)
        if held and os.name == "nt":
            with suppress(OSError):  # somebody else has it open
                lock.unlink()


def _lock(handle: int, path: Path) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(handle), path.stat())  # and not one that was removed meanwhile
    except OSError:
        return False


def _link_or_create(claim: Path, path: Path, content: bytes, link: Link) -> None:
    try:
        link(claim, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        _create(path, content)


def _create(path: Path, content: bytes) -> None:
    """A new file, on the disk when this returns; none when it cannot be written whole."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink()
        raise


def private_folder(folder: Path, *, own: bool = False) -> None:
    """Make a folder that only its owner enters; one that is there stays as it is unless it is moot's own."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if own:
        folder.chmod(0o700)


def private_file(path: Path, flags: int = 0) -> None:
    """See to it that there is a file at this path, and that nobody but its owner reads it."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600)
    try:
        if os.name == "posix" and (mode := os.fstat(handle).st_mode & 0o777) & 0o077:
            with suppress(PermissionError):  # it is another user's, who lets us write
                os.fchmod(handle, mode & 0o700)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some systems cannot open or sync a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that a reader, or a crash, never meets half-written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        _create(draft, data)
        put(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def put(draft: Path, path: Path, replace: Link = os.replace, patience: Sequence[float] = PATIENCE) -> None:
    """Put a file in the place of another at once. Windows refuses that while somebody has the other one open."""
    for seconds in patience:
        try:
            return replace(draft, path)
        except PermissionError:
            time.sleep(seconds)
    return replace(draft, path)


def contained_in(path: Path, folder: Path) -> bool:
    """Whether a path, wherever its links lead, is in a folder."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links that lead in a circle
        return False


def is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which may have to be made itself."""
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(each))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)
