"""`python -m config.front`: the web server, in this process, until SIGTERM."""

from __future__ import annotations

import argparse
import os

from config.front.command import INSIDE, OUTSIDE, command


def main() -> None:
    parser = argparse.ArgumentParser("config.front", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", default="8000")
    parser.add_argument("--processes", type=int, help="two, unless told; one of --inside")
    parser.add_argument(
        "--inside", action="store_true", help="the probes and the numbers alone, without a token"
    )
    asked = parser.parse_args()
    argv = command(
        application=INSIDE if asked.inside else OUTSIDE,
        host=asked.host,
        port=asked.port,
        processes=asked.processes or (1 if asked.inside else 2),
    )
    # In this process: whoever started us signals the server itself.
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main()
