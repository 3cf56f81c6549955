"""Metrics for Prometheus: read from the rows and from Redis at each scrape."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import redis
from django.conf import settings
from django.db import connection
from django.db.models import Count, Min, QuerySet, Sum
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from campaigns.alerts.models import Kind as AlertKind
from campaigns.alerts.models import open_alerts
from campaigns.engagement.recount import differences_lately
from campaigns.results.repairs import repairs, stalled
from campaigns.runs.chunk import LEASE, Chunk
from campaigns.runs.ledger import Delivery
from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from config.workers.broker import PRIORITY_STEPS
from config.workers.celery_settings import QUEUES
from config.workers.process_reports import Process, processes
from notifications.inbox.online_people import feeds

RECENT = timedelta(days=1)
MAX_WORKERS = 100  # that have labels of their own; the others share one
REASONS = """
SELECT reason, sum(n::bigint) FROM campaigns_chunk c JOIN campaigns_run r ON r.id = c.run_id,
    jsonb_each_text(c.reasons) AS counted(reason, n)
WHERE r.launched_at > %s AND r.kind <> 'rehearsal' GROUP BY reason
"""

SENT = Chunk.objects.exclude(run__kind=Run.Kind.REHEARSAL)


class Metrics(Collector):
    """Collects the numbers of one scrape."""

    def __init__(self, *, now: datetime) -> None:
        self.now = now

    def collect(self) -> Iterator[Metric]:
        unfinished = SENT.filter(run__finished_at__isnull=True)
        yield _by_state("carillon_runs", "Runs by state.", Run.objects.all(), Run.State.values)
        yield _by_state(
            "carillon_chunks", "Chunks of unfinished runs.", unfinished, Chunk.State.values
        )
        yield self._oldest_lease()
        yield self._stalled()
        yield self._repairs()
        yield self._echo()
        yield _alerts()
        yield self._outcomes()
        yield self._reasons()
        yield self._tick_age()
        yield from self._messages()
        yield from _feeds()
        yield from _workers()
        yield _queues()

    def _oldest_lease(self) -> Metric:
        soonest = SENT.filter(state=Chunk.State.LEASED).aggregate(end=Min("lease_until"))
        renewed = soonest["end"] - LEASE if soonest["end"] else self.now
        return GaugeMetricFamily(
            "carillon_oldest_lease_seconds",
            "Since the longest silent worker renewed its lease.",
            value=(self.now - renewed).total_seconds(),
        )

    def _stalled(self) -> Metric:
        return GaugeMetricFamily(
            "carillon_stalled_runs",
            "Runs that have had something to do for a minute while nobody did it.",
            value=stalled(self.now).count(),
        )

    def _repairs(self) -> Metric:
        family = GaugeMetricFamily(
            "carillon_repairs",
            "Doorbells lost and workers dead in the last day's runs; each was put right.",
            labels=["kind"],
        )
        for kind, count in repairs(Run.every.all(), self.now).items():
            family.add_metric([kind], count)
        return family

    def _echo(self) -> Metric:
        return GaugeMetricFamily(
            "carillon_echo_differences",
            "Sums of receipts and goals that the last day's recount found wrong; each was put "
            "right.",
            value=differences_lately(self.now),
        )

    def _outcomes(self) -> Metric:
        family = GaugeMetricFamily(
            "carillon_outcomes", "Recipients of the last day's runs.", labels=["outcome"]
        )
        recent = SENT.filter(run__launched_at__gt=self.now - RECENT)
        sums = recent.aggregate(**{name: Sum(name) for name in Delivery.Status.values})
        for name in Delivery.Status.values:
            family.add_metric([name], sums[name] or 0)
        return family

    def _reasons(self) -> Metric:
        family = GaugeMetricFamily(
            "carillon_reasons", "Why recipients were not accepted, last day.", labels=["reason"]
        )
        with connection.cursor() as cursor:
            cursor.execute(REASONS, [self.now - RECENT])
            for reason, count in cursor.fetchall():
                family.add_metric([reason], float(count))
        return family

    def _tick_age(self) -> Metric:
        age = Tick.age(self.now)
        return GaugeMetricFamily(
            "carillon_tick_age_seconds",
            "Since beat's last tick; grows when beat or the control worker is gone.",
            value=age.total_seconds() if age is not None else float("inf"),
        )

    def _messages(self) -> Iterator[Metric]:
        """Messages that are due: one for tomorrow waits without being late."""
        waiting = GaugeMetricFamily(
            "carillon_messages_waiting",
            "Messages to single people that are due and that no worker has taken.",
            labels=["lane"],
        )
        oldest = GaugeMetricFamily(
            "carillon_oldest_message_seconds",
            "Since the oldest of them was due.",
            labels=["lane"],
        )
        due = Message.objects.filter(state=Message.State.WAITING, at__lte=self.now)
        for lane, bulk in (("urgent", False), ("bulk", True)):
            counts = due.filter(bulk=bulk).aggregate(count=Count("number"), first=Min("at"))
            waiting.add_metric([lane], counts["count"])
            since = self.now - (counts["first"] or self.now)
            oldest.add_metric([lane], since.total_seconds())
        return iter((waiting, oldest))


def _alerts() -> Metric:
    family = GaugeMetricFamily(
        "carillon_alerts",
        "Alerts that stand, whether or not somebody has seen them.",
        labels=["kind"],
    )
    counts = dict(open_alerts().order_by().values_list("kind").annotate(Count("pk")))
    for kind in AlertKind.values:
        family.add_metric([kind], counts.get(kind, 0))
    return family


def _feeds() -> Iterator[Metric]:
    """Streams of each feed, as it reported within the last half minute."""
    streams = GaugeMetricFamily(
        "carillon_feed_streams", "Streams of the live inbox that are open.", labels=["feed"]
    )
    items_sent = CounterMetricFamily(
        "carillon_feed_items_sent", "Items sent to streams since the feed started.", labels=["feed"]
    )
    cut = CounterMetricFamily(
        "carillon_feed_streams_cut", "Streams closed because nobody read them.", labels=["feed"]
    )
    for feed in feeds():
        for family, value in ((streams, feed.streams), (items_sent, feed.sent), (cut, feed.cut)):
            family.add_metric([feed.name], value)
    return iter((streams, items_sent, cut))


def _workers() -> Iterator[Metric]:
    """Processes of each worker, as they reported within the last minute."""
    names = ["worker", "queue"]
    count = GaugeMetricFamily("carillon_worker_processes", "Processes of a worker.", labels=names)
    memory = GaugeMetricFamily(
        "carillon_worker_memory_bytes", "Memory that its processes use.", labels=names
    )
    cpu = GaugeMetricFamily("carillon_worker_cpu", "Processors that they keep busy.", labels=names)
    with suppress(redis.RedisError):  # the series are missing while Redis is; readyz says why
        for labels, theirs in _by_worker(processes()).items():
            count.add_metric(labels, len(theirs))
            memory.add_metric(labels, sum(process.memory for process in theirs))
            cpu.add_metric(labels, sum(process.cpu for process in theirs))
    return iter((count, memory, cpu))


def _by_worker(reports: list[Process]) -> dict[tuple[str, str], list[Process]]:
    labelled = sorted({process.worker for process in reports})[:MAX_WORKERS]
    by_labels = defaultdict(list)
    for process in reports:
        worker = process.worker if process.worker in labelled else "other"
        by_labels[worker, process.queue].append(process)
    return by_labels


def _by_state(name: str, text: str, rows: QuerySet[Any], states: list[str]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=["state"])
    counts = dict(rows.order_by().values_list("state").annotate(Count("pk")))
    for state in states:
        family.add_metric([state], counts.get(state, 0))
    return family


def queue_depths() -> dict[str, int]:
    """Tasks that wait in each queue.

    Kombu keeps one list per priority step, and a hash of tasks that workers hold unacknowledged.
    """
    broker = redis.Redis.from_url(settings.BROKER_URL, socket_timeout=2, socket_connect_timeout=2)
    depths = {}
    for queue in QUEUES:
        keys = [queue, *(f"{queue}\x06\x16{step}" for step in PRIORITY_STEPS if step)]
        depths[queue] = sum(int(broker.llen(key)) for key in keys)
    return {**depths, "unacknowledged": int(broker.hlen("unacked"))}


def _queues() -> Metric:
    family = GaugeMetricFamily(
        "carillon_queue_depth", "Tasks waiting in the broker.", labels=["queue"]
    )
    try:
        for queue, depth in queue_depths().items():
            family.add_metric([queue], depth)
    except redis.RedisError:
        pass  # the series is missing while Redis is; readyz says why
    return family
