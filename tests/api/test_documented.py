"""What docs/api.md shows of inbox tokens does what it says: run as it is shipped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.utils import timezone
from playwright._impl._driver import compute_driver_executable

from notifications.keys import inbox_secret
from notifications.people.project import Project
from tests.api.documented import shown
from tests.api.own_app import OwnApp
from tests.given.builders import make_contact

NAMES = ["ada", "a/b.c", "아다 🔔", 'quo"te\\', "x" * 200]


def signed_in_python(secret: str, folder: Path) -> list[str]:
    script = folder / "tokens.py"
    script.write_text(
        f"{shown('python', 'hmac')}\n\nimport json\n"
        f"print(json.dumps([inbox_token(name, 60) for name in json.loads({json.dumps(NAMES)!r})]))"
    )
    return run([sys.executable, str(script)], secret)


def signed_in_javascript(secret: str, folder: Path) -> list[str]:
    script, node = folder / "tokens.mjs", compute_driver_executable()[0]
    script.write_text(
        f"{shown('javascript', 'createHmac')}\n"
        f"console.log(JSON.stringify({json.dumps(NAMES)}.map((name) => inboxToken(name, 60))));"
    )
    return run([node, str(script)], secret)


def run(command: list[str], secret: str) -> list[str]:
    environment = {"PATH": os.environ["PATH"], "INBOX_SECRET": secret}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    tokens: list[str] = json.loads(done.stdout)
    return tokens


@pytest.mark.parametrize("sign", [signed_in_python, signed_in_javascript])
def test_a_backend_that_signs_by_the_example_is_understood(
    ours: Project, tmp_path: Path, sign: object
) -> None:
    assert callable(sign)
    row, secret = inbox_secret.replace(ours, now=timezone.now()) or (None, "")
    assert row
    for name, token in zip(NAMES, sign(secret, tmp_path), strict=True):
        make_contact(ours, external_id=name)
        reply = OwnApp(token)("POST", "devices", {"token": f"live-{len(name)}", "platform": "web"})
        assert reply.status_code == 200, (name, reply.content)
        device = Project.objects.get(pk=ours.pk).device_set.get(address=f"live-{len(name)}")
        assert device.contact.external_id == name
