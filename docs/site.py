"""What the site needs beyond the pages: links to files of the repository lead to the repository."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    depth = len(PurePosixPath(page.file.src_uri).parts)  # so many steps up lead out of docs/
    return re.sub(rf"\]\((?:\.\./){{{depth}}}([^)]+)\)", rf"]({config.repo_url}/blob/main/\1)", markdown)
