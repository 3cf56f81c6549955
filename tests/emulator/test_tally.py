from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from emulator.witness.tally import LARGEST_SEQUENCE, Tally

numbered = st.builds("{}:{}".format, st.sampled_from("ab"), st.integers(0, 300))
odd = st.sampled_from(["", ":", "a", "a:", ":1", "a:01", "a:-1", "a:x", "a:²", f"a:{10**30}"])
edges = st.sampled_from([f"a:{LARGEST_SEQUENCE + 1}", "a:b:1", "a:99999999"])


@given(st.lists(numbered | odd | edges, max_size=200))
def test_the_tally_counts_as_a_dictionary_would(ids: list[str]) -> None:
    tally, honest = Tally(), Counter[str]()
    for message_id in ids:
        honest[message_id] += 1
        assert tally.add(message_id) == honest[message_id]
    assert tally.ids == len(honest)
    assert tally.repeated_ids == sum(times > 1 for times in honest.values())
    assert all(tally.times(message_id) == times for message_id, times in honest.items())
    assert tally.times("never:1") == 0


def test_a_count_stops_growing_before_it_overflows() -> None:
    tally = Tally()
    assert [tally.add("run:1") for _ in range(300)][-1] == 255
    assert (tally.ids, tally.repeated_ids) == (1, 1)
