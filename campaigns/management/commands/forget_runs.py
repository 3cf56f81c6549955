"""`manage.py forget_runs --finished-before DATE`: removes old runs' recipients; totals stay."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError
from django.utils import timezone

from campaigns.engine.forgetting import forget, forgettable


class Command(BaseCommand):
    help = (
        "Remove the recipients and deliveries of runs that ended before a day (UTC). Their totals "
        "and reasons stay; who received them is lost. This cannot be undone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--finished-before", required=True, type=_day, metavar="YYYY-MM-DD")
        parser.add_argument("--project", help="only of this project (its slug)")
        parser.add_argument("--dry-run", action="store_true", help="only say which runs")

    def handle(self, *, finished_before: datetime, **options: Any) -> None:
        narrower = {"project__slug": options["project"]} if options["project"] else {}
        if finished_before > timezone.now():
            raise CommandError("--finished-before is in the future. Name a day that has passed.")
        found = list(forgettable(finished_before, **narrower))
        for run in found:
            if not options["dry_run"]:
                self._forget(run)
            self.stdout.write(f"{run} ({run.project.slug}): {run.planned:,} recipients")
        word = "would be forgotten" if options["dry_run"] else "forgotten"
        self.stdout.write(f"{len(found):,} runs {word}.")

    def _forget(self, run: Any) -> None:
        try:
            forget(run, by="command:forget_runs", now=timezone.now())
        except OperationalError as error:  # another query locks the tables for too long
            raise CommandError(f"{run} is in use. Run this again: it goes on here.") from error


def _day(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
