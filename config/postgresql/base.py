"""A connection that is silent is in order. Django's own asks `SELECT 1` before each request.

If PostgreSQL closed it, or died, the kernel knows: that costs no question. Whoever vanishes without
a word is missed by the kernel's own probes, after 14 s (`keepalives_idle` in the settings).
"""

from __future__ import annotations

import select

from django.db.backends.postgresql import base
from psycopg import OperationalError

HEARD = select.POLLIN | select.POLLPRI | select.POLLERR | select.POLLHUP


class DatabaseWrapper(base.DatabaseWrapper):
    def is_usable(self) -> bool:
        return self._is_silent() or super().is_usable()

    def _is_silent(self) -> bool:
        """Whatever is heard, a farewell or a mere notice, Django's own question decides."""
        if self.connection is None:
            return False
        try:
            socket = self.connection.pgconn.socket
        except OperationalError:  # closed already
            return False
        poll = select.poll()
        poll.register(socket, HEARD)
        return not poll.poll(0)
