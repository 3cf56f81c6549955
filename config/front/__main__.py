"""`python -m config.front`: the web server, in this process, until SIGTERM."""

from __future__ import annotations

import argparse

from config.front.command import INSIDE, OUTSIDE
from config.front.serving import serve


def main() -> None:
    parser = argparse.ArgumentParser("config.front", description=__doc__)
    parser.add_argument("application", nargs="?", default=OUTSIDE, help="the product, unless told")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--processes", type=int, help="two, unless told; one of --inside")
    parser.add_argument(
        "--inside", action="store_true", help="the probes and the numbers alone, without a token"
    )
    options = parser.parse_args()
    serve(
        INSIDE if options.inside else options.application,
        host=options.host,
        port=options.port,
        processes=options.processes or (1 if options.inside else 2),
    )


if __name__ == "__main__":
    main()
