"""The command line: `python -m config.stack run`, `memory`, and `exec -- COMMAND`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from config.stack import CHECKOUT, StackError
from config.stack.execute import execute
from config.stack.memory import memory
from config.stack.run import run
from config.stack.screen import complain
from config.stack.servers import kept_servers


def main() -> int:
    arguments = _arguments()
    try:
        if arguments.action == "run":
            return run(arguments.state or CHECKOUT / "var")
        if arguments.action == "memory":
            return memory(arguments.state or CHECKOUT / "var")
        folder = arguments.state or CHECKOUT / "var" / "test"
        if arguments.action == "exec":
            return execute(folder, arguments.command, keep=arguments.keep)
        if arguments.action == "keep":
            return kept_servers.keep(folder, complain)
        return kept_servers.stop(folder)
    except StackError as error:
        complain(str(error))
    except PermissionError as error:
        complain(f"{error.filename} belongs to somebody else ({error.strerror}).")
    return 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m config.stack", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    run_parser = actions.add_parser("run", help="start everything and keep it alive")
    memory_parser = actions.add_parser("memory", help="how much the processes of `run` hold")
    exec_parser = actions.add_parser("exec", help="run a command beside PostgreSQL and Valkey")
    exec_parser.add_argument("--keep", action="store_true", help="the two stay up, for the next")
    exec_parser.add_argument("command", nargs="+", metavar="COMMAND", help="after --")
    keep_parser = actions.add_parser("keep", help="start the two, and keep them up for exec")
    stop_parser = actions.add_parser("stop", help="end what is kept up for exec")
    for subparser in (run_parser, memory_parser, exec_parser, keep_parser, stop_parser):
        subparser.add_argument("--state", type=Path, help="folder for data, logs and secrets")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
