"""The prompt files of a format, rendered by Jinja, which is imported with the first of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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


class PromptFiles:
    """Files `<kind>.md`, each in the first of the folders that has it."""

    def __init__(self, folders: Sequence[Path], data: Callable[[str], str]) -> None:
        self._loader = jinja2.FileSystemLoader(folders)
        self._environment = jinja2.Environment(loader=self._loader, **OPTIONS)  # noqa: S701 - prompts are no HTML
        self._environment.filters["data"] = data
        self.used = cache(self._used)
        self._template = cache(self._environment.get_template)

    def render(self, kind: str, variables: Mapping[str, object]) -> str:
        try:
            template = self._template(f"{kind}.md")
            # Template.render makes several dicts on the way, which takes longer than many a prompt to render.
            known = {**self._environment.globals, **variables}
            context = jinja2.runtime.Context(self._environment, known, template.name, template.blocks)
            return "".join(template.root_render_func(context)).strip()
        except jinja2.TemplateNotFound as error:
            own = self._loader.searchpath[0]
            carried = "a package has to carry the .md files beside its format"
            raise BrokenPrompt(f"there is no prompt file {error.name} in {own}; {carried}") from None
        except Exception:
            self._environment.handle_exception()  # raises it as from the prompt file's own line

    def _used(self, kind: str) -> Collection[str] | None:
        """The names of the variables it speaks of; None when that cannot be told from its file alone."""
        source, _, _ = self._loader.get_source(self._environment, f"{kind}.md")
        tree = self._environment.parse(source)
        return None if any(meta.find_referenced_templates(tree)) else meta.find_undeclared_variables(tree)
