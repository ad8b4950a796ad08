"""How quickly the index follows is measured, in figures, and kept for `shoal doctor`."""

from __future__ import annotations

from pathlib import Path

from store import db, index
from store.index_pace import KEY, Pace, PaceKeeper
from tests.search.conftest import Home


def test_every_drain_is_timed_and_the_figures_outlive_the_program(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.chat("c_1", "the heron came")
    first = home.service()
    assert first.pace().built is not None
    for n in range(3):
        home.say("c_1", f"another heron {n}")
        assert first._indexer.wait(10)
    pace = first.pace()
    assert pace.drains >= 1 and 0 < pace.last <= pace.longest < 10 and pace.queue >= 1
    first.close_sync()
    again = home.service()
    kept = again.pace()
    assert kept.drains == pace.drains and kept.built == round(pace.built or 0, 4) and kept.queue == pace.queue
    home.close()


def test_what_cant_be_read_counts_as_nothing_and_only_figures_are_written(tmp_path: Path) -> None:
    conn = db.connect(tmp_path / "x.db")
    conn.execute("CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT)")
    for broken in ("[", "[1]", '{"odd": 1}', "null", "7"):
        index.write_meta(conn, {KEY: broken})
        keeper = PaceKeeper()
        keeper.read(conn)
        assert keeper.now == Pace()
    keeper.drained(0.123456, 2)
    keeper.write(conn)
    assert index.read_meta(conn)[KEY] == '{"drains": 1, "last": 0.1235, "longest": 0.1235, "queue": 2, "built": null}'
    keeper.drained(0.5, 1)
    keeper.write(conn)  # not due yet
    assert '"drains": 1' in index.read_meta(conn)[KEY]
    keeper.write(conn, last=True)
    other = PaceKeeper()
    other.read(conn)
    assert other.now == Pace(2, 0.5, 0.5, 2)
