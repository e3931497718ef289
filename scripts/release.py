"""Cut a release: `python scripts/release.py 0.3.0` sets the version, dates the changelog, commits and tags.

`--check 0.3.0` only says whether the tree is that release, as CI asks before it publishes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACES = {
    "pyproject.toml": re.compile(r'(?m)^version = "(.+)"$'),
    "CITATION.cff": re.compile(r"(?m)^version: (.+)$"),
}
"""Where the version is written, once in each file."""
DATE = re.compile(r"(?m)^date-released: .+$")


def main(arguments: list[str]) -> str:
    match arguments:
        case ["--check", version]:
            return check(version)
        case [version] if re.fullmatch(r"\d+\.\d+\.\d+", version):
            return release(version)
    raise SystemExit("usage: python scripts/release.py [--check] 1.2.3")


def check(version: str) -> str:
    for name, found in written().items():
        if found != version:
            raise SystemExit(f"{name} says {found}, not {version}")
    if f"## {version} (" not in changelog():
        raise SystemExit(f"CHANGELOG.md has nothing on {version}")
    return f"this is {version}"


def release(version: str) -> str:
    if numbers(version) <= numbers(before := written()["pyproject.toml"]):
        raise SystemExit(f"{version} does not come after {before}")
    if git("status", "--porcelain"):
        raise SystemExit("commit or put away what has changed first")
    if not shutil.which("uv"):
        raise SystemExit("uv is not on your PATH; the one that make brought is in .tools/bin")
    today = datetime.now(UTC).date().isoformat()
    (ROOT / "CHANGELOG.md").write_text(dated(changelog(), version, today))
    for name, pattern in PLACES.items():
        text = (ROOT / name).read_text()
        text = pattern.sub(lambda found: found[0].replace(found[1], version), text)
        (ROOT / name).write_text(DATE.sub(f"date-released: {today}", text))
    subprocess.run(["uv", "lock", "--quiet"], cwd=ROOT, check=True)  # it names moot's own version
    git("commit", "--all", "--message", f"Release {version}")
    git("tag", "--annotate", f"v{version}", "--message", f"moot {version}")
    return f"tagged v{version}; push it with: git push origin main v{version}"


def dated(text: str, version: str, today: str) -> str:
    """The changelog with what is unreleased under its version, and room for what comes next."""
    unreleased = re.search(r"(?s)## Unreleased\n(.*?)(?=\n## |\Z)", text)
    if not unreleased or not unreleased[1].strip():
        raise SystemExit("CHANGELOG.md has nothing under Unreleased")
    return text.replace("## Unreleased\n", f"## Unreleased\n\n## {version} ({today})\n", 1)


def numbers(version: str) -> list[int]:
    return [int(each) for each in version.split(".")]


def written() -> dict[str, str]:
    return {name: pattern.findall((ROOT / name).read_text())[0] for name, pattern in PLACES.items()}


def changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text()


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    print(main(sys.argv[1:]))
