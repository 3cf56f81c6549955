"""Filling a list: who is put on it is chosen once."""

from __future__ import annotations

import pytest
from django.db import connection

from campaigns.audiences.audience import Audience
from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.lists import filling
from notifications.people.project import Project
from tests.given.builders import make_contact, make_project
from tests.given.runs import on_list

pytestmark = pytest.mark.django_db


def test_people_are_chosen_once_whatever_postgresql_expects_of_a_new_project(
    project: Project,
) -> None:
    """It knows nothing of the project's people yet, expects one, and joins row by row."""
    for name in ("a", "b", "c", "d"):
        make_contact(project, external_id=name)
    make_contact(make_project(), external_id="of another project")
    audience = Audience.objects.create(project=project, name="All", kind=Audience.Kind.LIST)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY SEQUENCE looks")
        for join in ("hashjoin", "mergejoin", "material"):
            cursor.execute(f"SET LOCAL enable_{join} = off")
    people = "SELECT c.id FROM notifications_contact c WHERE nextval('looks') > 0"

    added = filling.add(audience, Sql(people))

    assert (added, on_list(audience)) == (4, {"a", "b", "c", "d"})
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM looks")
        assert cursor.fetchone() == (5,)
