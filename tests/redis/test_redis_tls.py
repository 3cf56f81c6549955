"""Redis behind TLS: every client of ours speaks it, and none believes whoever answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest
import redis
from celery import Celery

from campaigns.runs.run import Run
from config.boot.redis_address import redis_address
from emulator.folder import Folder
from emulator.speakers.certificates import prepare, server_context
from notifications.people.project import Project
from tests.chaos.door import Door
from tests.given.builders import make_campaign, make_people
from tests.given.forgetting import flush
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.tls_relay import TlsRelay
from tests.servers.workers import Workers, redis_apart


class Secured:
    """The tests' Valkey behind TLS: its address, and who vouches for it."""

    def __init__(self, folder: Folder, *, host: str = "127.0.0.1") -> None:
        url = urlsplit(redis_apart())
        assert url.port is not None
        self.relay = TlsRelay(url.port, server_context(folder), host=host)
        there = f"{url.netloc.rpartition('@')[0]}@{host}:{self.relay.port}"
        self.url = url._replace(scheme="rediss", netloc=there).geturl()
        self.ca_file = str(folder.authority)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """With a certificate for 127.0.0.1, signed by an authority of its own."""
    folder = Folder(tmp_path_factory.mktemp("redis-tls"))
    prepare(folder, now=datetime.now(UTC))
    return folder


@pytest.fixture(scope="module")
def secured(folder: Folder) -> Iterator[Secured]:
    secured = Secured(folder)
    yield secured
    secured.relay.stop()


@pytest.fixture(scope="module")
def elsewhere(folder: Folder) -> Iterator[Secured]:
    """The same certificate, shown by an address that it does not name."""
    elsewhere = Secured(folder, host="127.0.0.2")
    yield elsewhere
    elsewhere.relay.stop()


# --- Each client ---------------------------------------------------------------------------------


def redis_py(url: str) -> None:
    redis.Redis.from_url(url).ping()


def broker(url: str) -> None:
    with Celery(broker=url, set_as_current=False).connection_for_write() as connection:
        connection.default_channel.client.ping()  # type: ignore[attr-defined]


def results(url: str) -> None:
    Celery(backend=url, set_as_current=False).backend.client.ping()  # type: ignore[attr-defined]


clients = pytest.mark.parametrize("ask", [redis_py, broker, results])


@clients
def test_a_certificate_of_our_own_authority_is_taken(
    ask: Callable[[str], None], secured: Secured
) -> None:
    ask(redis_address(secured.url, ca_file=secured.ca_file))
    ask(redis_address(f"{secured.url}?ssl_ca_certs={secured.ca_file}"))
    ask(redis_address(f"{secured.url}?ssl_cert_reqs=CERT_NONE"))


@clients
def test_a_certificate_that_nobody_known_signed_is_refused(
    ask: Callable[[str], None], secured: Secured
) -> None:
    with pytest.raises(Exception, match="certificate verify failed: unable to get local issuer"):
        ask(redis_address(secured.url))


@clients
def test_a_certificate_for_another_host_is_refused(
    ask: Callable[[str], None], elsewhere: Secured
) -> None:
    with pytest.raises(Exception, match="IP address mismatch"):
        ask(redis_address(elsewhere.url, ca_file=elsewhere.ca_file))


@pytest.mark.parametrize(
    ("url", "ca_file", "complaint"),
    [
        ("http://there/0", "", "must begin with redis://, or rediss:// for TLS"),
        ("redis://there/zero", "", "must end in a database number"),
        ("redis://there/0", "ca.pem", "without TLS: write rediss://"),
        ("rediss://there/0", "/nowhere/ca.pem", "no certificates in /nowhere/ca.pem: No such file"),
        ("rediss://there/0", __file__, "no certificates in "),
        ("rediss://there/0?ssl_cert_reqs=maybe", "", "must be one of required, optional, none"),
    ],
)
def test_an_address_that_cannot_work_is_named_with_its_fix(
    url: str, ca_file: str, complaint: str
) -> None:
    with pytest.raises(ValueError, match=r"REDIS_(CA_FILE|URL)") as refused:
        redis_address(url, ca_file=ca_file)
    assert complaint in str(refused.value)


# --- The whole product ---------------------------------------------------------------------------


def gates_apart() -> str:
    return redis_address(redis_apart(), database=2)


@pytest.fixture
def product(fcm: Fcm) -> Iterator[Callable[..., Workers]]:
    started: list[Workers] = []
    for url in (redis_apart(), gates_apart()):
        flush(url)

    def start(**different: str) -> Workers:
        started.append(Workers(fcm, different))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.mark.django_db(transaction=True)
def test_a_launch_over_tls_is_rung_and_runs_to_its_end(
    secured: Secured, product: Callable[..., Workers], project: Project, fcm: Fcm
) -> None:
    ours = product(REDIS_URL=secured.url, REDIS_CA_FILE=secured.ca_file)
    make_people(project, 100)
    for name in ("bulk", "control"):
        ours.start(name)
    door = Door(ours.start_web(), project)
    ours.wait_until_ready()

    answer = door.launch(make_campaign(project))

    assert answer.status == 202, answer.body
    eventually("the run ends", Run.objects.filter(state="finished").exists)
    assert len(fcm.witness()) == 100
    wave = Run.objects.get().waves.get()
    assert wave.called_back_at is not None, "results went over TLS too"
    assert redis.Redis.from_url(gates_apart()).keys("gate:*"), "and so did the pace"
    assert '"redis": "ok"' in door.page("/readyz").body
    assert "bulk@" in door.page("/admin/operations/workers/").body


@pytest.mark.django_db(transaction=True)
def test_a_redis_that_nobody_vouches_for_keeps_no_launch_from_being_recorded(
    secured: Secured, product: Callable[..., Workers], project: Project
) -> None:
    ours = product(REDIS_URL=secured.url, REDIS_CA_FILE="")
    door = Door(ours.start_web(), project)

    answer = door.launch(make_campaign(project))

    assert answer.status == 202, answer.body
    assert Run.objects.get().state == Run.State.PREPARING
    assert "could not be enqueued, the sweep will" in ours.log("web")
    ready = door.page("/readyz")
    assert (ready.status, '"redis": "no answer"' in ready.body) == (503, True)
    assert "certificate verify failed" in ours.log("web")
