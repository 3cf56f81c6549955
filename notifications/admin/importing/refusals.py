"""Refused rows of an import as a streamed CSV file, to be corrected and imported again."""

from __future__ import annotations

from django.http import HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from notifications.admin.ui.current_project import filter_by_project
from notifications.people.importing import refused
from notifications.people.importing.model import Import


def csv_view(request: HttpRequest, import_id: int) -> StreamingHttpResponse:
    file_import = get_object_or_404(filter_by_project(request, Import.objects.all()), pk=import_id)
    return StreamingHttpResponse(
        refused.lines(file_import) if "head" in file_import.sniffed else (),
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="import-{file_import.pk}-refused.csv"'
        },
    )
