"""Check that moot installs from wheels alone, without a compiler, everywhere: python scripts/wheels.py [EXTRA…]

Asks the package index through uv, and installs nothing. With `local` it names where llama.cpp has no wheel.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux ARM": "aarch64-manylinux_2_28",
    "Alpine x86-64": "x86_64-unknown-linux-musl",
    "Alpine ARM": "aarch64-unknown-linux-musl",
    "macOS Apple": "aarch64-apple-darwin",
    "macOS Intel": "x86_64-apple-darwin",
    "Windows x86-64": "x86_64-pc-windows-msvc",
    "Windows ARM": "aarch64-pc-windows-msvc",
}
ALPINE = ("Alpine x86-64", "Alpine ARM")
"""Where llama.cpp has no wheels; docs/models.md says so."""
WITHOUT = {("Windows ARM", "3.11")}
"""Where PyYAML has none."""


def resolve(platform: str, python: str, extras: list[str]) -> str:
    """What uv says when no set of wheels does; nothing when one does."""
    command = ["uv", "pip", "compile", "--quiet", "--no-header", "--only-binary", ":all:", "--no-sources"]
    command += ["--python-platform", PLATFORMS[platform], "--python-version", python]
    command += [word for extra in extras for word in ("--extra", extra)] + ["pyproject.toml"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return " ".join(ran.stderr.split()) if ran.returncode else ""


def main(extras: list[str]) -> int:
    faults = 0
    for platform, python in product(PLATFORMS, PYTHONS):
        fault = resolve(platform, python, extras)
        known = (platform, python) in WITHOUT or ("local" in extras and platform in ALPINE)
        faults += bool(fault) and not known
        told = f"{'no wheels, as is known' if known else 'FAILS'}: {fault}" if fault else "wheels only"
        sys.stdout.write(f"{platform:15} Python {python}: {told}\n")
        sys.stdout.flush()
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
