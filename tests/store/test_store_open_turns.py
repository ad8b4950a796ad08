"""What a kill leaves open is told as plain data (K01, the store's side)."""

from __future__ import annotations

from pathlib import Path

from store import events as ev
from store.batch import Batch
from store.log import Store
from store.state import KeepLiveText

MADE = (ev.CallMade(call_id="t1", name="bash", input="{}"), ev.CallMade(call_id="t9", name="bash", input="{}"))


def killed(store: Store, root: Path) -> Store:
    """The store as the next start finds it: opened without the first one's close having said anything."""
    store.close()
    (root / "store.db.closed").unlink()
    return Store.open(root)


def test_an_open_turn_tells_its_open_calls_questions_and_the_text_so_far(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    store.commit_sync(
        Batch.of(
            "c",
            ev.TurnStarted(turn_id="r0"),
            ev.ToolStarted(call_id="old", name="bash", effect="write"),
            ev.TurnCompleted(turn_id="r0", outcome="error"),
            ev.UserMessage(message_id="m1", text="go"),
            ev.TurnStarted(turn_id="r1", message_id="m1"),
            ev.AssistantDone(message_id="a1", text="", calls=MADE),
            ev.ToolStarted(call_id="t1", name="bash", effect="write"),
            ev.ToolStarted(call_id="t2", name="read_file", effect="read"),
            ev.ToolFinished(call_id="t2", status="success"),
            ev.PermissionRequested(permission_id="p1"),
            ev.PermissionResolved(permission_id="p1", decision="allow"),
            ev.PermissionRequested(permission_id="p2", call_id="t9"),
            changes=[KeepLiveText("c", "a2", "text", "half an ans"), KeepLiveText("c", "a2", "thinking", "hm")],
        )
    )
    store.commit_sync(Batch.of("quiet", ev.TurnStarted(turn_id="q"), ev.TurnCompleted(turn_id="q", outcome="success")))
    again = killed(store, tmp_path)
    (turn,) = again.open_turns()
    assert turn.chat == "c" and turn.turn_id == "r1" and turn.turn.message_id == "m1"
    assert [(c.call_id, c.effect) for c in turn.calls] == [("t1", "write")]
    assert turn.unstarted == ("t9",) and [p.permission_id for p in turn.permissions] == ["p2"]
    assert {(t.kind, t.text) for t in turn.live} == {("text", "half an ans"), ("thinking", "hm")}
    again.close()


def test_nothing_is_open_after_a_turn_ended(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    store.commit_sync(Batch.of("c", ev.TurnStarted(turn_id="r"), changes=[KeepLiveText("c", "a", "text", "x")]))
    end = ev.TurnCompleted(turn_id="r", outcome="success")
    done = ev.AssistantDone(message_id="a", text="x")
    store.commit_sync(Batch.of("c", done, end, changes=[KeepLiveText("c", "a", "text", None)]))
    again = killed(store, tmp_path)
    assert again.open_turns() == [] and again.working() == []
    again.close()


def test_a_text_left_over_without_a_turn_is_told_too(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    store.commit_sync(Batch.of("c", ev.ChatCreated(), changes=[KeepLiveText("c", "a", "text", "x")]))
    again = killed(store, tmp_path)
    (turn,) = again.open_turns()
    assert turn.turn is None and turn.turn_id is None and [t.text for t in turn.live] == ["x"]
    again.close()
