"""An index that is built beside the work and killed half-way is built by the next migrate."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models
from django.db.migrations.state import ProjectState

from notifications.staff import audit

migration = import_module("notifications.migrations.0014_audit_found_by_subject").Migration
INDEXES = """
SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE relname IN ('audit_of_a_row', 'audit_of_a_text') ORDER BY relname
"""
HALF_BUILT = """
CREATE UNIQUE INDEX CONCURRENTLY audit_of_a_row ON notifications_auditentry (actor)
"""


def indexes() -> list[tuple[str, bool]]:
    with connection.cursor() as cursor:
        cursor.execute(INDEXES)
        return list(cursor.fetchall())


def without_the_indexes() -> ProjectState:
    state = ProjectState.from_apps(apps)
    entry: Any = state.models["notifications", "auditentry"]
    entry.options = {**entry.options, "indexes": list[models.Index]()}
    return state


@pytest.mark.django_db(transaction=True)
def test_an_index_that_was_left_half_built_does_not_stop_the_next_migrate() -> None:
    for _twice in range(2):
        audit.record("user:ada", "swept", "all runs", project=None)
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX audit_of_a_row, audit_of_a_text")
        with pytest.raises(IntegrityError):  # ends it half-way, as a kill does
            cursor.execute(HALF_BUILT)
    assert indexes() == [("audit_of_a_row", False)]
    half_built = migration("0014_audit_found_by_subject", "notifications")
    with connection.schema_editor(atomic=False) as editor:
        half_built.apply(without_the_indexes(), editor)
    assert indexes() == [("audit_of_a_row", True), ("audit_of_a_text", True)]
