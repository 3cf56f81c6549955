"""A port where nobody should come."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any


class Trap:
    """A port that remembers whether anybody came."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.visitors: list[Any] = []
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        while True:
            try:
                visitor, address = self.server.accept()
            except OSError:
                return
            self.visitors.append(address)
            visitor.close()

    def named_in(self, value: Any) -> Any:
        return json.loads(json.dumps(value).replace("{port}", str(self.port)))
