"""Activity is read from the logs: what counts, in which words, filtered, page by page (conch-behaviour §2.14)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.guard import secrets
from app.session import activity
from app.session.activity import KINDS, Activity, ActivityKind
from store import events as ev
from store.clock import ManualClock
from store.log import Batch, NewEvent, Store

KEY = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5q" * 2


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store.open(tmp_path, ManualClock())
    yield made
    made.close()


def put(store: Store, chat: str, *events: ev.Event, title: str = "Wedding planning", **created: object) -> str:
    if store.summary(chat) is None:
        store.commit_sync(Batch.of(chat, ev.ChatCreated.model_validate({"title": title, **created})))
    store.commit_sync(Batch.of(chat, *events))
    return chat


def look(query: str | None, action: str = "search", look_id: str = "l_1", title: str = "Trip") -> ev.ChatsLooked:
    body = {"look_id": look_id, "action": action, "query": query, "chats": [{"id": "c_x", "title": title}]}
    return ev.ChatsLooked.model_validate(body)


def ran(name: str, label: str, family: str, effect: str = "write", call: str = "t_1") -> ev.ToolStarted:
    body = {"call_id": call, "name": name, "label": label, "family": family, "effect": effect}
    return ev.ToolStarted.model_validate(body)


async def all_of(store: Store, kind: ActivityKind | None = None, words: str = "") -> list[str]:
    page = await Activity(store, secrets.clean).page(None, kind, words)
    return [f"{e.words} ({e.note})" if e.note else e.words for e in page.entries]


async def test_looks_read_as_looking_for_the_query_and_reading_the_title(store: Store) -> None:
    put(store, "c_a", look("venue"), look(None, "read", "l_2", "Wedding planning"), look(None, "search", "l_3"))
    assert await all_of(store) == [
        "Looked through your chats",
        "Read your chat “Wedding planning”",
        "Looked through your chats for “venue”",
    ]
    page = await Activity(store, secrets.clean).page()
    assert [e.row for e in page.entries] == ["l_3", "l_2", "l_1"] and page.before is None


async def test_a_look_at_the_other_chats_reads_as_its_row_does(store: Store) -> None:
    one = ev.OtherChat(id="c_b", title="B", state="idle")
    for n, (working, needs, chats) in enumerate([(1, 1, (one,)), (0, 2, (one,)), (0, 0, (one,)), (0, 0, ())]):
        put(store, "c_a", ev.ChatsListed(look_id=f"l_{n}", working=working, needs_you=needs, chats=chats))
    assert await all_of(store, "looks") == [
        "Checked on your other chats · there are no others",
        "Checked on your other chats · none working",
        "Checked on your other chats · 2 need you",
        "Checked on your other chats · 1 working · 1 needs you",
    ]


async def test_everything_that_was_done_is_there_and_plain_looking_around_isnt(store: Store) -> None:
    files = tuple(ev.FileChange(path=f"src/{n}.py", change="changed") for n in "abcde")
    put(
        store,
        "c_a",
        ran("read_file", "Read a.py", "files", "read"),
        ran("write_file", "Wrote a.py", "files"),
        ran("process_output", "Looked at s_1", "command", "read"),
        ran("run_command", "Ran npm test", "command", call="t_2"),
        ran("fetch_page", "Read example.org", "web", "read", call="t_3"),
        ran("use_password", "Use the password “deploy”", "password", call="t_4"),
        ran("recall", "Recall tea", "memory", "read", call="t_5"),
        ev.FilesChanged(change_id="f_1", files=files),
        ev.FilesRestored(change_id="f_1", direction="undo", files=("src/a.py",)),
        ev.ProcessStarted(process_id="s_1", command="npm start"),
        ev.ProcessEnded(process_id="s_1", exit_code=2),
        ev.Taint(source=ev.TaintSource(kind="web", label="example.org")),
        ev.ForwardedMessage(message_id="m_1", name="Ana", text="hello there"),
    )
    assert await all_of(store) == [
        "You put in Ana's words: hello there",
        "Read from outside: example.org",
        "No longer running: npm start (exit code 2)",
        "Left running: npm start",
        "Undid changes of src/a.py",
        "Edited src/a.py, src/b.py, src/c.py and 2 more",
        "Use the password “deploy”",
        "Read example.org",
        "Ran npm test",
    ]
    assert await all_of(store, "commands") == [
        "No longer running: npm start (exit code 2)",
        "Left running: npm start",
        "Use the password “deploy”",
        "Ran npm test",
    ]
    assert await all_of(store, "pages") == ["Read example.org"]


async def test_a_command_that_failed_may_have_run_or_runs_still_says_so(store: Store) -> None:
    put(
        store,
        "c_a",
        ran("run_command", "Ran npm test", "command", call="t_1"),
        ev.ToolFinished(call_id="t_1", status="error", output="exit code 1"),
        ran("run_command", "Ran ls", "command", call="t_2"),
        ev.ToolFinished(call_id="t_2", status="success"),
        ran("fetch_page", "Read example.org", "web", "read", call="t_3"),
        ev.ToolFinished(call_id="t_3", status="error"),
        ran("run_command", "Ran make", "command", call="t_4"),
        ev.ToolFinished(call_id="t_4", status="unknown"),
        ev.TurnStarted(turn_id="u_1"),
        ran("run_command", "Ran sleep 60", "command", call="t_5"),
    )
    assert await all_of(store) == [
        "Ran sleep 60 (running)",
        "Ran make (may have run)",
        "Read example.org (failed)",
        "Ran ls",
        "Ran npm test (failed)",
    ]
    page = await Activity(store, secrets.clean).page()
    assert [e.bad for e in page.entries] == [False, True, True, False, True]
    assert await all_of(store, "commands", "failed") == ["Ran npm test (failed)"]
    put(store, "c_a", ev.TurnCompleted(turn_id="u_1", outcome="interrupted"))
    assert (await all_of(store))[0] == "Ran sleep 60"


async def test_questions_say_what_was_answered_or_that_they_wait(store: Store) -> None:
    for n, decision in enumerate(("allow", "allow-always", "deny", "expired", None)):
        asked = ev.PermissionRequested(permission_id=f"p_{n}", summary="Run a command", preview=f"touch {n}")
        put(store, "c_a", asked)
        if decision:
            put(store, "c_a", ev.PermissionResolved.model_validate({"permission_id": f"p_{n}", "decision": decision}))
    assert await all_of(store) == [
        "Asked: Run a command · touch 4 (waits for you)",
        "Asked: Run a command · touch 3 (not answered)",
        "Asked: Run a command · touch 2 (you said no)",
        "Asked: Run a command · touch 1 (you always allow it)",
        "Asked: Run a command · touch 0 (you allowed it)",
    ]
    page = await Activity(store, secrets.clean).page()
    assert [e.waits for e in page.entries] == [True, False, False, False, False]


async def test_memories_are_told_with_their_words_also_when_forgotten_or_waiting(store: Store) -> None:
    put(store, "c_a", ev.MemorySaved(memory_id="y_1", content="Likes tea."))
    put(store, "c_a", ev.MemorySaved(memory_id="y_2", content="Likes rain.", pending=True))
    assert await all_of(store, "memories") == [
        "Wants to remember: Likes rain. (waits for you)",
        "Remembered: Likes tea.",
    ]
    put(store, "c_a", ev.MemoryDecided(memory_id="y_2", decision="keep"), ev.MemoryForgotten(memory_id="y_1"))
    assert await all_of(store, "memories") == [
        "Forgot: Likes tea.",
        "Kept: Likes rain.",
        "Wants to remember: Likes rain.",
        "Remembered: Likes tea.",
    ]


async def test_what_has_no_row_opens_where_it_stands(store: Store) -> None:
    web = ev.TaintSource(kind="web", label="example.org")
    app = ev.TaintSource(kind="app", label="your chat “x”")
    put(
        store,
        "c_a",
        ran("fetch_page", "Read example.org", "web", "read"),
        ev.Taint(source=web, call_id="t_1"),
        ran("search_chats", "Search", "history", "read", call="t_2"),
        ev.Taint(source=app, call_id="t_2"),
        ev.ToolFinished(call_id="t_2", status="success"),
        look("venue", look_id="l_9"),
        ev.Taint(source=ev.TaintSource(kind="person", label="Ana")),
        ev.ForwardedMessage(message_id="m_1", name="Ana", text="hi"),
    )
    page = await Activity(store, secrets.clean).page(None, "outside")
    assert [(e.words, e.row) for e in page.entries] == [
        ("Someone else's words: Ana", "m_1"),
        ("Read from outside: your chat “x”", "l_9"),
        ("Read from outside: example.org", "t_1"),
    ]


async def test_secrets_and_terminal_bytes_never_come_through(store: Store) -> None:
    bad = f"{KEY}\x1b]0;x\x07\u202e"
    put(store, "c_a", look(bad), look(bad, "read", "l_2", bad), ran("run_command", f"Ran {bad}", "command"), title=bad)
    put(store, "c_a", ev.PermissionRequested(permission_id="p_1", summary=bad, preview=bad))
    put(store, "c_a", ev.ForwardedMessage(message_id="m_1", name=bad, text=bad))
    put(store, "c_a", ev.MemorySaved(memory_id="y_1", content=bad), ev.ProcessStarted(process_id="s_1", command=bad))
    put(store, "c_a", ev.FilesChanged(change_id="f_1", files=(ev.FileChange(path=bad, change="created"),)))
    put(store, "c_a", ev.Taint(source=ev.TaintSource(kind="web", label=bad[:120])))
    page = await Activity(store, secrets.clean).page()
    assert len(page.entries) == 9
    for entry in page.entries:
        shown = f"{entry.words}{entry.title}{entry.note}"
        assert KEY[8:] not in shown and not {"\x1b", "\x07", "\u202e", "\n"} & set(shown), entry.kind


@pytest.mark.parametrize(
    "words", ["venue", "VENUE", "venues", "vennue", "ven", "looked venue", "wedding venue", "planing", "“venue”"]
)
async def test_the_search_box_forgives(store: Store, words: str) -> None:
    put(store, "c_a", look("venue"))
    put(store, "c_b", look("boats"), title="Sailing")
    assert await all_of(store, None, words) == ["Looked through your chats for “venue”"]
    assert await all_of(store, None, words + " glacier") == []


async def test_words_of_scripts_without_spaces_are_found(store: Store) -> None:
    put(store, "c_a", look("東京の天気"))
    assert len(await all_of(store, None, "天気")) == 1 and await all_of(store, None, "大阪") == []


async def test_pages_go_back_in_time_without_gap_or_repeat(store: Store) -> None:
    for chat in ("c_a", "c_b"):
        put(store, chat, *(look(f"word {n}", look_id=f"l_{chat}{n}") for n in range(130)))
    reader, before, rows = Activity(store, secrets.clean), None, []
    while True:
        page = await reader.page(before, limit=50)
        rows += [e.row for e in page.entries]
        before = page.before
        if before is None:
            break
    assert len(rows) == 260 == len(set(rows)) and rows[0] == "l_c_b129" and rows[-1] == "l_c_a0"


async def test_a_rare_word_takes_further_pages_and_no_page_takes_long(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "ACTIVITY_EVENTS", 1_000)
    put(store, "c_a", look("needle", look_id="l_n"), *(look(f"hay {n}", look_id=f"l_{n}") for n in range(1_500)))
    reader = Activity(store, secrets.clean)
    first = await reader.page(None, None, "needle")
    assert first.entries == () and first.before is not None
    assert [e.row for e in (await reader.page(first.before, None, "needle")).entries] == ["l_n"]


async def test_what_a_fork_took_over_is_listed_once_and_imports_not_at_all(store: Store) -> None:
    put(store, "c_a", look("venue"))
    clock = store.clock
    assert isinstance(clock, ManualClock)
    clock.tick(60)
    old = next(s for s in store.events(chat="c_a") if s.event.type == "chats.looked")
    fork = [ev.ChatCreated(title="Fork"), ev.ChatForked(from_chat="c_a", from_title="x")]
    batch = [*(NewEvent("c_f", e) for e in fork), NewEvent("c_f", old.event, old.at)]
    store.commit_sync(Batch([*batch, NewEvent("c_f", look("boats", look_id="l_2"))]))
    put(store, "c_i", look("imported"), origin={"kind": "import", "name": "other"})
    assert await all_of(store) == ["Looked through your chats for “boats”", "Looked through your chats for “venue”"]


async def test_a_deleted_chats_activity_is_gone(store: Store) -> None:
    put(store, "c_a", look("venue"))
    store.delete_sync("c_a")
    assert await all_of(store) == []


def test_every_kind_has_its_events() -> None:
    assert all(kind and types and set(types) <= set(ev.EVENT_TYPES) for kind, types in KINDS.items())
