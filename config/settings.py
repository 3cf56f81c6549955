"""All settings, in boot order; each can be set from the environment (docs/operating.md)."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config.boot.database_address import database_settings
from config.boot.encodings import look_up_known_names_only
from config.boot.environment import (
    KEYS,
    env_address,
    env_bool,
    env_choice,
    env_int,
    env_list,
    env_secret,
    env_text,
    insist_on,
    keys,
    load_running_stack,
)
from config.boot.guards import refuse_failpoint, refuse_stand_ins, require_strong_keys
from config.boot.images import image_storage, images_address
from config.boot.outgoing import env_email, env_places
from config.boot.proxy import env_no_proxy, env_proxy
from config.boot.public_address import public_address
from config.boot.redis_address import redis_databases
from config.cache import in_redis

# Tasks find their Celery application through this import, in web processes and in workers.
from config.celery import app as celery_app  # noqa: F401
from config.pages.unfold_settings import UNFOLD as UNFOLD
from notifications.requests.log_lines import FORMATS

look_up_known_names_only()
BASE_DIR = Path(__file__).resolve().parent.parent
load_running_stack(BASE_DIR / "var" / "env")
# Beat and the metrics process neither sign nor decrypt anything.
WITHOUT_KEYS = env_bool("CARILLON_WITHOUT_KEYS", False)
insist_on("DATABASE_URL", "REDIS_URL", *(() if WITHOUT_KEYS else KEYS))

# --- Where we run -------------------------------------------------------------------------------
ENVIRONMENT = env_choice(
    "CARILLON_ENV", "development", ("development", "demo", "test", "staging", "production")
)
PRODUCTION = ENVIRONMENT == "production"
# Staging behaves as production does, but its messages may go to a stand-in for FCM.
SERVED = PRODUCTION or ENVIRONMENT == "staging"
DEBUG = env_bool("DEBUG", False)
SECRET_KEY, CREDENTIALS_KEY = keys(withheld=WITHOUT_KEYS)
if SERVED:
    require_strong_keys(secret_key=SECRET_KEY, credentials_key=CREDENTIALS_KEY, debug=DEBUG)
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS", "")
# For Prometheus: a port that only your own network reaches, or a token for the public port.
METRICS_PORT = env_int("METRICS_PORT", 0)
METRICS_TOKEN = env_secret("METRICS_TOKEN", "")
METRICS_DIR = env_text("METRICS_DIR", "")  # where processes store what they measure
OTEL_EXPORTER_OTLP_ENDPOINT = env_address("OTEL_EXPORTER_OTLP_ENDPOINT")  # of a collector
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

INSTALLED_APPS = [
    "unfold",
    # config/urls.py finds the admin's pages. Workers show none, so they do not load them.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_htmx",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "notifications",
    "campaigns",
    "django.contrib.auth",  # after our apps: our createsuperuser is found first
]
MIDDLEWARE = [
    "notifications.requests.request_id.RequestId",
    *(["config.middleware.tracing.Traced"] if OTEL_EXPORTER_OTLP_ENDPOINT else []),
    "django.middleware.security.SecurityMiddleware",
    "config.middleware.security.SecurityHeaders",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.health.probes.Probes",
    "notifications.images.serving.Images",
    "notifications.requests.origin.Origin",
    "config.middleware.rate_limits.Programs",
    "config.middleware.cross_origin.CrossOrigin",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.middleware.language.Language",
    "config.middleware.nul_characters.StripNulCharacters",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.middleware.idle.Idle",
    "config.middleware.rate_limits.Visitors",
    "django_otp.middleware.OTPMiddleware",
    "config.entry.Doorkeeper",
    "config.middleware.projects.ProjectGuard",
    "config.middleware.lockout.Guard",
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        # Ahead of the apps' own folders: Unfold's index page is ours only when found first.
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            # Breadcrumbs need the pages of all apps, so `config` has them.
            "libraries": {"crumbs": "config.pages.breadcrumbs"},
        },
    }
]

# --- PostgreSQL: the truth -----------------------------------------------------------------------
try:
    DATABASES = {"default": database_settings(env_secret("DATABASE_URL"))}
except ValueError as error:
    raise ImproperlyConfigured(str(error)) from error
DATABASES["default"] |= {
    "ENGINE": "config.postgresql",
    "CONN_MAX_AGE": 600,
    "CONN_HEALTH_CHECKS": True,
    # Behind PgBouncer the next fetch may reach another session. We read in pages anyway.
    "DISABLE_SERVER_SIDE_CURSORS": True,
}
DATABASES["default"]["OPTIONS"].update(
    # If a row lock is not granted in 2 s, another process is in trouble: fail, and let the caller
    # try again. A client that vanishes in the middle of a write holds its rows until the server
    # notices. These values keep that short; the defaults take 2 h.
    options="-c lock_timeout=2000 -c idle_in_transaction_session_timeout=30000"
    " -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=3 -c tcp_keepalives_count=3"
    " -c tcp_user_timeout=15000",
    connect_timeout=5,
    # The same on our side, for a server that vanished.
    keepalives_idle=5,
    keepalives_interval=3,
    keepalives_count=3,
    tcp_user_timeout=15_000,
)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Redis: the doorbell -------------------------------------------------------------------------
REDIS_URL = env_secret("REDIS_URL")
REDIS_CA_FILE = env_text("REDIS_CA_FILE", "")
try:  # one server, one database per use: purging the broker must not empty the gate
    REDIS_DATABASES = redis_databases(REDIS_URL, ca_file=REDIS_CA_FILE)
except ValueError as error:
    raise ImproperlyConfigured(str(error)) from error
BROKER_URL, RESULTS_URL = REDIS_DATABASES["broker"], REDIS_DATABASES["results"]
GATE_URL = REDIS_DATABASES["gate"]
CACHES = {"default": in_redis(REDIS_DATABASES["cache"])}

# --- Sending -------------------------------------------------------------------------------------
WORKERS = env_int("WORKERS", 2 * (os.cpu_count() or 2), least=1)  # each waits half of its time
CONNECTIONS = env_int("CONNECTIONS", 250, least=1)
TRANSPORT = env_choice("TRANSPORT", "", ("", "wire", "aiohttp"))  # empty: depends on the proxy
HTTPS_PROXY, NO_PROXY = env_proxy("HTTPS_PROXY"), env_no_proxy("NO_PROXY")  # to Google
# A worker that is silent for this long loses its chunk to another. Short in development, where a
# false alarm harms nobody. Long where SERVED: a slow machine must not cause a second copy.
LEASE_SECONDS = env_int("LEASE_SECONDS", 30 if SERVED else 8, least=6)
FAILPOINT: str = os.environ.get("CARILLON_FAILPOINT", "")
if ENVIRONMENT != "test":
    refuse_failpoint(FAILPOINT)
GOOGLE_FCM_ENDPOINT = "https://fcm.googleapis.com"
GOOGLE_FCM_DATA_ENDPOINT = "https://fcmdata.googleapis.com"
GOOGLE_TOKEN_URI = "https://oauth2.googleapis.com/token"
FCM_ENDPOINT = env_text("FCM_ENDPOINT", GOOGLE_FCM_ENDPOINT).rstrip("/")
FCM_TOKEN_URI = env_text("FCM_TOKEN_URI", GOOGLE_TOKEN_URI)
FCM_CA_FILE = os.environ.get("FCM_CA_FILE") or None
if PRODUCTION:
    refuse_stand_ins(
        FCM_ENDPOINT=FCM_ENDPOINT != GOOGLE_FCM_ENDPOINT,
        FCM_TOKEN_URI=FCM_TOKEN_URI != GOOGLE_TOKEN_URI,
        FCM_CA_FILE=FCM_CA_FILE is not None,
    )
FLOWER_PORT = env_int("FLOWER_PORT", 5555, least=1)
FLOWER_URL = env_text("FLOWER_URL", f"http://127.0.0.1:{FLOWER_PORT}")

# --- People and pages ----------------------------------------------------------------------------
AUTHENTICATION_BACKENDS = ["config.entry.RoleBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 12}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
OTP_TOTP_ISSUER = "Carillon"
# The number of our own proxies in front: so many entries of X-Forwarded-For can be trusted.
PROXIES = env_int("PROXIES", 0)
LOGIN_URL = "admin:login"
# Unfold's log-in page has no hidden `next`: without this a log-in ends on a missing page.
LOGIN_REDIRECT_URL = "admin:index"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ko", "한국어")]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SECURE = SERVED
TIME_ZONE = "UTC"
USE_TZ = True
USE_THOUSAND_SEPARATOR = True
STATIC_URL = "static/"
# Only `collectstatic` (in the image) fills this folder; else WhiteNoise serves the apps' files.
STATIC_ROOT = os.environ.get("STATIC_ROOT") or (BASE_DIR / "var" / "static" if SERVED else None)
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = not SERVED
WHITENOISE_ALLOW_ALL_ORIGINS = False
STATIC_FILES = (
    "whitenoise.storage.CompressedManifestStaticFilesStorage"
    if SERVED
    else "django.contrib.staticfiles.storage.StaticFilesStorage"
)
# Uploaded images: on a disk that all web processes share, or in any storage that Django supports.
IMAGES_DIR = env_text("IMAGES_DIR", str(BASE_DIR / "var" / "images"))
IMAGES_STORAGE = env_text("IMAGES_STORAGE", "")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": STATIC_FILES},
    "images": image_storage(
        IMAGES_STORAGE, env_secret("IMAGES_STORAGE_OPTIONS", ""), folder=IMAGES_DIR
    ),
}

# --- The API -------------------------------------------------------------------------------------
# Requests per second that pass, for all web processes together; 0: no limit.
API_RATE_PER_KEY = env_int("API_RATE_PER_KEY", 1_000)
API_RATE_PER_ADDRESS = env_int("API_RATE_PER_ADDRESS", 1_000)
API_RATE_PER_PERSON = env_int("API_RATE_PER_PERSON", 5)  # with inbox tokens
PAGE_RATE_PER_ADDRESS = env_int("PAGE_RATE_PER_ADDRESS", 50)  # without a log-in
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "notifications.api.base.authentication.ApiKeyAuthentication"
    ],
    "DEFAULT_PERMISSION_CLASSES": ["config.entry.ApiDoor"],
    "DEFAULT_THROTTLE_CLASSES": ["config.middleware.rate_limits.OnePerson"],
    "DEFAULT_RENDERER_CLASSES": ["notifications.api.base.rendering.OrjsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["notifications.api.base.rendering.OrjsonParser"],
    "DEFAULT_SCHEMA_CLASS": "notifications.api.base.schema.Schema",
    "EXCEPTION_HANDLER": "notifications.api.base.problems.answer",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Carillon",
    "DESCRIPTION": (
        "Push campaigns that ring once. Send `Authorization: Bearer <key>`. A refusal is a problem"
        " (RFC 9457) that names each field and the fix; unknown fields and parameters are refused."
        " Every answer carries `X-Request-ID`, yours if you send one."
    ),
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    # Read-only fields are no part of request bodies: no client has to make up an id.
    "COMPONENT_SPLIT_REQUEST": True,
    "ENFORCE_NON_BLANK_FIELDS": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "notifications.api.base.clients.finish",
    ],
    "ENUM_NAME_OVERRIDES": {
        "MessageDeviceStatus": "campaigns.runs.messages.outcome.DEVICE_STATUSES",
        "MessagePriority": ["high", "normal"],
        "MessageState": "campaigns.runs.messages.outcome.STATES",
        "AudienceKind": "campaigns.audiences.audience.Audience.Kind",
        "AutomationState": "campaigns.triggers.automation.Automation.State",
        "CategoryKind": "notifications.people.consent.category.Category.Kind",
        "CategoryCaps": "notifications.people.consent.category.Category.Caps",
        "CategoryQuietHours": "notifications.people.consent.category.Category.QuietHours",
        "CauseCode": "campaigns.runs.reasons.Cause",
        "DeliveryStatus": "campaigns.runs.ledger.Delivery.Status",
        "DisabledWhy": "notifications.webhooks.endpoint.Endpoint.Why",
        "DoubtCode": "campaigns.launch_check.warnings.Code",
        "Operator": "campaigns.audiences.rules.OPERATORS",
        "NoWinner": "campaigns.runs.run.Run.NoWinner",
        "OnUnknown": "campaigns.runs.run.Run.OnUnknown",
        "PaceLimit": "notifications.pacing.gate.Limit",
        "Reason": "campaigns.runs.reasons.Reason",
        "RunVerb": "campaigns.runs.api.runs.PATHS",
        "ReceiptEvent": "campaigns.engagement.receipt.BY_NAME",
        "FirstPartBound": "campaigns.canary.judgement.Missed",
        "FirstPartDecision": "campaigns.canary.first_part.FirstPart.Decision",
        "FirstPartPhase": "campaigns.canary.progress.Phase",
        "FunnelStep": ["received", "displayed", "opened"],
        "GoalAfter": "campaigns.runs.run.Run.GoalAfter",
        "KeptOut": "campaigns.results.why.current_state.Fate",
        "Passed": "campaigns.planning.local.Passed",
        "Precedence": "campaigns.runs.run.Run.Precedence",
        "Zoneless": "campaigns.planning.local.Zoneless",
        "Platform": "notifications.people.device.Device.Platform",
        "Repeat": "campaigns.planning.campaign.Campaign.Repeat",
        "OnDays": ["each", "workdays", "last_day"],
        "Weekday": "campaigns.planning.repeats.weekdays.NAMES",
        "AlertKind": "campaigns.alerts.models.Kind",
        "ReportKind": "notifications.webhooks.event_types.EventType",
        "ReportLanguage": LANGUAGES,
        "ReportState": "notifications.webhooks.call.Call.State",
        "ReportTrouble": "notifications.webhooks.call.Call.Error",
        "ReportVia": "notifications.webhooks.endpoint.Endpoint.Via",
        "RunState": "campaigns.runs.run.Run.State",
        "ScheduleKind": "campaigns.planning.campaign.Campaign.Schedule",
        "TextsFormat": "campaigns.texts.translating.upload_changes.FORMATS",
        "VariantAnswer": "campaigns.results.variants.Answer",
        "VariantLetter": ["A", "B", "C", "D", "E"],
        "VariantMetric": "campaigns.results.variants.Metric",
        "VariantName": "campaigns.runs.variants.group.NUMBERS",
        "Verdict": "notifications.gateway.Verdict",
        "TextCheckCode": "campaigns.text_check.report.Code",
        "TextCheckLevel": "campaigns.text_check.report.Level",
        "TextCheckStaleWhy": "campaigns.text_check.stale.Why",
        "TextCheckState": "campaigns.text_check.model.TextCheck.State",
        "TestGoesTo": "campaigns.test_sends.api.TO",
        "TestStatus": "campaigns.test_sends.models.DeviceTest.Status",
        "WinnerBy": "campaigns.runs.run.Run.WinnerBy",
        "WhyEnding": "campaigns.results.why.why.Ending",
    },
}

# --- Reports out ---------------------------------------------------------------------------------
# Your own hosts and networks that reports may go to; all other targets must be public.
OUTGOING_ALLOWED = env_places("OUTGOING_ALLOWED", served=SERVED)
OUTGOING_CA_FILE = os.environ.get("OUTGOING_CA_FILE") or None  # in addition to the system's own
EMAIL_URL = env_secret("EMAIL_URL", "")
EMAIL_IS_SET = bool(EMAIL_URL)
if EMAIL_IS_SET:
    mail = env_email("EMAIL_URL", EMAIL_URL)
    EMAIL_BACKEND, EMAIL_HOST, EMAIL_PORT = mail.backend, mail.host, mail.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = mail.user, mail.password
    EMAIL_USE_TLS, EMAIL_USE_SSL = mail.starttls, mail.tls
DEFAULT_FROM_EMAIL = env_text("EMAIL_FROM", "Carillon <carillon@localhost>")
EMAIL_TIMEOUT = 10

# --- The live inbox ------------------------------------------------------------------------------
FEED_PORT = env_int("FEED_PORT", 8001, least=1)
# Where apps find the feed, if neither at the web's own address nor at that port.
FEED_URL = env_text("FEED_URL", "").rstrip("/")
FEED_STREAMS = env_int("FEED_STREAMS", 5_000, least=1)  # open at once, in one process

# --- Where we are reached ------------------------------------------------------------------------
try:
    PUBLIC_URL = public_address(env_text("PUBLIC_URL", ""), plain=not SERVED)
except ValueError as error:
    raise ImproperlyConfigured(str(error)) from error
# The feed's address, for phones and for counted links. Empty: not set.
PHONES_URL = FEED_URL or PUBLIC_URL
if not SERVED:  # with `make run` pages and feed have a port each, and no proxy in front
    PUBLIC_URL = PUBLIC_URL or f"http://127.0.0.1:{env_int('PORT', 8000, least=1)}"
    PHONES_URL = PHONES_URL or f"http://127.0.0.1:{FEED_PORT}"
# In the schema: where programs find us, and where apps find the feed.
SPECTACULAR_SETTINGS["SERVERS"] = [
    *([{"url": PUBLIC_URL, "description": "This installation"}] if PUBLIC_URL else []),
    {"url": "/", "description": "Where this schema was read"},
]
FEED_SERVERS = [{"url": PHONES_URL or "/", "description": "The process “feed”"}]
# Where phones fetch uploaded images: a CDN, or our own address. FCM takes https only. Empty: none.
IMAGES_URL = images_address(env_text("IMAGES_URL", ""), ours=PUBLIC_URL)

# --- Security ------------------------------------------------------------------------------------
SESSION_COOKIE_AGE = 12 * 3600  # from the log-in, even when in use: middleware/idle.py
SESSION_IDLE_SECONDS = env_int("SESSION_IDLE_SECONDS", 2 * 3600, least=60)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SERVED
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if SERVED:
    SECURE_SSL_REDIRECT = env_bool("SECURE_SSL_REDIRECT", True)
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True

# --- Logs ----------------------------------------------------------------------------------------
LOG_FORMAT = env_choice("LOG_FORMAT", "text", tuple(FORMATS))
if LOG_FORMAT == "json":
    logging.captureWarnings(True)  # Python would print them
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": FORMATS[LOG_FORMAT],
            "fmt": "%(asctime)s %(levelname)s %(name)s %(message)s",
        }
    },
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "line"},
        "counted": {
            "class": "notifications.requests.counted_lines.CountedLines",
            "formatter": "line",
        },
    },
    "root": {"handlers": ["console"], "level": env_text("LOG_LEVEL", "INFO")},
    # A caller gets its errors as answers. A log line for each would let a stranger fill the disk.
    "loggers": {
        "django.request": {"level": "ERROR"},
        "django.security": {"handlers": ["counted"], "propagate": False},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
    },
}
