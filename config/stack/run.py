"""`make run`: starts a stack from an empty folder, keeps it running, and ends it.

If the launcher is killed, the kernel ends its processes (Linux), and the next start ends whatever
is still there before it begins. The data survive both.
"""

from __future__ import annotations

import os
from pathlib import Path

from config.stack import StackError, external_fcm, shared_environment
from config.stack.ports import public_ports
from config.stack.processes import emulator, flower, one_off, processes
from config.stack.screen import Console, screen
from config.stack.secret_values import assignments, secret_values
from config.stack.servers.servers import start_servers
from config.stack.small_profile import is_small
from config.stack.state import State, claim, write_private
from config.stack.supervision.leftovers import end_leftovers
from config.stack.supervision.logs import LogFolder
from config.stack.supervision.supervisor import StopRequested, Supervisor

DEMO_CONTACTS = "20000"


def run(folder: Path) -> int:
    if os.environ.get("CARILLON_ENV") == "production":
        raise StackError(
            "make run brings a stand-in for FCM and refuses CARILLON_ENV=production. "
            "For production use docker-compose.yml (see README)."
        )
    console = Console()
    with claim(folder) as state:
        supervisor = Supervisor(LogFolder(state.logs), console.say)
        supervisor.listen()
        try:
            print(_bring_up(supervisor, state, console), flush=True)
            while True:
                supervisor.tend()
                supervisor.wait()
        except StopRequested:
            console.say("Stopping.")
        finally:
            supervisor.stop()
            state.env_file.unlink(missing_ok=True)
        console.say("Every process has ended.")
    return 0


def _bring_up(supervisor: Supervisor, state: State, console: Console) -> str:
    """Start everything in the order it is needed. Returns the text of the final screen."""
    environ = os.environ
    if ended := end_leftovers(state.path):
        console.say(f"Ended {ended} processes of a launcher that was killed.")
    foreign = external_fcm.environment(environ)
    ports = public_ports(environ, emulator=not foreign)
    secrets = secret_values(state.path / "secrets", environ)

    console.say("Starting PostgreSQL and Valkey.")
    urls = start_servers(supervisor, state, secrets, environ, for_tests=False)
    exports = shared_environment.shared(secrets, urls) | shared_environment.of_a_run(
        state, environ, ports
    )
    env = shared_environment.marked(environ, state, exports)
    supervisor.preload(env)

    console.say("Preparing the database and the demo project.")
    fcm = [] if foreign else [emulator(state, env)]
    for_operators = [] if is_small(env) else [flower(env)]
    supervisor.start([*fcm, *for_operators])
    supervisor.run_to_end(one_off("migrate", env, "migrate", "--no-input"))
    # Our emulator makes the demo's service account.
    supervisor.await_answers([service.name for service in fcm], seconds=30)
    demo = ("demo", "--contacts", DEMO_CONTACTS, "--if-empty")
    supervisor.run_to_end(one_off("demo", env, *demo))
    write_private(state.env_file, assignments(exports))

    services = processes(state, env)
    console.say(f"Starting {', '.join(service.name for service in services)}.")
    supervisor.start(services)
    supervisor.await_answers([service.name for service in (*services, *for_operators)], seconds=90)
    console.say("Everything answers.")
    return screen(state, env, {name: not environ.get(name) for name in urls})
