"""What pages load: styles, scripts, icons. Under an address with the hash of their content a browser keeps them."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from moot.export.charts import figures

FOLDER = Path(__file__).parent / "static"
PREFIX = "/static"
FOREVER = "public, max-age=31536000, immutable"
_VERSION = re.compile(r"[0-9a-f]{12}/")
_SHEETS = re.compile(r"[a-z_]+\.css(\+[a-z_]+\.css){1,9}")


class Assets(StaticFiles):
    """One hash over all files: a script that imports another from beside it gets that one under the same address."""

    def __init__(self) -> None:
        super().__init__(directory=FOLDER)
        self.all_directories = [FOLDER, figures.FOLDER]
        self.version = _hash(FOLDER, figures.FOLDER)

    def url(self, *names: str) -> str:
        """Of a file; style sheets that a page needs together come at once, one after the other."""
        return f"{PREFIX}/{self.version}/{'+'.join(names)}"

    async def get_response(self, path: str, scope: Scope) -> Response:
        is_current = path.startswith(f"{self.version}/")
        name = _VERSION.sub("", path, count=1)
        if _SHEETS.fullmatch(name):
            response = Response(await asyncio.to_thread(self._together, name.split("+")), media_type="text/css")
        else:
            response = await super().get_response(name, scope)
        # A page of an older version asks under an older hash: it gets what there is, and is not to keep it.
        response.headers["cache-control"] = FOREVER if is_current else "no-cache"
        return response

    def _together(self, names: Sequence[str]) -> str:
        found = [self.lookup_path(each)[0] for each in names]
        if not all(found):
            raise HTTPException(404)
        return "\n".join(Path(each).read_text("utf-8") for each in found)


def _hash(*folders: Path) -> str:
    whole = hashlib.sha256()
    for folder in folders:
        for file in sorted(each for each in folder.rglob("*") if each.is_file()):
            whole.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()[:12]
