"""The fixtures of tests of pages."""

from __future__ import annotations

from tests.admin.fixtures import bob, desk, museum, project

__all__ = ["bob", "desk", "museum", "project"]
