"""The house rules that no linter knows."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OWN = [
    path
    for folder in ("config", "campaigns", "notifications", "emulator", "bench", "tests")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
]


def test_notifications_does_not_know_of_campaigns() -> None:
    knowing = [
        str(path)
        for path in (ROOT / "notifications").rglob("*")
        if path.suffix in {".py", ".lua"} and "campaign" in path.read_text().lower()
    ]
    assert knowing == []


@pytest.mark.parametrize("path", OWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_fits_in_300_lines_and_is_named_after_what_it_owns(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300
    assert path.stem not in {"utils", "helpers", "common", "manager", "base", "misc"}
