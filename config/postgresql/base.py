"""A database connection that is silent counts as healthy. Django would ask `SELECT 1` instead.

Django asks before each request. But if PostgreSQL closed the connection, or died, the kernel knows,
and that costs no query. If a server vanishes without a word, the kernel's own probes notice after
14 s (`keepalives_idle` in the settings).
"""

from __future__ import annotations

import select

from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

from config.postgresql.version import Validation

IDLE = TransactionStatus.IDLE
HEARD = select.POLLIN | select.POLLPRI | select.POLLERR | select.POLLHUP


class DatabaseWrapper(base.DatabaseWrapper):
    validation_class = Validation

    def is_usable(self) -> bool:
        return self._is_silent() or super().is_usable()

    def _is_silent(self) -> bool:
        """Whether the idle connection has nothing to read.

        If it has, be it a farewell or a mere notice, Django's own query decides. So it does inside
        a transaction, which may have failed.
        """
        if self.connection is None or self.connection.info.transaction_status != IDLE:
            return False  # a closed connection has no known status
        poll = select.poll()
        poll.register(self.connection.pgconn.socket, HEARD)
        return not poll.poll(0)
