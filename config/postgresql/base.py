"""A connection that is silent is in order. Django's own asks `SELECT 1` before each request.

If PostgreSQL closed it, or died, the kernel knows: that costs no question. Whoever vanishes without
a word is missed by the kernel's own probes, after 14 s (`keepalives_idle` in the settings).
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
        """Whatever is heard, a farewell or a mere notice, Django's own question decides; so it does
        inside a transaction, which may have failed."""
        if self.connection is None or self.connection.info.transaction_status != IDLE:
            return False  # a closed one has no status that is known
        poll = select.poll()
        poll.register(self.connection.pgconn.socket, HEARD)
        return not poll.poll(0)
