"""Who sits at the terminal, as it is kept beside what they say."""

from __future__ import annotations

import getpass

from moot.settings import AppSettings


def user_name(settings: AppSettings) -> str:
    """The configured name, else the login name; empty where there is none."""
    if settings.user is not None:
        return settings.user
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a process without a user, as in some containers
        return ""
