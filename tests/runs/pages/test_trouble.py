"""Where there is no page to show: what happened in words, and a way back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client, RequestFactory
from django.urls import reverse
from django.views.defaults import server_error
from pytest_django import DjangoAssertNumQueries

from config.middleware.idle import NOTED_EVERY, SEEN
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_people, make_run

pytestmark = pytest.mark.django_db


def test_an_address_without_a_page_says_so(desk: Desk) -> None:
    reply = desk.client.get("/admin/nowhere/")
    assert reply.status_code == 404
    assert "it may have been mistyped" in text_of(reply) and b'href="/admin/"' in reply.content


def test_a_form_from_before_the_log_in_asks_to_load_the_page_again() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("ada"))
    reply = client.post(reverse("admin:campaigns_audience_add"), {"name": "VIPs"})
    assert reply.status_code == 403
    assert "Nothing was changed" in text_of(reply) and "load the page again" in text_of(reply)


def test_an_error_of_ours_says_that_sending_goes_on(
    rf: RequestFactory, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        reply = server_error(rf.get("/admin/"))
    assert reply.status_code == 500
    assert "Sending continues" in text_of(reply)


def test_a_database_that_takes_no_writes_is_no_error_of_the_page(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    run = make_run(project)
    desk.open("campaigns_run_changelist")
    with no_writes(desk):
        reply = desk.confirm("campaigns_run_pause", run.pk)
    assert (reply.status_code, reply.headers["Retry-After"]) == (503, "5")
    assert "what cannot be recorded is not sent" in text_of(reply)


def test_a_session_that_cannot_be_kept_is_no_error_of_the_page(desk: Desk) -> None:
    """Django says then that somebody has logged out meanwhile."""
    session = desk.client.session
    session[SEEN] -= NOTED_EVERY  # so that the next request saves the session
    session.save()
    with no_writes(desk):
        reply = desk.client.get(reverse("admin:campaigns_run_changelist"))
    assert reply.status_code == 503
    assert "what cannot be recorded is not sent" in text_of(reply)


@contextmanager
def no_writes(desk: Desk) -> Iterator[None]:
    desk.client.raise_request_exception = False
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL transaction_read_only = on")
        yield
        transaction.set_rollback(True)
