"""What PostgreSQL raises when it is in trouble, not we: trying again later can help.

It is away, full, or somebody holds what we need (OperationalError, InterfaceError), or it takes no
writes, as after a failover to a standby (InternalError).
"""

from __future__ import annotations

from django.db import InterfaceError, InternalError, OperationalError

DATABASE_TROUBLE = (OperationalError, InterfaceError, InternalError)
