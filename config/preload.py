"""Imports all that the product's processes run, for one that forks them.

The checks that each of them begins with are made here too: what Python and its libraries note of
code that has run once is then shared. Their connections are closed again.
"""

from __future__ import annotations

from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.celery import app
from config.startup import refuse_to_start_in_trouble

MODULES = (
    *("celery.apps.beat", "celery.apps.worker", "celery.bin.celery", "celery.concurrency.prefork"),
    *("config.express.express", "config.front.front", "config.front.serving"),
    *("config.feed.doorbell", "config.feed.links", "config.feed.receipts", "config.feed.rounds"),
)

get_wsgi_application()  # the applications and what stands before each view
for module in (settings.ROOT_URLCONF, *MODULES):
    import_module(module)
app.loader.import_default_modules()
app.finalize()
refuse_to_start_in_trouble()
