"""Known vulnerabilities of what is pinned: `python -m tests.advisories requirements.txt …`.

Asks OSV, which holds PyPI's and GitHub's advisories, in one request. Exit code 1 when one is known.
Where OSV cannot be reached nobody is kept from working, and the last line says that nobody looked.
pip-audit would bring a tree of packages of its own to be looked after, for this one question.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

OSV = "https://api.osv.dev/v1/querybatch"
AT_ONCE = 1_000  # OSV takes no more
PINNED = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)

Pin = tuple[str, str]


class NotLooked(Exception):
    """OSV gave no answer that says anything about the packages."""


def pins(files: Iterable[Path]) -> list[Pin]:
    """Name and version of all that these lock files pin."""
    return sorted({(name.lower(), version) for file in files
                   for name, version in PINNED.findall(file.read_text())})  # fmt: skip


def known(found: list[Pin], *, service: str = OSV) -> dict[Pin, list[str]]:
    """The advisories of each that has any. Raises NotLooked."""
    advisories: dict[Pin, list[str]] = {}
    for start in range(0, len(found), AT_ONCE):
        asked = found[start : start + AT_ONCE]
        for pin, answer in zip(asked, _answers(asked, service), strict=True):
            if ids := [each["id"] for each in answer.get("vulns", [])]:
                advisories[pin] = ids
    return advisories


def _answers(asked: list[Pin], service: str) -> list[dict[str, Any]]:
    queries = [
        {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}
        for name, version in asked
    ]
    request = urllib.request.Request(
        service, json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            answers = json.load(reply)["results"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotLooked(f"{service}: {error}") from error
    if len(answers) != len(asked) or not all(isinstance(each, dict) for each in answers):
        raise NotLooked(f"{service} answered another question")
    return list(answers)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="LOCK_FILE")
    parser.add_argument("--service", default=OSV, help="another that speaks OSV's language")
    arguments = parser.parse_args()
    found = pins(arguments.files)
    if not found:
        print("Advisories: the lock files pin nothing; is that the right folder?")
        return 1
    try:
        advisories = known(found, service=arguments.service)
    except NotLooked as error:
        print(f"Advisories: NOT LOOKED AT, all {len(found)} packages. No answer from {error}")
        return 0
    for (name, version), ids in advisories.items():
        links = ", ".join(f"https://osv.dev/vulnerability/{each}" for each in ids)
        print(f"Advisories: {name} {version}: {links}")
    print(f"Advisories: {len(found)} packages looked at, {len(advisories)} with one.")
    return 1 if advisories else 0


if __name__ == "__main__":
    sys.exit(main())
