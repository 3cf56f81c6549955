"""The product as a WSGI application. `config/asgi.py` puts the front before it.

WSGI on purpose: every view is synchronous. Under ASGI Django would give each request its own
thread, and so its own database connection. A server that speaks WSGI takes a thread before the body
has arrived. Then 16 callers who stop sending would block it, so the front reads bodies first.
"""

from __future__ import annotations

import gc
import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.celery import app
from config.startup import FOR_ALL, refuse_to_start_in_trouble

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()

refuse_to_start_in_trouble(FOR_ALL)  # only processes that send need the others

# A person waits for a page, and a launch is already a row: a Redis that hangs may hold up a page
# for this long. Workers wait longer, because a late answer is better than none.
app.conf.broker_transport_options |= {"socket_timeout": 1, "socket_connect_timeout": 1}
app.conf.task_publish_retry_policy = {"max_retries": 1, "interval_start": 0}

# Load views and forms now, not at the first request. They never become garbage, and scanning them
# again and again cost a page a seventh of its time.
import_module(settings.ROOT_URLCONF)
gc.collect()
gc.freeze()
