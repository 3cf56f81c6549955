"""Migration operations that Django lacks: many tables at once, partitioned tables, and SQL files.

The `.sql` files are in the folder of the code that owns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import CreateModel, RunSQL
from django.db.migrations.operations.base import Operation, OperationCategory
from django.db.migrations.state import ProjectState

ROOT = Path(__file__).resolve().parents[2]


class CreateTables(Operation):
    """Creates all tables of an app in one step.

    After each `CreateModel`, Django renders every related model again, so 87 of them take 6 s. Here
    they are rendered once. Tables may refer to each other in any order.
    """

    category = OperationCategory.ADDITION

    def __init__(self, tables: Sequence[CreateModel]) -> None:
        self.tables = tables

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.__dict__.pop("apps", None)  # a cached property: the next access renders it
        for table in self.tables:
            table.state_forwards(app_label, state)

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: ProjectState
    ) -> None:
        for table in self.tables:
            table.database_forwards(app_label, schema_editor, *states)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: ProjectState
    ) -> None:
        for table in reversed(self.tables):
            table.database_backwards(app_label, schema_editor, *states)

    def describe(self) -> str:
        return f"Create {len(self.tables)} tables"


class CreatePartitionedModel(CreateModel):
    """Creates a partitioned table. The code that owns it adds one partition for each run."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: Any
    ) -> None:
        plain = schema_editor.sql_create_table
        schema_editor.sql_create_table = f"{plain} PARTITION BY LIST (run_id)"
        try:
            super().database_forwards(app_label, schema_editor, *states)
        finally:
            schema_editor.sql_create_table = plain


def run_file(path: str) -> RunSQL:
    """Return an operation that runs an SQL file. The path is relative to the project's root.

    Such a file can run again (`CREATE OR REPLACE`): a later migration that changes a function runs
    its file once more.
    """
    return RunSQL((ROOT / path).read_text(), RunSQL.noop)
