"""Celery's workers: their settings, their broker, and how they take tasks."""
