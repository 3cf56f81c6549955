from __future__ import annotations

import ipaddress
from collections.abc import Iterator

import pytest
from django.conf import LazySettings

from config.boot.outgoing import Places
from tests.servers.receiver import Receiver, receiving


@pytest.fixture
def receiver(
    settings: LazySettings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Receiver]:
    """One that the operator allowed: it is on loopback."""
    with receiving(tmp_path_factory.mktemp("receiver")) as one:
        settings.OUTGOING_CA_FILE = one.ca_file
        networks = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))
        settings.OUTGOING_ALLOWED = Places(frozenset(), networks)
        yield one
