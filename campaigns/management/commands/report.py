"""`manage.py report RUN`: shows a run's outcome, counted again from its deliveries."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from campaigns.results import reports
from campaigns.runs.api.runs import RunSerializer
from campaigns.runs.run import Run
from notifications.api.base.rendering import as_json


class Command(BaseCommand):
    help = "Show the outcome of a run, and whether its totals agree with its rows."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", type=int, help="the run's number")
        parser.add_argument(
            "--json", action="store_true", help="in the format of GET /api/v1/runs/RUN"
        )

    def handle(self, *, run: int, **options: Any) -> None:
        found = Run.objects.select_related("campaign", "project").filter(pk=run).first()
        if found is None:
            raise CommandError(f"There is no run {run}.")
        shown = RunSerializer(found).data
        if options["json"]:
            self.stdout.write(json.dumps(json.loads(as_json(shown)), indent=2))
            return
        for line in self._lines(found, shown):
            self.stdout.write(line)

    def _lines(self, run: Run, shown: dict[str, Any]) -> list[str]:
        lines = [f"{run} ({run.project.slug}): {run.get_state_display()}"]
        if shown["reason"]:
            lines.append(shown["reason"])
        lines += [f"  {name:<10}{count:>12,}" for name, count in shown["totals"].items()]
        lines += [
            f"    {count:>14,}  {words}"
            for words, count in reports.in_plain_words(shown["reasons"])
        ]
        return [*lines, self._balance(run, shown["totals"])]

    def _balance(self, run: Run, totals: dict[str, int]) -> str:
        """Says whether the totals, which are sums of chunks, agree with the deliveries."""
        if run.forgotten_at:
            return f"Its rows were removed on {run.forgotten_at:%Y-%m-%d}; the totals stay."
        if reports.recount(run).as_dict() == totals:
            return "The totals agree with the rows."
        if run.unfinished:
            return "The run changed while it was counted; try again."
        return self.style.ERROR("The totals do NOT agree with the rows. This is a bug: report it.")
