"""What the site needs beyond the pages: links to files of the repository lead there, and nobody else is called."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    depth = len(PurePosixPath(page.file.src_uri).parts)  # so many steps up lead out of docs/
    return re.sub(rf"\]\((?:\.\./){{{depth}}}([^)]+)\)", rf"]({config.repo_url}/blob/main/\1)", markdown)


def on_post_page(output: str, **_: Any) -> str:
    """Without the theme's own call to the forge, which would tell it of every reader."""
    return output.replace('data-md-component="source"', "")
