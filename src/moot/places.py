"""Where moot keeps things on a machine: settings, debates, caches."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

FILE = "moot.yaml"
NAMED_FILE = "MOOT_CONFIG"
"""The variable that names another file than the working directory's; who names it means it."""
DATABASE = "MOOT_DATABASE_URL"


def config_folder() -> Path:
    return platformdirs.user_config_path("moot")


def cache_folder() -> Path:
    return platformdirs.user_cache_path("moot")


def data_folder() -> Path:
    return platformdirs.user_data_path("moot")


def usual_database() -> str:
    return f"sqlite:///{data_folder() / 'moot.db'}"


def has_files() -> bool:
    """Whether there may be files of settings; `moot.yml`, which is none, is told to whoever wrote it."""
    folders = (Path.cwd(), config_folder())
    return NAMED_FILE in os.environ or any(
        os.path.lexists(folder / name) for folder in folders for name in (FILE, "moot.yml")
    )


def only_database() -> str | None:
    """The address of the database where nothing else is set, so that there is nothing to check; None otherwise."""
    if has_files() or any(name.upper().startswith("MOOT_") and name != DATABASE for name in os.environ):
        return None
    return os.environ.get(DATABASE, usual_database())
