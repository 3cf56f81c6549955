"""The door for the web server.

WSGI on purpose: every view is synchronous, and under ASGI Django would give each request a thread,
and so a database connection, of its own.
"""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

from config.celery import app

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()

# A person waits at this door, and what was launched is a row already: a Redis that hangs may hold
# up a page for this long. Workers are more patient, for an answer late is better than none.
app.conf.broker_transport_options |= {"socket_timeout": 1, "socket_connect_timeout": 1}
app.conf.task_publish_retry_policy = {"max_retries": 1, "interval_start": 0}
