"""Run as a script: whole turns, each in a process of its own that is killed at a place of its own.

`python killed.py ROOT PLACE…`; a place is `N.before` or `N.after` (the N-th commit) or `tN` (after N milliseconds).
Prints nothing; every home lies in ROOT/PLACE, with `effects`: a line for each time the write tool ran.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path

from tests.session.kit import FakeTool, open_kit


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def turn(home: Path, place: str) -> None:
    """One turn with all six batches; `acknowledged` has the ids of the events whose commit returned."""
    from app import commands as cmd
    from app.providers.scripted import call
    from tests.loop.test_stopping import Asking

    home.mkdir()
    acknowledged = os.open(home / "acknowledged", os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    class AskForWrites(Asking):
        async def judge(self, tool, args, ctx, call_id):
            from app.tools.base import Allow

            return await super().judge(tool, args, ctx, call_id) if tool.effect == "write" else Allow()

    async def write(args, ctx, call_id):
        with (home / "effects").open("a") as file:
            file.write(call_id + "\n")
        await asyncio.sleep(0.002)
        return "written"

    steps = [["I look. " * 300, 0.01, call("look", {}, "r1"), call("look", {}, "r2"), call("change", {}, "w1")]]
    tools = [FakeTool("look"), FakeTool("change", "write", write)]
    async with open_kit(home, *steps, ["All ", 0.005, "done."], tools=tools, gate=AskForWrites()) as kit:
        commit, count = kit.store.commit, 0

        async def counted(batch):
            nonlocal count
            if not batch.events and not batch.changes:
                return await commit(batch)
            count += 1
            mine = count
            if place == f"{mine}.before":
                die()
            done = await commit(batch)
            for stored in done.events:
                os.write(acknowledged, f"{stored.id}\n".encode())
            if place == f"{mine}.after":
                die()
            return done

        kit.store.commit = counted
        if place.startswith("t"):
            threading.Timer(int(place[1:]) / 1000, die).start()
        chat = await kit.new(title="T")
        await kit.send(chat, "go")
        (permission,) = await kit.session.settle()
        await kit.session.do(cmd.Answer(chat=chat, permission=permission, decision="allow"))
        await kit.session.settle()
        die()  # the whole turn went through


def main() -> None:
    root = Path(sys.argv[1])
    for place in sys.argv[2:]:
        child = os.fork()
        if child == 0:
            asyncio.run(turn(root / place, place))
            os._exit(1)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
