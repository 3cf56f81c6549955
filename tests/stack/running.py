"""`make run` in a folder of its own."""

from __future__ import annotations

import subprocess
import urllib.request
from pathlib import Path

from config.stack import CHECKOUT
from tests.servers.ports import free_ports
from tests.stack.conftest import bare_environment, launcher


class RunningStack:
    def __init__(self, state: Path, **environ: str) -> None:
        self.state = state
        names = ("PORT", "FEED_PORT", "FLOWER_PORT", "EMULATOR_PORT", "METRICS_PORT")
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))
        self.screen: list[str] = []
        ports = {name: str(port) for name, port in self.ports.items()}
        self.launcher: subprocess.Popen[str] = subprocess.Popen(
            launcher(state, "run"),
            cwd=CHECKOUT,
            env=bare_environment(**{**ports, **environ}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def read_until(self, word: str) -> None:
        """Read lines into `screen`, up to the first that holds the word."""
        assert self.launcher.stdout is not None
        for line in self.launcher.stdout:
            self.screen.append(line)
            if word in line:
                return
        raise AssertionError(f"{word!r} never appeared:\n{''.join(self.screen)}")

    def status(self, name: str, path: str) -> int:
        url = f"http://127.0.0.1:{self.ports[name]}{path}"
        with urllib.request.urlopen(url, timeout=10) as response:
            return int(response.status)
