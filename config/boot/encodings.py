"""Lookup of encodings: only names that Python has.

Python remembers every name that was ever asked for, even made-up ones. Requests name encodings in
headers, in parts of forms and in XML, so a stranger could fill the memory.
"""

from __future__ import annotations

import codecs
import encodings
import encodings.aliases
import pkgutil

KNOWN = {module.name for module in pkgutil.iter_modules(encodings.__path__)}
KNOWN.update(encodings.aliases.aliases)


def look_up_known_names_only() -> None:
    """Limit the lookup in the whole process. A second call changes nothing."""
    codecs.unregister(encodings.search_function)
    codecs.unregister(search)
    codecs.register(search)


def search(name: str) -> codecs.CodecInfo | None:
    plain = encodings.normalize_encoding(name)
    if plain in KNOWN or plain.replace(".", "_") in KNOWN:
        return encodings.search_function(name)
    return None
