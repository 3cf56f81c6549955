"""What every test may ask for: an FCM stand-in, a project that sends to it, real workers."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives import serialization
from django.conf import LazySettings, settings
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError
from django.test import TransactionTestCase
from django.utils import timezone, translation
from hypothesis import settings as hypothesis
from pytest_django import DjangoDbBlocker
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

from config.boot.outgoing import Places
from config.celery import app
from notifications import dispatch, task_queue
from notifications.keys import credentials
from notifications.keys.credentials import ServiceAccount
from notifications.pacing import share
from notifications.people.project import Project
from tests import lanes
from tests.given.builders import make_project
from tests.given.forgetting import empty_tables, flush
from tests.given.series import make_series
from tests.servers import databases
from tests.servers.fcm import Fcm
from tests.servers.feed import Feed
from tests.servers.receiver import Receiver, receiving
from tests.servers.workers import Workers, unheard

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from pytest_django.live_server_helper import LiveServer

    from campaigns.planning.campaign import Campaign

WITH_WORKERS = {"workers", "product"}
# A cold machine is slow once: how long an example takes says nothing about what it shows.
hypothesis.register_profile("carillon", deadline=None)
hypothesis.load_profile("carillon")


@pytest.fixture(scope="session", autouse=True)
def celery_reads_the_settings() -> None:
    """It does so once, when first asked: not while a test has bent them."""
    assert app.conf.broker_url


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> None:
    """Nearly every page has somebody logged in, and a good hash takes a third of a second."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session", autouse=True)
def keys_are_read_once() -> Iterator[None]:
    """Nearly every project has the emulator's key, and reading one takes 30 ms of CPU each time."""
    read_once = cache(serialization.load_pem_private_key)
    with pytest.MonkeyPatch.context() as everywhere:
        everywhere.setattr(credentials, "load_pem_private_key", read_once)
        everywhere.setattr(serialization, "load_pem_private_key", read_once)  # Google's library
        yield


@pytest.fixture(scope="session", autouse=True)
def a_test_is_no_transaction() -> Iterator[None]:
    """Most tests run inside one, so a lock that the product takes outside of its own would pass
    here and be a 500 there."""
    compile_it = SQLCompiler.as_sql

    def as_sql(compiler: SQLCompiler, *args: Any, **more: Any) -> Any:
        blocks = compiler.connection.atomic_blocks
        ours = any(not getattr(block, "_from_testcase", False) for block in blocks)
        if compiler.query.select_for_update and not ours:
            raise TransactionManagementError(
                "select_for_update outside of the product's transaction"
            )
        return compile_it(compiler, *args, **more)

    with pytest.MonkeyPatch.context() as everywhere:
        everywhere.setattr(SQLCompiler, "as_sql", as_sql)
        yield


@pytest.fixture(scope="session", autouse=True)
def static_files_are_found_once() -> Iterator[None]:
    """Each new client builds the middleware anew, and to look for some 300 files takes 40 ms."""
    find, found = WhiteNoiseMiddleware.add_files_from_finders, dict[str, StaticFile]()

    def from_memory(whitenoise: WhiteNoiseMiddleware) -> None:
        if not found:
            find(whitenoise)
            found.update(whitenoise.files)
        whitenoise.files.update(found)

    with pytest.MonkeyPatch.context() as everywhere:
        everywhere.setattr(WhiteNoiseMiddleware, "add_files_from_finders", from_memory)
        yield


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """A database of this process's own, in place of pytest-django's, which would migrate each."""
    with django_db_blocker.unblock():
        databases.create_migrated(lanes.DATABASE)
        databases.connect_to(lanes.DATABASE)
    yield
    with django_db_blocker.unblock():
        databases.drop(lanes.DATABASE)


@pytest.fixture(scope="session", autouse=True)
def what_is_empty_is_not_emptied() -> Iterator[None]:
    """After each test that commits."""
    with pytest.MonkeyPatch.context() as everywhere:
        everywhere.setattr(TransactionTestCase, "_fixture_teardown", empty_tables)
        yield


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fcm]:
    fcm = Fcm(tmp_path_factory.mktemp("emulator"))
    yield fcm
    fcm.stop()


@pytest.fixture
def fcm(emulator: Fcm, settings: LazySettings) -> Fcm:
    """The emulator without a past, and the settings pointing at it."""
    emulator.reset()
    for name, value in emulator.environment.items():
        setattr(settings, name, value)
    return emulator


