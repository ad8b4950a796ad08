"""The child of the kill test: commits batches of every kind and prints a line for each once it is durable.

Arguments: the home, a seed, and at which point of the work it kills itself (`random` leaves that to the parent).
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from pathlib import Path

from store import events as ev
from store.batch import Batch, batch_of
from store.errors import ChatGone
from store.log import Store
from store.state import KeepLiveText, KeepState


def turn(chat: str, n: int, rng: random.Random) -> list[Batch | str]:
    """One reply, as the six batches it makes; now and then a deletion instead."""
    big = "y" * 70_000 if rng.random() < 0.1 else "answer"
    turn_id, call, said, answer = f"r{n}", f"t{n}", f"m{n}", f"a{n}"
    work: list[Batch | str] = [
        Batch.of(
            chat, ev.UserMessage(message_id=said, text=f"q{n}"), ev.TurnStarted(turn_id=turn_id), kind="send",
            changes=[KeepState(chat, "draft", None)],
        ),
        Batch.of(chat, ev.StepStarted(turn_id=turn_id, step=0), kind="step"),
        Batch(changes=[KeepLiveText(chat, answer, "text", "so far")]),
        Batch.of(chat, ev.PermissionRequested(permission_id=f"p{n}", call_id=call), kind="ask"),
        Batch.of(
            chat, ev.PermissionResolved(permission_id=f"p{n}", decision="allow"),
            ev.ToolStarted(call_id=call, name="bash", effect="write"), kind="intent",
        ),
        Batch.of(
            chat, ev.ToolFinished(call_id=call, status="success"),
            ev.Taint(source=ev.TaintSource(kind="web", label="x")), kind="result",
        ),
        Batch.of(
            chat, ev.AssistantDone(message_id=answer, text=big), ev.TurnCompleted(turn_id=turn_id, outcome="success"),
            kind="end", changes=[KeepLiveText(chat, answer, "text", None), KeepState(chat, "draft", f"d{n}")],
        ),
        batch_of([(f"{chat}-x", ev.Notice(notice_id=f"n{n}", text="to two")), (chat, ev.ChatPinned(pinned=n))]),
    ]  # fmt: skip
    return [*work, f"{chat}-x"] if rng.random() < 0.2 else work


def main() -> None:
    """Work until killed, each answer printed only after the store acknowledged it."""
    home, seed, at = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    store = Store.open(home)
    if store.notices or store.verify():
        print(json.dumps({"trouble": store.notices or "summaries and rows differ from the log"}), flush=True)
        return
    rng = random.Random(seed)
    conn = store._writer.conn
    if seed % 2:  # many checkpoints, so that kills come in the middle of them too
        conn.execute("PRAGMA wal_autocheckpoint=8")
    steps = 0

    def maybe_die(_: str) -> None:
        nonlocal steps
        steps += 1
        if at != "random" and steps >= int(at):
            os.kill(os.getpid(), signal.SIGKILL)

    print(json.dumps({"ready": store.last_id()}), flush=True)
    if at != "random":
        conn.set_trace_callback(maybe_die)  # called before each statement: BEGIN, each INSERT, RELEASE, COMMIT
    for n in range(seed * 1000, seed * 1000 + 1000):
        for work in turn(f"c{rng.randrange(4)}", n, rng):
            if isinstance(work, str):
                print(json.dumps({"deleting": work}), flush=True)
                if store.delete_sync(work):
                    print(json.dumps({"deleted": work}), flush=True)
                continue
            try:
                done = store.commit_sync(work)
            except ChatGone:
                continue
            kept = [(e.chat, e.seq, e.id, e.event.type) for e in done.events]
            print(json.dumps({"kept": kept}), flush=True)


if __name__ == "__main__":
    main()
