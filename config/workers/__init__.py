"""Settings of Celery's workers, their broker, and how they take tasks."""
