"""A single chunk of a run, shown after a click on its cell or by its number."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from campaigns.results import chunk_grid
from campaigns.runs.pages.deliveries import number
from campaigns.runs.run import Run


def chunk_view(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_object_or_404(Run.objects.select_related("project"), pk=run_id)
    chunk_number = number(request.GET.get("chunk", "")) or 0
    context = {**chunk_grid.one(run, chunk_number, timezone.now()), "flower": settings.FLOWER_URL}
    return render(request, "admin/campaigns/run/chunk.html", context)
