"""Events of every type, by hand and by chance, for the store's tests."""

from __future__ import annotations

from hypothesis import strategies as st

from store import events as ev
from store.events import Event

SAMPLES: tuple[Event, ...] = (
    ev.ChatCreated(title="Lisbon", folder="/home/me/trips", mode="ask", model="offline"),
    ev.ChatForked(from_chat="c_old", from_title="Trips", message_id="m_9"),
    ev.TitleChanged(title="Lisbon in May", by="model"),
    ev.OptionsChanged(mode="auto", inbound="hold"),
    ev.ChatArchived(archived=True),
    ev.ChatPinned(pinned=2),
    ev.StatusChanged(status="running"),
    ev.ImportAdded(import_id="iab12", program="Otherchat", file="old.jsonl", messages=3, unreadable=1),
    ev.Notice(notice_id="n_1", text="A sentence.", level="warning"),
    ev.UserMessage(message_id="m_1", text="naïve 東京 \x1b[31m", attachments=(ev.Attachment(caption="a boat"),)),
    ev.ForwardedMessage(message_id="m_2", name="Ada", text="Take the tram."),
    ev.AssistantDone(
        message_id="m_3",
        text="Tram 28.",
        thinking="which one?",
        calls=(ev.CallMade(call_id="t_1", name="read_file", input='{"path": "a"}'),),
        model="offline",
    ),
    ev.ContextCompacted(compact_id="x_1", summary="They plan a trip.", through_seq=9, messages=10),
    ev.ContextCleared(compact_id="x_2"),
    ev.ToolStarted(call_id="t_1", name="read_file", input={"path": "a", "n": 1.5}, label="Reads a", effect="read"),
    ev.ToolFinished(call_id="t_1", status="success", output="words", duration_ms=12),
    ev.PermissionRequested(permission_id="p_1", call_id="t_2", tool_name="bash", input={"command": "ls"}, summary="ls"),
    ev.PermissionResolved(permission_id="p_1", decision="allow"),
    ev.Taint(source=ev.TaintSource(kind="web", label="example.org"), call_id="t_1"),
    ev.ChatsLooked(
        look_id="l_1",
        action="search",
        query="tram",
        chats=(ev.LookChat(id="c_2", title="Porto", lines=(ev.LookLine(message="m_8", who="you", text="tram"),)),),
    ),
    ev.TurnStarted(turn_id="r_1", trigger="person", message_id="m_1"),
    ev.StepStarted(turn_id="r_1", step=0, joined=(ev.Joined(kind="now", text="It is May."),)),
    ev.StepFinished(turn_id="r_1", step=0, usage=ev.Usage(input_tokens=3, output_tokens=4)),
    ev.TurnCompleted(turn_id="r_1", outcome="error", error="No answer came.", code="timeout"),
    ev.FilesChanged(
        change_id="f_1",
        call_id="t_1",
        label="Edited a.py",
        files=(ev.FileChange(path="a.py", change="changed", added=3, removed=1, before="ab", after="cd"),),
    ),
    ev.FilesRestored(change_id="f_1", direction="undo", files=("a.py",)),
    ev.ProcessStarted(process_id="s_1", call_id="t_3", command="make serve", folder="/home/me/trips"),
    ev.ProcessEnded(process_id="s_1", exit_code=0),
    ev.MemorySaved(memory_id="y_1", kind="preference", content="Trams, not taxis."),
    ev.MemoryForgotten(memory_id="y_1"),
    ev.MemoryDecided(memory_id="y_2", decision="keep"),
    ev.ChatsListed(
        look_id="l_2",
        working=1,
        chats=(ev.OtherChat(id="c_3", title="Fix the login", state="working", doing="editing files", files=("a.py",)),),
    ),
    ev.ChatMessage(
        message_id="m_7",
        direction="from",
        other=ev.ChatName(id="c_3", title="Fix the login"),
        text="The schema changed.",
        state="held",
        chain="h_1",
    ),
    ev.Wait(
        wait_id="w_1",
        wait=ev.WaitNote(
            wait_id="w_1", kind="ci", title="CI on main", parts=(ev.WaitPart(name="lint", state="passed"),)
        ),
    ),
    ev.Task(
        task_id="k_1",
        title="Smoke test",
        state="needs-you",
        task_chat="c_4",
        steps=(ev.TaskStep(at=1, label="Ran make"),),
        asking=ev.TaskAsking(permission_id="p_2", summary="Run make"),
        rev=3,
    ),
    ev.HistoryExplored(
        explore_id="l_3",
        query="what about trams?",
        state="complete",
        findings=(
            ev.Finding(
                claim="Trams.",
                evidence=(ev.Evidence(chat="c_2", title="Porto", message="m_8", who="you", excerpt="tram", start=4),),
            ),
        ),
    ),
)

_ids = st.sampled_from(["a", "b", "c", "d"])  # few, so that events of one row meet in any order
_words = st.text(max_size=20)


def _with_ids(sample: Event) -> st.SearchStrategy[Event]:
    names = [
        n
        for n in (
            "message_id",
            "call_id",
            "permission_id",
            "turn_id",
            "look_id",
            "notice_id",
            "change_id",
            "process_id",
            "memory_id",
        )
        if n in vars(sample)
    ]
    fields = dict.fromkeys(names, _ids) | ({"text": _words} if "text" in vars(sample) else {})
    return st.fixed_dictionaries(fields).map(lambda changed: sample.model_copy(update=changed))


def any_event() -> st.SearchStrategy[Event]:
    """An event of any type, its ids from a small pool; some of a type nobody knows."""
    unknown = st.builds(
        lambda n: ev.UnknownEvent(type="later.thing", raw={"type": "later.thing", "v": 3, "n": n}), _words
    )
    return st.one_of(*(_with_ids(s) for s in SAMPLES), unknown)
