"""A port that is taken is named."""

from __future__ import annotations

import subprocess

import pytest

from config.feed.command import command
from tests.servers.feed import Feed
from tests.servers.workers import CHECKOUT


@pytest.mark.django_db(transaction=True)
def test_a_feed_whose_port_is_taken_says_so_in_a_line(feed: Feed) -> None:
    said = subprocess.run(
        command(port=str(feed.port)), cwd=CHECKOUT, capture_output=True, text=True, timeout=60
    )
    assert said.returncode == 1
    assert f"127.0.0.1:{feed.port}: Address already in use" in said.stderr
    assert "FEED_PORT" in said.stderr and "Traceback" not in said.stderr
