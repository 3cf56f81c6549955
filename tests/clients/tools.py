"""The schema as a file, and the public tools that read it: each is pinned by a lock file here.

They run where the machine has Node or Go. Redocly's linter is one package of 15 MB without others,
installed in seconds; PyPI has validators only, and none that is as widely used.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import django
from django.core.management import call_command

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PLACE = ROOT / "var" / "clients"
SCHEMA = PLACE / "schema.json"
LOCK = "package-lock.json"
OPTIONS = (
    *("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"),
    *("--fetch-retries=1", "--fetch-timeout=30000"),  # without a network: seconds, not minutes
)


def make_schema() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    PLACE.mkdir(parents=True, exist_ok=True)
    call_command("spectacular", "--format", "openapi-json", file=str(SCHEMA))


def npm_packages() -> Path | None:
    """Where their programs are. None: this machine has no Node."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    locked = PLACE / "node_modules" / ".installed"
    if not locked.exists() or locked.read_bytes() != (HERE / LOCK).read_bytes():
        for name in ("package.json", LOCK):
            shutil.copy(HERE / name, PLACE)
        subprocess.run([npm, "ci", *OPTIONS], cwd=PLACE, check=True)
        shutil.copy(HERE / LOCK, locked)
    return PLACE / "node_modules" / ".bin"
