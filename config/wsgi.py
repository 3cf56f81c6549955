"""The product as a WSGI application; `config/asgi.py` has it behind the front.

WSGI on purpose: every view is synchronous, and under ASGI Django would give each request a thread,
and so a database connection, of its own. A server that speaks WSGI takes a thread before the body
is there, so that 16 callers who fall silent would be all it serves: hence the front.
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

refuse_to_start_in_trouble(FOR_ALL)  # eviction and the clock are for those who send

# A person waits at this door, and what was launched is a row already: a Redis that hangs may hold
# up a page for this long. Workers are more patient, for an answer late is better than none.
app.conf.broker_transport_options |= {"socket_timeout": 1, "socket_connect_timeout": 1}
app.conf.task_publish_retry_policy = {"max_retries": 1, "interval_start": 0}

# Views and forms are read now, not at the first request. None of them ever becomes garbage, and
# looking through them again and again cost a page a seventh of its time.
import_module(settings.ROOT_URLCONF)
gc.collect()
gc.freeze()
