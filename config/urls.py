"""Every address of the product."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from config import health

urlpatterns = [
    path("admin/", admin.site.urls),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", health.metrics),
]
