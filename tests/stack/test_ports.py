from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.stack import StackError
from config.stack.ports import embedded_ports, is_free, public_ports
from tests.servers.ports import free_ports


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_taken_port_is_named_together_with_its_variable(taken: int) -> None:
    web, emulator = map(str, free_ports(2))
    with pytest.raises(StackError, match=rf"Port {taken} is taken.* FLOWER_PORT"):
        public_ports({"PORT": web, "FLOWER_PORT": str(taken), "EMULATOR_PORT": emulator})


@pytest.mark.parametrize("value", ["abc", "80", "70000", "-1", "8000.5"])
def test_a_port_that_is_no_port_is_refused(value: str) -> None:
    with pytest.raises(StackError, match="PORT must be a port between 1024 and 65535"):
        public_ports({"PORT": value})


def test_two_services_may_not_share_a_port() -> None:
    both, flower = map(str, free_ports(2))
    with pytest.raises(StackError, match=f"PORT and EMULATOR_PORT are both {both}"):
        public_ports({"PORT": both, "FLOWER_PORT": flower, "EMULATOR_PORT": both})


def test_embedded_servers_keep_their_ports_until_one_is_taken(tmp_path: Path) -> None:
    memory = tmp_path / "ports.json"
    first = embedded_ports(memory)
    assert embedded_ports(memory) == first
    with socket.create_server(("127.0.0.1", first["valkey"])):
        second = embedded_ports(memory)
    assert second["postgres"] == first["postgres"]
    assert second["valkey"] != first["valkey"]
    assert is_free(second["valkey"])
