"""Trust: TLS contexts that accept only certificates of a known authority for the exact host."""

from __future__ import annotations

import ssl


def trusting(ca_file: str | None = None) -> ssl.SSLContext:
    """Return a TLS context that trusts the system's authorities, or those in the file.

    The host must be among the certificate's alternative names. The Common Name does not count,
    because authorities need not check it.
    """
    context = ssl.create_default_context(cafile=ca_file)
    context.hostname_checks_common_name = False
    return context
