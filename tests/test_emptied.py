"""What a test has committed is gone before the next one, also from under a slow request."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.db import connection, transaction

from notifications.people.project import Project
from tests.given.builders import make_project
from tests.given.forgetting import empty_tables


@pytest.mark.django_db(transaction=True)
def test_rows_are_gone_though_a_page_that_was_closed_still_reads_them() -> None:
    make_project()
    reading = Event()

    def read_slowly() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            assert Project.objects.count() == 1
            reading.set()
            cursor.execute("SELECT pg_sleep(0.3)")
        connection.close()

    with ThreadPoolExecutor(1) as elsewhere, connection.cursor() as cursor:
        reader = elsewhere.submit(read_slowly)
        assert reading.wait(10)
        cursor.execute("SET lock_timeout = 50")
        try:
            empty_tables()
        finally:
            cursor.execute("RESET lock_timeout")
        reader.result()

    assert not Project.objects.exists()
