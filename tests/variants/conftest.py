"""A log-in that may do everything."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.admin.desk import Desk
from tests.given.log_in import log_in


@pytest.fixture
def desk(client: Client, db: None) -> Desk:
    log_in(client, User.objects.create_superuser("ada", "ada@example.com", "a long pass phrase"))
    return Desk(client)
