"""The transcript's window over what is loaded, as plain data."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from widget_host import said

from store.limits import ROWS_MOUNTED
from widgets.loaded import Finds, Loaded

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 400)),
        st.tuples(st.just("earlier"), st.integers(1, 60)),
        st.tuples(st.sampled_from(["above", "below", "trim", "tail"]), st.just(0)),
        st.tuples(st.just("around"), st.integers(0, 400)),
        st.tuples(st.just("drop"), st.integers(0, 400)),
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_any_course_of_events_keeps_the_window_in_bounds_and_the_order_by_seq(steps: list[tuple[str, int]]) -> None:
    loaded, oldest = Loaded(), 1000
    loaded.reset([said(f"k{seq}", "x", seq) for seq in range(1000, 1050)], 900)
    for what, number in steps:
        at_end = loaded.at_end
        match what:
            case "put":
                loaded.put(said(f"k{oldest + number}", "y", oldest + number))
            case "earlier":
                rows = [said(f"k{seq}", "x", seq) for seq in range(oldest - number, oldest)]
                oldest -= number
                window = loaded.window
                loaded.prepend(rows, max(0, oldest - 100))
                assert loaded.window == window
            case "around" if loaded.order:
                key = loaded.order[number % len(loaded.order)]
                loaded.around(key)
                assert key in loaded.window
            case "drop" if loaded.order:
                loaded.drop(loaded.order[number % len(loaded.order)])
            case "above" | "below" | "trim" | "tail":
                getattr(loaded, what)()
        if what in ("put", "tail"):
            assert loaded.at_end == at_end or what == "tail"
        assert 0 <= loaded.low <= loaded.high <= len(loaded.order)
        assert [loaded.rows[key].seq for key in loaded.order] == sorted(loaded.rows[key].seq for key in loaded.order)
        assert len(set(loaded.order)) == len(loaded.order) == len(loaded.rows)
        if what in ("above", "below", "tail"):
            assert len(loaded.window) <= ROWS_MOUNTED or what == "below"


def test_a_live_row_gets_its_place_when_its_seq_is_known() -> None:
    loaded = Loaded()
    loaded.reset([said("a", "one", 1)], 0)
    loaded.put(said("live", "so far", 1 << 60, "assistant", live=True))
    loaded.put(said("b", "two", 2))
    assert loaded.order == ["a", "b", "live"]
    loaded.put(said("live", "whole", 3, "assistant"))
    loaded.put(said("c", "three", 4))
    assert loaded.order == ["a", "b", "live", "c"]


def test_finds_are_counted_over_all_rows_and_stepped_round_the_ends() -> None:
    finds, rows = Finds(), [said("a", "Lisbon, lisbon", 1), said("b", "none", 2), said("c", "Lísbon", 3)]
    finds.look("lisbon", rows)
    assert finds.places == [("a", 0), ("a", 1), ("c", 0)]
    assert finds.step(-1) == ("c", 0)
    assert finds.step(1) == ("a", 0)
    finds.look("lisbon", [*rows, said("d", "lisbon", 4)])
    assert finds.current == ("a", 0)
    assert finds.first_in("c") == ("c", 0)
    assert finds.first_in("b") is None
    finds.look("", rows)
    assert finds.places == [] and finds.step(1) is None
