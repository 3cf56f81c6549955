"""Imports every module that the product's processes run, in the process that forks them.

It also runs the start-up checks of those processes. What Python and its libraries store about code
that has run once is then shared memory. Connections that the checks opened are closed again.
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

get_wsgi_application()  # loads the applications and the middleware
for module in (settings.ROOT_URLCONF, *MODULES):
    import_module(module)
app.loader.import_default_modules()
app.finalize()
refuse_to_start_in_trouble()
