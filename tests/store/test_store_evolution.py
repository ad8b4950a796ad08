"""Old and unknown events load for ever, and what isn't understood is kept byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from store import events as ev
from store import upcast
from store.batch import Batch
from store.decode import body_of, stored_of
from store.events import EVENT_TYPES, Stored, UnknownEvent, event_from
from store.log import Store
from store.rows import UnknownRow, fold
from tests.store.store_makers import SAMPLES

GOLDEN = sorted((Path(__file__).parent.parent / "golden").glob("events-v*.jsonl"))


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def nothing(_: str) -> None:
    return None


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_every_released_event_still_loads_and_prints_what_it_held(path: Path) -> None:
    for line in lines(path):
        head = {k: line.pop(k) for k in ("id", "chat", "seq", "at")}
        event = event_from(upcast.newest(dict(line)))
        if line["type"] in EVENT_TYPES:
            assert not isinstance(event, UnknownEvent), line
        printed = Stored(head["id"], head["chat"], head["seq"], head["at"], event).to_json()
        assert {k: v for k, v in printed.items() if k in head} == head
        if isinstance(event, UnknownEvent):
            assert {k: v for k, v in printed.items() if k not in head} == line
        else:
            assert line.items() <= printed.items()


def test_every_event_type_has_a_sample_and_a_golden_line() -> None:
    assert set(EVENT_TYPES) == {s.type for s in SAMPLES}
    assert set(EVENT_TYPES) <= {str(line["type"]) for line in lines(GOLDEN[-1])}


def test_an_unknown_event_goes_through_the_store_unchanged_as_one_quiet_row(tmp_path: Path) -> None:
    raw = {"type": "later.thing", "v": 4, "big": 12345678901234567890, "f": 1e-7, "o": {"b": None, "a": [1, 2.5]}}
    store = Store.open(tmp_path)
    store.commit_sync(Batch.of("c", ev.UserMessage(message_id="m", text="x"), event_from(raw)))
    stored = list(store.events())[1]
    assert isinstance(stored.event, UnknownEvent) and stored.event.raw == raw
    assert list(stored.to_json())[4:] == ["type", "v", "big", "f", "o"]
    rows = {}
    for each in store.page("c").events:
        fold(rows, each)
    assert [type(r) for r in rows.values()][1] is UnknownRow and store.count_rows("c") == 2
    store.close()


def test_a_known_type_of_a_higher_version_isnt_guessed_at() -> None:
    assert isinstance(event_from({"type": "title", "v": 9, "title": "x"}), UnknownEvent)
    assert isinstance(
        stored_of((1, "c", 0, 0, "title", 9, '{"type":"title","v":9,"title":"x"}', None), nothing).event, UnknownEvent
    )


def test_a_field_a_newer_shoal_added_is_kept() -> None:
    event = event_from({"type": "title", "v": 1, "title": "x", "colour": "blue"})
    assert json.loads(body_of(event)[1])["colour"] == "blue"


@pytest.mark.parametrize("body", ["", "null", "[]", "42", "{", '{"type":"title"}', "\x00"])
def test_a_body_that_cant_be_read_is_an_unknown_event_and_not_an_error(body: str) -> None:
    stored = stored_of((1, "c", 0, 0, "title", 1, body, None), nothing)
    assert isinstance(stored.event, UnknownEvent) and stored.to_json()["type"] == "title"


def test_a_missing_blob_is_an_unknown_event_and_not_an_error() -> None:
    assert isinstance(stored_of((1, "c", 0, 0, "title", 1, "", "00"), nothing).event, UnknownEvent)


class Renamed(ev.TitleChanged):
    """A title event as a later version might have it."""

    type: Literal["renamed"] = "renamed"
    v: int = 3


def test_old_bodies_climb_every_step_and_stay_as_they_are_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = {
        ("renamed", 1): lambda b: {**b, "v": 2, "name": b["n"]},
        ("renamed", 2): lambda b: {**b, "v": 3, "title": b["name"].upper()},
    }
    monkeypatch.setattr(upcast, "STEPS", steps)
    monkeypatch.setitem(EVENT_TYPES, "renamed", Renamed)
    for body in ('{"type":"renamed","n":"lisbon"}', '{"type":"renamed","v":2,"name":"lisbon"}'):
        event = stored_of((1, "c", 0, 0, "renamed", json.loads(body).get("v", 1), body, None), nothing).event
        assert isinstance(event, Renamed) and event.title == "LISBON"
    assert isinstance(event_from({"type": "renamed", "v": 3, "title": "Porto"}), Renamed)
