"""The quick profile of the chaos: real processes die, Redis forgets, and every invariant holds."""

from __future__ import annotations

import os
import subprocess
import sys

# As `make chaos` starts it: pytest's own settings are not there.
BARE = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}


def test_nobody_is_lost_or_knowingly_sent_to_twice_whatever_dies() -> None:
    chaos = subprocess.run(
        [sys.executable, "-m", "tests.chaos", "--quick"],
        env=BARE,
        check=False,
        capture_output=True,
        text=True,
        timeout=400,
    )

    assert chaos.returncode == 0, chaos.stdout + chaos.stderr[-3_000:]
