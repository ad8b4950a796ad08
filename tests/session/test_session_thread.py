"""The thin thread: a message in, an answer and its events out."""

from __future__ import annotations

from tests.session.kit import open_kit, types


async def test_a_message_is_answered_and_everything_is_in_the_log(tmp_path):
    async with open_kit(tmp_path, ["Hel", "lo"]) as kit:
        chat = await kit.new()
        ok = await kit.send(chat, "hi there")
        assert ok["queued"] is False
        await kit.session.settle()
        assert types(kit, chat) == [
            "chat.created",
            "user.message",
            "turn.started",
            "step.started",
            "assistant.done",
            "step.finished",
            "turn.completed",
            "title",
        ]
        assert kit.summary(chat).title == "Hi there"
