"""What is said while a chat is being indexed is indexed too."""

from __future__ import annotations

from store import index_drain
from store.models import SearchQuery


async def test_a_line_said_while_its_chat_is_written_is_found(home, monkeypatch) -> None:
    home.chat("c_1", "first words")
    service = home.service()
    indexer = service._indexer
    write, said = index_drain.write, []

    def write_and_say(*args, **more):
        out = write(*args, **more)
        if not said:
            said.append(home.say("c_1", "kestrel in the meantime"))
        return out

    monkeypatch.setattr(index_drain, "write", write_and_say)
    home.say("c_1", "second words")
    assert indexer.wait(20) and said
    assert indexer.wait(20)
    assert (await service.search(SearchQuery("kestrel"))).groups
