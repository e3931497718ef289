"""Files that are whole or not there: what was there before stays until the new content is complete."""

from __future__ import annotations
