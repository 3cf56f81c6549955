"""Hosts of their own for workers: network namespaces, each with a cable to where the servers are.

Workers there reach PostgreSQL and Redis across the cable; FCM, whose certificate is for 127.0.0.1,
through a relay on their own side.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

from django.db import connection

from config.stack.supervision.account import quarters
from tests.chaos.fault import CannotBePlayed
from tests.chaos.process import Process
from tests.chaos.stage import Stage
from tests.servers.relay import Relay

RELAY = (
    f"import time; from {Relay.__module__} import Relay;"
    " Relay({port}, host='{host}', at=('127.0.0.1', {port})); time.sleep(3600)"
)


class Host:
    """One machine with a worker on it."""

    def __init__(self, stage: Stage, number: int) -> None:
        self.stage = stage
        self.name = f"chaos{os.getpid() % 100_000}h{number}"
        self.cable = f"ch{os.getpid() % 100_000}h{number}"
        net = f"10.{200 + os.getpid() % 50}.{number}"
        self.ours, self._theirs = f"{net}.1", f"{net}.2"

    def plug_in(self) -> None:
        there = ("-n", self.name)
        _ip("netns", "add", self.name)
        _ip("link", "add", self.cable, "type", "veth", "peer", "eth0", "netns", self.name)
        _ip("addr", "add", f"{self.ours}/24", "dev", self.cable)
        _ip("link", "set", self.cable, "up")
        _ip(*there, "addr", "add", f"{self._theirs}/24", "dev", "eth0")
        _ip(*there, "link", "set", "eth0", "up")
        _ip(*there, "link", "set", "lo", "up")

    def cut(self) -> None:
        """The cable is pulled: packets vanish, and nobody is told."""
        _ip("link", "set", self.cable, "down")

    def mend(self) -> None:
        _ip("link", "set", self.cable, "up")

    def start_worker(self, name: str, different: dict[str, str]) -> Process:
        theirs = self.stage.environment
        across = {key: theirs[key].replace("127.0.0.1", self.ours) for key in SERVERS}
        worker = self.stage.prepare_worker(name, {**different, **across})
        argv = ("ip", "netns", "exec", self.name, *worker.service.argv)
        worker.service = replace(worker.service, argv=argv)
        worker.start()
        return worker


SERVERS = ("DATABASE_URL", "REDIS_URL")
ANYWHERE = "host all all 10.0.0.0/8 scram-sha-256\n"


@contextmanager
def hosts(stage: Stage, count: int) -> Iterator[list[Host]]:
    """So many, plugged in; gone afterwards, with whatever still runs on them."""
    with ExitStack() as undone:
        made = []
        for number in range(1, count + 1):
            host = Host(stage, number)
            undone.callback(_remove, host)
            try:
                host.plug_in()
            except (OSError, subprocess.CalledProcessError) as error:
                said = getattr(error, "stderr", "") or str(error)
                raise CannotBePlayed(f"no network namespaces: {said.strip()}") from error
            _connect(host, undone)
            made.append(host)
        _let_postgres_listen(stage, undone)
        yield made


def _let_postgres_listen(stage: Stage, undone: ExitStack) -> None:
    """Without a door between, it has to notice by itself that somebody vanished."""
    rules = quarters(stage.state.path).data / "postgres" / "pg_hba.conf"
    if ANYWHERE not in rules.read_text():
        with rules.open("a") as file:
            file.write(ANYWHERE)
    undone.callback(_restart_postgres, stage)
    _restart_postgres(stage, "-c", "listen_addresses=*")


def _restart_postgres(stage: Stage, *settings: str) -> None:
    stage.postgres.leave()
    stage.postgres.start(*settings)
    connection.close()


def _connect(host: Host, undone: ExitStack) -> None:
    """Redis and FCM listen on 127.0.0.1 only: each gets a door on our end of the cable."""
    addresses = (host.stage.environment["REDIS_URL"], host.stage.fcm.url)
    ports = [urlsplit(address).port or 0 for address in addresses]
    for port in ports:
        undone.callback(Relay(port, at=(host.ours, port)).stop)
    script = RELAY.format(port=ports[-1], host=host.ours)
    argv = ["ip", "netns", "exec", host.name, sys.executable, "-c", script]
    undone.callback(subprocess.Popen(argv).kill)


def _remove(host: Host) -> None:
    """The cable too: a namespace lives on as long as a process in it."""
    for words in (("link", "del", host.cable), ("netns", "del", host.name)):
        subprocess.run(["ip", *words], check=False, capture_output=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)
