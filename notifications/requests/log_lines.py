"""Log lines: formatters that write text for people, or a JSON object per line (LOG_FORMAT=json).

Neither quotes a row. PostgreSQL's errors contain the values of a refused row, and people who read
the log may not be allowed to read addresses.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from notifications.requests import request_id
from notifications.requests.log_context import current_context
from notifications.tracing import tracing

QUOTES = re.compile(r"^(DETAIL|CONTEXT): .*(\n(?!\S+: |Traceback|  File).*)*", re.MULTILINE)
NAMED = re.compile(r"\b(run|chunk|wave)=(\d+)\b")  # as in our own log lines


class Text(logging.Formatter):
    """Formats a line as text. It ends with the id of its request; a traceback follows."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's own name
        line, name = _remove_quotes(super().formatMessage(record)), _request_of(record)
        return f"{line} request={name}" if name else line

    def formatException(self, ei: Any) -> str:  # noqa: N802  # the same
        return _remove_quotes(super().formatException(ei))


class Json(logging.Formatter):
    """Formats a line as one JSON object. Unknown values are left out."""

    def format(self, record: logging.LogRecord) -> str:
        message = _remove_quotes(record.getMessage())
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": message,
            "request_id": _request_of(record),
            **tracing.ids(_meta_of(record).get(tracing.IN_META, "")),
            **_of_celery(record),
            **current_context(),
            **{name: int(number) for name, number in NAMED.findall(message)},
        }
        if record.exc_info:
            line["exception"] = _remove_quotes(self.formatException(record.exc_info))
        return json.dumps({name: value for name, value in line.items() if value not in ("", None)})


FORMATS: Mapping[str, str] = {
    name: f"{__name__}.{kind.__name__}" for name, kind in (("text", Text), ("json", Json))
}


def _remove_quotes(text: str) -> str:
    return QUOTES.sub(r"\1: (left out: it quotes a row)", text)


def _request_of(record: logging.LogRecord) -> str:
    return request_id.current() or str(_meta_of(record).get(request_id.IN_META, ""))


def _meta_of(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return the META of a record's request. Django logs a refusal after all middlewares, and adds
    the request to the record."""
    found: Mapping[str, Any] = getattr(getattr(record, "request", None), "META", {})
    return found


def _of_celery(record: logging.LogRecord) -> dict[str, Any]:
    """Return the task that Celery's main process logs about. It does not run the task itself."""
    data = getattr(record, "data", None)
    if not isinstance(data, Mapping):
        return {}
    return {"task": data.get("name"), "task_id": data.get("id")}
