"""Somebody with a second factor, while the web servers of two releases stand beside each other."""

from __future__ import annotations

import http.cookiejar
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django_otp.plugins.otp_totp.models import TOTPDevice

from notifications.staff import second_factor
from notifications.staff.team import Role
from tests.given.factor import code_of
from tests.roles.people import somebody
from tests.security.at_the_door import PASSWORD, browser, is_let_in
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers, database_of_the_tests
from tests.upgrade import previous_release

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(bool(previous_release.missing()), reason=previous_release.missing()),
]
PLAIN = "00112233445566778899aabbccddeeff00112233"
CODE = "/admin/auth/user/me/code/"


class Person:
    """With a browser, at a web server."""

    def __init__(self, url: str) -> None:
        self.url, self.jar = url, http.cookiejar.CookieJar()
        keeps = urllib.request.HTTPCookieProcessor(self.jar)
        self.browser = urllib.request.build_opener(keeps)

    def post(self, path: str, **fields: str) -> tuple[str, str]:
        """Where one ends up, and what stands there."""
        self.browser.open(self.url + path).read()
        token = next(cookie.value for cookie in self.jar if cookie.name == "csrftoken") or ""
        form = urllib.parse.urlencode({**fields, "csrfmiddlewaretoken": token}).encode()
        request = urllib.request.Request(self.url + path, form, {"Referer": self.url + path})
        with self.browser.open(request) as reply:
            return urllib.parse.urlsplit(reply.url).path, reply.read().decode()


@pytest.fixture
def theirs(
    fcm: Fcm, tmp_path_factory: pytest.TempPathFactory, transactional_db: None
) -> Iterator[str]:
    """The address of the release before."""
    before = previous_release.unpack(tmp_path_factory.mktemp("previous-release"))
    previous_release.make_its_own_tables(before, database_of_the_tests())
    workers = Workers(fcm, checkout=before)
    yield workers.start_web()
    workers.stop()


@pytest.fixture
def grace(transactional_db: None, settings: LazySettings) -> User:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]  # as theirs
    return somebody(Role.OWNER, "grace")


@pytest.fixture
def codes(grace: User) -> list[str]:
    """As the release before made them, and her secret."""
    TOTPDevice.objects.create(user=grace, name="app", confirmed=True, key=PLAIN)
    return second_factor.renew_codes(grace)


def test_the_release_before_lets_in_by_codes_until_the_secret_is_sealed_then_by_recovery_codes(
    theirs: str, grace: User, codes: list[str]
) -> None:
    person = Person(theirs)
    log_in = {"username": "grace", "password": PASSWORD}
    assert person.post("/admin/login/", **log_in)[0] == CODE
    assert person.post(CODE, code=code_of(grace))[0] == "/admin/"

    here = browser()
    assert is_let_in(here, "grace")
    assert here.post(CODE, {"code": code_of(grace, later=1)}).status_code == 302
    assert TOTPDevice.objects.get().key != PLAIN, "sealed by its use here"

    other = Person(theirs)
    other.post("/admin/login/", **log_in)
    where, said = other.post(CODE, code=code_of(grace, later=2))
    assert where == CODE and "The code is not right" in said
    assert other.post(CODE, code=codes[0])[0] == "/admin/"


def test_a_session_of_the_release_before_goes_on_here(theirs: str, grace: User) -> None:
    person = Person(theirs)
    person.post("/admin/login/", username="grace", password=PASSWORD)
    session = next(cookie.value for cookie in person.jar if cookie.name == "sessionid")
    here = browser()
    here.cookies["sessionid"] = session or ""
    assert here.get("/admin/").status_code == 200
