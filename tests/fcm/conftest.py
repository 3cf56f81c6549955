from __future__ import annotations

import pytest

from notifications.fcm.transport.selection import GATEWAYS
from tests.fcm.ways import Gateways
from tests.servers.fcm import Fcm
from tests.servers.identity import Authority


@pytest.fixture(params=GATEWAYS)
def gateways(request: pytest.FixtureRequest, fcm: Fcm) -> Gateways:
    """Of each way to FCM in turn, to the emulator."""
    return Gateways(request.param, fcm)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))