@pytest.fixture
def receiver(
    settings: LazySettings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Receiver]:
    """Somebody else's server that the operator allowed: it is on loopback."""
    with receiving(tmp_path_factory.mktemp("receiver")) as one:
        settings.OUTGOING_CA_FILE = one.ca_file
        networks = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))
        settings.OUTGOING_ALLOWED = Places(frozenset(), networks)
        yield one


@pytest.fixture
def project(db: None, fcm: Fcm) -> Iterator[Project]:
    """A project that can send."""
    project = make_project()
    ServiceAccount.store(project, fcm.service_account)
    yield project
    dispatch.close()


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A Chromium that asks nobody but the test's own server, and remembers no other test."""
    from tests.servers import chromium  # a tenth of a process's start

    browser = chromium.opened(chromium.HEADLESS_SHELL)
    yield browser
    for context in browser.contexts:
        context.close()


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Page:
    """A page at a desk that can be judged: nothing fades while its colours are measured."""
    from tests.browser.accessibility import calm_page

    return calm_page(browser, live_server)


@pytest.fixture
def rows(project: Project) -> Mapping[str, int | str]:
    """One row of every kind, so that a page that may be seen is really drawn."""
    from tests.roles.every_page import make_rows  # with the addresses of all pages

    return make_rows(project)


@pytest.fixture
def first(db: None) -> datetime:
    """When the first run of a series is due."""
    return (timezone.now() + timedelta(hours=2)).replace(second=0, microsecond=0)


@pytest.fixture
def series(first: datetime) -> Campaign:
    """A campaign that is sent every day."""
    return make_series(first)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """One Chromium serves all tests with a browser that follow each other."""
    yield
    chromium = sys.modules.get("tests.servers.chromium")
    if chromium and "browser" not in getattr(nextitem, "fixturenames", ()):
        chromium.close()


@pytest.fixture
def feed(transactional_db: None) -> Iterator[Feed]:
    """The process that streams and takes receipts, beside the test's rows."""
    feed = Feed()
    yield feed
    feed.kill()


@pytest.fixture(autouse=True)
def english_again() -> Iterator[None]:
    """Whoever asked last in Korean leaves its language behind in this thread."""
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def empty_redis(settings: LazySettings) -> None:
    """Gates and caches of the last test are not this one's, nor what this process knows of them."""
    for url in (settings.GATE_URL, str(settings.CACHES["default"]["LOCATION"])):
        flush(url)
    share._shares.clear()


@pytest.fixture(autouse=True)
def only_who_asks_for_workers_rings_them(
    request: pytest.FixtureRequest, settings: LazySettings
) -> None:
    """They live as long as the session, on the database of every test in this process."""
    if not WITH_WORKERS & set(request.fixturenames):
        settings.BROKER_URL = unheard()
    if app.conf.broker_url != settings.BROKER_URL:
        app.conf["broker_url"] = settings.BROKER_URL
        for pools, kept in ((app, "_pool"), (app.amqp, "_producer_pool")):
            setattr(pools, kept, None)  # made for the address before


@pytest.fixture(autouse=True)
def nobody_is_waited_for_in_vain(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages that ask workers wait a second for each answer; here that is only for who runs any."""
    if not WITH_WORKERS & set(request.fixturenames):
        for name in ("config.pages.operations", "config.pages.downtime"):
            if module := sys.modules.get(name):  # to load the pages takes a tenth of a second
                monkeypatch.setattr(module, "ANSWER_WITHIN", 0.05)


@pytest.fixture
def enqueued(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ids of tasks that were enqueued, in place of a broker."""
    ids: list[int] = []

    def publish(task: object, arguments: dict[str, int], **options: object) -> None:
        ids.extend(arguments.values())

    monkeypatch.setattr(task_queue, "publish", publish)
    return ids


@pytest.fixture(scope="session")
def workers(emulator: Fcm, django_db_setup: None) -> Iterator[Workers]:
    """Real Celery workers on the test database, for tests that commit (`transaction=True`)."""
    workers = Workers(emulator)
    flush(workers.broker)
    workers.start("bulk")
    workers.start("control")
    workers.wait_until_ready()
    yield workers
    for name in tuple(workers.processes):
        workers.kill(name)  # politeness takes seconds, and their database goes with them


@pytest.fixture
def beat(transactional_db: None, workers: Workers) -> Iterator[Workers]:
    """The tick, for as long as one test lasts."""
    workers.start("beat")
    yield workers
    workers.kill("beat")  # it has nothing to finish
