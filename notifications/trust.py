"""TLS trust: a certificate from a known authority, issued for the exact host name."""

from __future__ import annotations

import ssl


def trusting(ca_file: str | None = None) -> ssl.SSLContext:
    """The system's authorities, or those of the file. The name must be among the certificate's
    names: its Common Name, which authorities need not check, does not count."""
    context = ssl.create_default_context(cafile=ca_file)
    context.hostname_checks_common_name = False
    return context
