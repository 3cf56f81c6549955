"""Where there is no page to show: what happened in words, and a way back."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.urls import reverse
from django.views.defaults import server_error
from pytest_django import DjangoAssertNumQueries

from tests.admin.desk import Desk, text_of

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
    assert "What is being sent goes on" in text_of(reply)
