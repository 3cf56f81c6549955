"""One row at one address: shown with its tag, and changed under its lock by who saw it as it is."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import orjson
from rest_framework.serializers import Serializer

from notifications.api import tags
from notifications.api.rendering import as_json
from notifications.api.view import ApiView
from notifications.project import OfProject

Row = TypeVar("Row", bound=OfProject)


class RowView(ApiView, Generic[Row]):
    tagged = True
    model: type[Row]
    serializer: type[Serializer[Any]]

    def shown(self, row: Row) -> Any:
        return self.serializer(row).data

    def held(self, pk: int) -> Row:
        """The row, locked until the transaction ends. Raises Problem unless it is what If-Match
        expects."""
        row = self.find(self.model, pk, locked=True)
        tags.refuse_stale(self.request, self.shown(row))
        return row

    def changed(self, row: Row, body: Any) -> dict[str, Any]:
        """The body of a PATCH laid over what is there, and judged as the body of a PUT is."""
        if isinstance(body, dict):
            body = {**orjson.loads(as_json(self.shown(row))), **body}
        return self.given(self.serializer, body)
