"""What is remembered in one chat is told in another, without a model."""

from __future__ import annotations

from pathlib import Path

from app import commands as cmd
from app.paths import Home
from app.services import build
from app.settings import Settings
from store.clock import ManualClock


async def test_what_was_remembered_is_told_in_another_chat_in_the_persons_words(tmp_path: Path) -> None:
    services = await build(Home(tmp_path / "home"), Settings(folder=str(tmp_path)), ManualClock())
    try:
        session = services.session

        async def say(text: str) -> str:
            chat = str((await session.do(cmd.NewChat()))["chat"])
            await session.do(cmd.Send(chat=chat, text=text))
            await session.settle()
            said = [s.event.text for s in services.store.events(chat=chat) if s.event.type == "assistant.done"]
            return str(said[-1])

        assert await say("what do you remember about me?") == "Nothing is remembered yet."
        await say("remember that I'm vegetarian")
        services.clock.tick(5)
        await say("remember that the rehearsal is on Tuesdays")
        told = await say("what do you remember about me?")
        first, second = told.splitlines()[2:]
        assert told.startswith("I remember:") and "Tuesdays" in first and "vegetarian" in second
    finally:
        await services.close()
