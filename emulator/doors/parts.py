"""The parts of one serving process, and the commands it is given by whoever leads it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from emulator.doors.fcm import Fcm
from emulator.doors.oauth import TokenDesk
from emulator.faults.addresses import Addresses
from emulator.faults.fault import Fault
from emulator.faults.faults import Faults
from emulator.service.account import ServiceAccount
from emulator.service.latency import Latency
from emulator.service.quotas import DeviceQuotas, ProjectQuota
from emulator.settings import Settings
from emulator.witness.counts import Counts
from emulator.witness.ledger import Ledger

REPORT, SETTINGS, FAULTS, RESET, REVOKE = "report", "settings", "faults", "reset", "revoke"


@dataclass(frozen=True)
class Plan:
    """What an emulator is started with."""

    accounts: tuple[ServiceAccount, ...]
    settings: Settings
    processes: int
    seed: int


class Parts:
    """Made before the processes fork, so that they share what must be one: see `shared.py`."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.settings = plan.settings
        self.counts = Counts()
        self.faults = Faults(processes=plan.processes)
        projects = tuple(account.project for account in plan.accounts)
        self.project_quota = ProjectQuota(
            projects, self.settings, processes=plan.processes, seed=plan.seed
        )
        self.device_quotas = DeviceQuotas()
        self.addresses = Addresses(projects[0])
        self.desk = TokenDesk(plan.accounts, counts=self.counts, settings=self.settings)
        self.process = 0

    def belong_to(self, process: int) -> None:
        self.process = self.faults.process = process
        self.faults.hits.belong_to(process)
        self.project_quota.cells.belong_to(process)

    def fcm(self, ledger: Ledger) -> Fcm:
        return Fcm(
            desk=self.desk,
            addresses=self.addresses,
            faults=self.faults,
            project_quota=self.project_quota,
            device_quotas=self.device_quotas,
            ledger=ledger,
            counts=self.counts,
            settings=self.settings,
            latency=Latency(self.settings, seed=self.plan.seed + self.process),
            process=self.process,
            processes=self.plan.processes,
        )

    def perform(self, command: str, argument: Any = None) -> Any:
        """Obey the leader; the answer fits into JSON."""
        if command == REPORT:
            return self.counts.values()
        if command == SETTINGS:
            self.settings.change(argument)
        elif command == FAULTS:
            self.faults.put([Fault(**script) for script in argument])
        elif command == RESET:
            self._reset()
        elif command == REVOKE:
            return self.desk.revoke_all()
        return None

    def used_quota(self) -> dict[str, int]:
        now = time.time()
        projects = [account.project for account in self.plan.accounts]
        return {project: self.project_quota.used(project, now=now) for project in projects}

    def _reset(self) -> None:
        self.counts.reset()
        self.addresses.forget()
        self.faults.put([])
        self.project_quota.forget()
        self.device_quotas.forget()
