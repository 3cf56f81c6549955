"""What F72 must notice, and parts so small and slow that a kill finds one half done."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from tests.chaos.bug import bug, patch

NAP_SECONDS = 1.2


@bug("small import parts", fault="")
def _small_parts() -> None:
    """So that a file of thousands is merged as one of millions is: killed in the middle of a part,
    when all of it is written and nothing committed."""
    from notifications.people.importing import model
    from notifications.people.importing.merging import parallel_merge

    keep = model.keep

    def keep_after_a_nap(*given: Any, **values: Any) -> None:
        if "done_up_to" in values:
            time.sleep(NAP_SECONDS)
        keep(*given, **values)

    patch(parallel_merge, "PEOPLE_AT_ONCE", 400)
    patch(parallel_merge, "WORTH_TWO", 400)
    patch(parallel_merge, "keep", keep_after_a_nap)


@bug("commits an import's people before their count", fault="F72")
def _commits_early() -> None:
    """Whoever dies in between leaves people in that nobody counted, and does them again."""
    from django.db import connection

    from notifications.people.importing.merging.merge_part import Part

    merge = Part.merge

    def merge_and_commit(part: Part) -> Counter[str]:
        counted = merge(part)
        connection.connection.commit()
        return counted

    patch(Part, "merge", merge_and_commit)
