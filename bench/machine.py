"""On what this was measured, and what else went on there meanwhile."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    *("aiohttp", "uvloop", "httptools", "httpx", "pyreqwest"),
    *("firebase-admin", "async-firebase", "psycopg"),
)


def described() -> dict[str, str]:
    system = f"{platform.system()}, Python {platform.python_version()}"
    gigabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return {
        "machine": f"{os.cpu_count()} cores ({_model()}), {gigabytes:.0f} GB",
        "system": system,
        "versions": ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
    }


def load() -> float:
    """Processes that wanted a core lately. At the start of a fair measurement: almost none."""
    return os.getloadavg()[0]


def _model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
