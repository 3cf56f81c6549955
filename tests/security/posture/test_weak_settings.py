"""Production and staging refuse to start on weak secrets, and say how to make good ones."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
from pathlib import Path

import pytest

from tests.config.manage_check import ROOT, check

STRONG = secrets.token_urlsafe(48)
RECIPE = 'python3 -c "import secrets; print(secrets.token_urlsafe(48))"'


@pytest.mark.parametrize("environment", ["production", "staging"])
@pytest.mark.parametrize(
    ("weak", "complaint"),
    [
        ({"SECRET_KEY": "x"}, "SECRET_KEY has 1 character, and 50 are the least"),
        ({"SECRET_KEY": secrets.token_urlsafe(36)}, "SECRET_KEY has 48 characters, and 50"),
        ({"CREDENTIALS_KEY": "x"}, "CREDENTIALS_KEY has 1 character, and 32 are the least"),
        ({"CREDENTIALS_KEY": f"x, {STRONG}"}, "CREDENTIALS_KEY has 1 character, and 32"),
        ({"SECRET_KEY": "ab" * 40}, "SECRET_KEY can be guessed"),
        ({"SECRET_KEY": "1234567890abcdef" * 4}, "SECRET_KEY can be guessed"),
        ({"CREDENTIALS_KEY": "a" * 64}, "CREDENTIALS_KEY can be guessed"),
        ({"SECRET_KEY": f"django-insecure-{STRONG}"}, "SECRET_KEY can be guessed"),
        ({"CREDENTIALS_KEY": f"change-me-{STRONG}"}, "CREDENTIALS_KEY can be guessed"),
        ({"SECRET_KEY": STRONG, "CREDENTIALS_KEY": STRONG}, "SECRET_KEY and CREDENTIALS_KEY are"),
        ({"DEBUG": "true"}, "DEBUG shows every visitor"),
    ],
)
def test_a_weak_value_stops_the_start_without_being_shown(
    environment: str, weak: dict[str, str], complaint: str
) -> None:
    done = check(CARILLON_ENV=environment, **weak)
    assert done.returncode != 0
    assert complaint in done.said
    assert RECIPE in done.said or "DEBUG" in weak
    assert not [value for value in weak.values() if len(value) > 40 and value in done.said]


def test_all_that_is_weak_is_said_at_once() -> None:
    done = check(CARILLON_ENV="production", SECRET_KEY="x", CREDENTIALS_KEY="x", DEBUG="true")
    for name in ("SECRET_KEY", "CREDENTIALS_KEY", "DEBUG"):
        assert f"{name} " in done.said
    assert "manage.py reseal" in done.said  # what a short CREDENTIALS_KEY has sealed


@pytest.mark.parametrize("environment", ["development", "demo", "test"])
def test_on_ones_own_machine_a_short_key_will_do(environment: str) -> None:
    done = check(CARILLON_ENV=environment, SECRET_KEY="x", CREDENTIALS_KEY="y", DEBUG="true")
    assert done.returncode == 0, done.said


def test_a_weak_key_may_stay_behind_a_strong_one_until_nothing_is_sealed_with_it() -> None:
    done = check(CARILLON_ENV="production", CREDENTIALS_KEY=f"{STRONG}, weak")
    assert done.returncode == 0, done.said


def test_the_recipe_of_the_compose_file_makes_keys_that_are_taken() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    (recipe,) = set(re.findall(r'python3 -c "([^"]+)"', text))
    made = [
        subprocess.run(["python3", "-c", recipe], capture_output=True, text=True).stdout.strip()
        for _ in range(2)
    ]
    done = check(CARILLON_ENV="production", SECRET_KEY=made[0], CREDENTIALS_KEY=made[1])
    assert done.returncode == 0, done.said


def test_the_image_collects_its_files_as_production_with_keys_of_one_moment(
    tmp_path: Path,
) -> None:
    text = (ROOT / "Dockerfile").read_text()
    (line,) = re.findall(r"^RUN ((?:.*\\\n)*.*collectstatic.*)$", text, re.MULTILINE)
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=ROOT,
        env={
            "PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}",
            "CARILLON_ENV": "production",
            "STATIC_ROOT": str(tmp_path),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "staticfiles.json").is_file()
