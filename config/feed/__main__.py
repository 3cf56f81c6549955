"""`python -m config.feed`: the live inbox, in this process, until SIGTERM."""

from __future__ import annotations

import argparse
import os

import uvloop

from config import wsgi  # noqa: F401  # first: it loads the settings, which the others read
from config.feed.server import Server
from config.front.sockets import allow_many


def main() -> None:
    parser = argparse.ArgumentParser("config.feed", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=os.environ.get("FEED_PORT") or 8001)
    options = parser.parse_args()
    allow_many()
    uvloop.run(Server().serve(options.host, options.port))


if __name__ == "__main__":
    main()
