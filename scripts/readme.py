"""README for the package index: a build hook that makes its links absolute, as files beside it do not exist there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PAGES = "https://github.com/moot-debate/moot/blob/v{version}/"
PICTURES = "https://raw.githubusercontent.com/moot-debate/moot/v{version}/"
LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?!https?://|#)")


class Readme(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, metadata["version"])}


def absolute(text: str, version: str) -> str:
    """The text with every link to a file of the repository as an address of this version."""
    return LINK.sub(lambda found: found[0] + (PICTURES if found[1] else PAGES).format(version=version), text)
