# One image for every process of Carillon; docker-compose.yml says which one a container runs.
FROM python:3.13-slim

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    CARILLON_ENV=production \
    STATIC_ROOT=/srv/static

RUN useradd --system --uid 10001 --home-dir /srv carillon \
 && mkdir -p /srv/static /srv/measures /srv/images \
 && chown carillon:carillon /srv/static /srv/measures /srv/images
WORKDIR /srv/carillon

# Packages first: this layer is made again only when the lock file changes.
COPY requirements.txt ./
RUN pip install --no-cache-dir --require-hashes -r requirements.txt

COPY manage.py ./
COPY config ./config
COPY campaigns ./campaigns
COPY notifications ./notifications
COPY templates ./templates
COPY locale ./locale
COPY static ./static
COPY docs/receipts.md ./docs/receipts.md

USER carillon
# The settings insist on good keys, and collectstatic uses none: these are drawn here and forgotten.
RUN draw() { python -c "import secrets; print(secrets.token_urlsafe(48))"; } && \
    SECRET_KEY=$(draw) CREDENTIALS_KEY=$(draw) DATABASE_URL=postgresql://build@localhost/build \
    REDIS_URL=redis://localhost/0 python manage.py collectstatic --no-input

EXPOSE 8000
# Exec form, so that the process itself is PID 1 and gets SIGTERM: a worker then finishes its windows.
STOPSIGNAL SIGTERM
CMD ["python", "-m", "config.front", "--host", "0.0.0.0"]
