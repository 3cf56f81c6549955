"""A log-in that may do everything."""

from tests.variants.conftest import desk

__all__ = ["desk"]
