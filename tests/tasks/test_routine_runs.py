"""Routines: prompts on a schedule, under their own name, with nobody watching and none of the other chats' tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.providers.scripted import ScriptedWire
from app.settings import RoutineSettings
from app.tasks.routines import BAD_SCHEDULE, Routines, previous_and_next
from store.together import KeptRoutine
from tests.together.kit import Chats, open_chats

HOURLY = {"Nightly check": RoutineSettings(schedule="0 * * * *", prompt="Check the logs.", model="scripted:r")}


def runs(chats: Chats) -> list[str]:
    return [s.id for s in reversed(chats.store.summaries()) if s.origin is not None and s.origin.kind == "routine"]


async def later(chats: Chats, seconds: float) -> None:
    chats.clock.tick(seconds)
    await chats.session.tick()
    await chats.session.settle()


async def test_it_runs_when_its_time_has_come_in_a_chat_of_its_own(tmp_path: Path) -> None:
    wires = {"scripted:r": ScriptedWire([["All quiet."], ["Quiet again."]])}
    async with open_chats(tmp_path, wires=wires, routines=HOURLY) as chats:
        await later(chats, 1)
        assert runs(chats) == []  # seen for the first time: it begins with its next time
        await later(chats, 3600)
        (chat,) = runs(chats)
        summary = chats.summary(chat)
        assert (summary.title, summary.origin.name if summary.origin else "") == ("Nightly check", "Nightly check")
        (turn,) = chats.events(chat, "turn.started")
        assert (turn.trigger, turn.attended) == ("routine", False) and chats.events(chat, "user.message") == []
        (words,) = [n for n in chats.joined(chat, "note") if "Check the logs." in n]
        assert words.startswith("[Shoal: the person's routine “Nightly check” runs.")
        offered = {t.name for t in wires["scripted:r"].requests[0].tools}
        assert not offered & {"search_chats", "list_chats", "message_chat", "wait_for", "start_background_task"}
        await later(chats, 60)
        assert runs(chats) == [chat]
        await later(chats, 3600)
        assert len(runs(chats)) == 2 and chats.summary(chat).archived_at is not None


async def test_what_was_missed_while_shoal_was_off_runs_once(tmp_path: Path) -> None:
    wires = {"scripted:r": ScriptedWire()}
    async with open_chats(tmp_path, wires=wires, routines=HOURLY) as chats:
        await later(chats, 1)
    async with open_chats(tmp_path, wires=wires, routines=HOURLY) as chats:
        await later(chats, 5 * 3600)
        assert len(runs(chats)) == 1
        await later(chats, 1)
        assert len(runs(chats)) == 1


async def test_one_that_is_off_or_cannot_be_read_never_runs_and_says_so(tmp_path: Path) -> None:
    made = {
        "Off": RoutineSettings(schedule="* * * * *", prompt="x", on=False),
        "Bad": RoutineSettings(schedule="every day", prompt="x"),
    }
    async with open_chats(tmp_path, routines=made) as chats:
        await later(chats, 7200)
        assert runs(chats) == [] and chats.store.kept(KeptRoutine) == []
        found = next(s for s in chats.extension.starters if isinstance(s, Routines))
        assert [(n.name, n.problem) for n in found.nexts()] == [("Bad", BAD_SCHEDULE.format(name="Bad"))]


def test_times_before_and_after() -> None:
    at = 1_790_000_000_000
    past, following = previous_and_next("0 * * * *", at)
    assert past is not None and following is not None and past <= at < following and following - past == 3_600_000
    with pytest.raises(ValueError, match="every"):
        previous_and_next("every day", at)


def test_settings_read_routines(tmp_path: Path) -> None:
    from app.paths import Home
    from app.settings import load

    (tmp_path / "settings.toml").write_text('[routines.Morning]\nschedule = "0 9 * * *"\nprompt = "Good morning"\n')
    settings, problems = load(Home(tmp_path))
    assert problems == [] and settings.routines["Morning"].schedule == "0 9 * * *"


async def test_a_run_whose_model_cannot_be_had_fails_once_and_the_next_still_comes(tmp_path: Path) -> None:
    routines = {"Broken": RoutineSettings(schedule="0 * * * *", prompt="Check.", model="scripted:nobody")}
    async with open_chats(tmp_path, routines=routines) as chats:
        await later(chats, 1)
        await later(chats, 3600)
        (chat,) = runs(chats)
        assert [e.outcome for e in chats.events(chat, "turn.completed")] == ["error"]
        await later(chats, 3600)
        assert len(runs(chats)) == 2
