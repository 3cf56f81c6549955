from __future__ import annotations

import pytest

from notifications.fcm.transport.chosen import GATEWAYS
from tests.fcm.ways import Gateways
from tests.servers.fcm import Fcm


@pytest.fixture(params=GATEWAYS)
def gateways(request: pytest.FixtureRequest, fcm: Fcm) -> Gateways:
    """Of each way to FCM in turn, to the emulator."""
    return Gateways(request.param, fcm)
