"""How Celery's workers behave: their settings, their broker, and how they take a message."""
