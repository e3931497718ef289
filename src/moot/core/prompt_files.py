"""The prompt files of a format, rendered by Jinja, which is imported with the first of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import meta

from moot.errors import BrokenPrompt

OPTIONS: Mapping[str, Any] = {
    "undefined": jinja2.StrictUndefined,
    "trim_blocks": True,
    "lstrip_blocks": True,
    "auto_reload": False,
}


class _Environment(jinja2.Environment):
    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """In one dict: a chain of them takes longer to go through than a prompt to render."""
        return {**self.globals, **(d or {})}


class PromptFiles:
    """Files `<kind>.md`, each in the first of the folders that has it."""

    def __init__(self, folders: Sequence[Path], data: Callable[[str], str]) -> None:
        self._loader = jinja2.FileSystemLoader(folders)
        self._environment = _Environment(loader=self._loader, **OPTIONS)
        self._environment.filters["data"] = data
        self.used = cache(self._used)
        self._template = cache(self._environment.get_template)

    def render(self, kind: str, variables: Mapping[str, object]) -> str:
        try:
            return self._template(f"{kind}.md").render(variables).strip()
        except jinja2.TemplateNotFound as error:
            own = self._loader.searchpath[0]
            carried = "a package has to carry the .md files beside its format"
            raise BrokenPrompt(f"there is no prompt file {error.name} in {own}; {carried}") from None

    def _used(self, kind: str) -> Collection[str] | None:
        """The names of the variables it speaks of; None when that cannot be told from its file alone."""
        source, _, _ = self._loader.get_source(self._environment, f"{kind}.md")
        tree = self._environment.parse(source)
        return None if any(meta.find_referenced_templates(tree)) else meta.find_undeclared_variables(tree)
