"""`make check`: lint, types, imports, migrations, schema and advisories, beside each other.

With a command behind `--`, beside that one too, which has the terminal: what the checks say is
printed below it. Whatever fails, the exit code says so.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
TOOLS = Path(sys.executable).parent
LOCKS = sorted(path.name for path in ROOT.glob("requirements*.txt"))
CHECKS = {
    "lint": (f"{TOOLS}/ruff", "check", "."),
    "format": (f"{TOOLS}/ruff", "format", "--check", "."),
    "imports": (sys.executable, f"{TOOLS}/lint-imports"),
    "types": (sys.executable, "-m", "mypy", "."),
    "migrations": (sys.executable, "manage.py", "makemigrations", "--check", "--dry-run"),
    "schema": (sys.executable, "-m", "tests.clients.lint"),
    "advisories": (sys.executable, "-m", "tests.advisories", *LOCKS),
}


@dataclass
class Check:
    """One that runs already."""

    name: str
    command: tuple[str, ...]
    said: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            self.command, cwd=ROOT, stdout=self.said, stderr=subprocess.STDOUT
        )

    def failed(self) -> bool:
        """Wait for it, and print what it said: where all is well, the last line."""
        code = self.process.wait()
        self.said.seek(0)
        said = self.said.read().decode().strip()
        if code:
            print(f"--- {self.name} failed\n{said}\n", flush=True)
        else:
            print(f"--- {self.name}: {said.rpartition(chr(10))[2]}", flush=True)
        return code != 0


def main(beside: list[str], checks: dict[str, tuple[str, ...]] = CHECKS) -> int:
    begun = [Check(name, command) for name, command in checks.items()]
    code = subprocess.call(beside) if beside else 0
    failed = [check.name for check in begun if check.failed()]
    if failed:
        print(f"--- failed: {', '.join(failed)}", flush=True)
    return code or bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:]))
