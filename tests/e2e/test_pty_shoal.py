"""The real program in a real (pseudo) terminal, from first start to quitting."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from app.paths import Home
from store import events as ev
from store.log import Batch, Store
from tests.e2e.terminal import ROOT, Terminal

CORPUS = Path(__file__).resolve().parents[1] / "corpora" / "injection-dev.jsonl"
READY = "or / for commands"
Start = Callable[..., Terminal]

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts Shoals over one home; ends them all."""
    running: list[Terminal] = []

    def begin(*args: str, **options: object) -> Terminal:
        terminal = Terminal(tmp_path / "home", *args, **options)  # type: ignore[arg-type]
        running.append(terminal)
        return terminal

    yield begin
    for terminal in running:
        terminal.close()


def left_right(raw: bytes) -> None:
    """The terminal is as it was: the main screen, a cursor, no mouse reports, no bracketed paste."""
    for mode in (b"1049", b"1000", b"1003", b"1006", b"2004"):
        assert raw.rfind(b"\x1b[?" + mode + b"l") > raw.rfind(b"\x1b[?" + mode + b"h"), mode
    assert raw.rfind(b"\x1b[?25h") > raw.rfind(b"\x1b[?25l")


def seed(home: Path, title: str, *texts: str, more: Sequence[ev.Event] = (), end: str = "") -> str:
    """A chat in the store, written before Shoal starts; `more` and `end` come after its words."""
    from store.state import KeepState

    home.mkdir(exist_ok=True)
    store = Store(Home(home).store)
    chat = f"c_{abs(hash(title)) % 10**12:012d}"
    said = [ev.UserMessage(message_id=f"m_{i}{chat}", text=text) for i, text in enumerate(texts)]
    last = [ev.AssistantDone(message_id=f"m_end{chat}", text=end)] if end else []
    store.commit_sync(Batch.of(chat, ev.ChatCreated(title=title[:200]), *said, *more, *last))
    store.commit_sync(Batch(changes=[KeepState("", "deck", {"chats": [chat], "focus": 0})]))
    store.close()
    return chat


def test_from_the_first_word_to_the_line_found_again(start: Start) -> None:
    shoal = start()
    shoal.wait("write your first message")
    shoal.press("what can you do?", "enter")
    shoal.wait("offline assistant")
    shoal.press("remember the boathouse costs 900 crowns", "enter")
    shoal.wait("boathouse")
    shoal.press("f8", "n")
    shoal.wait(READY)
    shoal.press("ctrl+k")
    shoal.wait("Search every chat")
    shoal.press(*"boathouse crowns")
    shoal.wait("in 1 chat")
    shoal.press("enter")
    shoal.wait("Find")
    shoal.wait(lambda text: "1 of" in text and "900 crowns" in text)
    shoal.press("ctrl+q")
    assert shoal.ended() == 0
    left_right(shoal.raw)


def test_a_second_shoal_says_who_holds_the_home(start: Start) -> None:
    first = start()
    first.wait(READY)
    second = start()
    assert second.ended() == 4
    assert b"Traceback" not in second.raw
    assert str(first.child.pid).encode() in second.raw


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_the_terminal_right_and_the_draft_kept(start: Start, number: int) -> None:
    shoal = start()
    shoal.wait(READY)
    shoal.press("half a thou", "ght")
    shoal.wait("half a thought")
    shoal.kill(number)
    assert shoal.ended() in (143, 129)
    left_right(shoal.raw)
    again = start()
    again.wait("half a thought")


def test_ctrl_c_never_ends_it(start: Start) -> None:
    shoal = start()
    shoal.wait(READY)
    shoal.press("ctrl+c")
    shoal.wait("quits")
    assert shoal.child.isalive()


def test_a_stop_signal_gives_the_terminal_back_and_going_on_draws_it_again(start: Start) -> None:
    shoal = start()
    shoal.wait(READY)
    shoal.press("half a thou", "ght")
    shoal.wait("half a thought")
    before = len(shoal.raw)
    shoal.kill(signal.SIGTSTP)
    shoal.pump(0.5)
    assert Path(f"/proc/{shoal.child.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    left_right(shoal.raw[before:])
    shoal.screen.reset()
    shoal.kill(signal.SIGCONT)
    shoal.wait("half a thought")
    shoal.press(", whole")
    shoal.wait("half a thought, whole")


def test_a_closed_terminal_ends_it_and_keeps_the_draft(start: Start) -> None:
    shoal = start()
    shoal.wait(READY)
    shoal.press("typed before the line was lost")
    shoal.wait("line was lost")
    shoal.pump(0.8)
    shoal.child.ptyproc.delayafterterminate = 3.0  # what it may take to save and go
    shoal.child.close(force=False)
    again = start()
    again.wait("typed before the line was lost")


def run_plain(home: Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    base = {k: v for k, v in os.environ.items() if not k.startswith("SHOAL_")}
    command = [sys.executable, str(ROOT / "shoal.py")]
    return subprocess.run(
        command, env=base | {"SHOAL_HOME": str(home)} | env, capture_output=True, timeout=60, input=b"", check=False
    )


def test_without_a_terminal_it_says_in_one_line_what_it_needs(tmp_path: Path) -> None:
    done = run_plain(tmp_path / "home")
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1 and b"terminal" in done.stderr


def test_a_dumb_terminal_is_told_so(start: Start) -> None:
    shoal = start(env={"TERM": "dumb"})
    assert shoal.ended() == 2
    assert b"TERM=dumb" in shoal.raw and b"\x1b" not in shoal.raw


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"LANG": "C", "LC_ALL": "C"}])
def test_it_starts_without_colour_and_in_the_c_locale(start: Start, env: dict[str, str]) -> None:
    shoal = start(env=env)
    shoal.wait(READY)
    shoal.press("ctrl+q")
    assert shoal.ended() == 0


def test_a_tiny_and_a_changing_window_never_end_it(start: Start, tmp_path: Path) -> None:
    seed(tmp_path / "home", "Sizes", *(f"line {n} of some length, with words" for n in range(30)))
    shoal = start(columns=20, lines=5)
    shoal.pump(2.0)
    assert shoal.child.isalive()
    for columns, lines in [(1, 1), (500, 200), (40, 3), (132, 40), (20, 5), (80, 24)]:
        shoal.resize(columns, lines)
        shoal.pump(0.2)
    shoal.press("ctrl+k")
    for columns in (60, 20, 110, 80):
        shoal.resize(columns, 24)
        shoal.pump(0.1)
    shoal.press("escape")
    shoal.wait("line 29")
    shoal.press("ctrl+q")
    assert shoal.ended() == 0


# -- the net, on raw bytes

DRIVER = re.compile(
    rb"\x1b\[[0-9;]*[mHJK]|\x1b\[[?<>=][0-9;]*(?:\$p|[hlu])|\x1b\[>\d*u|\x1b\[<u|\x1b\[\d* q|\x1b\]22;[a-z]*\x07"
    rb"|\x1b\[6n|\x1b\[c|\x1bP[^\x1b]*\x1b\\|\x1b\[\?u|\x1b\[14t|\x1b\[16t"
)
HIDDEN = re.compile("[\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f\x80-\x9f]")


def hostile() -> list[str]:
    """Every line of the corpus."""
    rows = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    texts = [base64.b64decode(row["text_b64"]).decode("utf-8", "surrogatepass") for row in rows]
    named = [text.replace("{HOST}", "Shoal").replace("{host}", "shoal") for text in texts]
    return [text.encode("utf-8", "replace").decode() for text in named]


def doings(text: str, n: int) -> list[ev.Event]:
    """A line wherever a reply's work puts words of others: names, labels, outputs, paths, memories, sources."""
    return [
        ev.ForwardedMessage(message_id=f"m_f{n}", name=text[:120] or "x", text=text),
        ev.Taint(source=ev.TaintSource(kind="web", label=text[:120] or "x")),
        ev.ToolStarted(call_id=f"t_{n}", name="run_command", input={"command": text}, label=text, family="command"),
        ev.ToolFinished(call_id=f"t_{n}", status="error", output=text),
        ev.PermissionRequested(permission_id=f"p_{n}", tool_name="run_command", summary=text, preview=text, place=text),
        ev.PermissionResolved(permission_id=f"p_{n}", decision="deny"),
        ev.ProcessStarted(process_id=f"pr_{n}", command=text, folder=text),
        ev.ProcessEnded(process_id=f"pr_{n}", exit_code=1),
        ev.FilesChanged(change_id=f"f_{n}", label=text, files=(ev.FileChange(path=text, change="created", added=1),)),
        ev.MemorySaved(memory_id=f"y_{n}", kind="fact", content=text[:2_000] or "x"),
        ev.Notice(notice_id=f"n_{n}", text=text, level="warning"),
    ]


def assert_harmless(raw: bytes) -> None:
    rest = DRIVER.sub(b"", raw)
    control = re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", rest)
    assert control is None, rest[max(0, control.start() - 60) : control.end() + 60]
    shown = rest.decode("utf-8", "replace")
    hidden = HIDDEN.search(shown)
    assert hidden is None, repr(shown[max(0, hidden.start() - 60) : hidden.end() + 60])


def test_every_hostile_line_reaches_the_terminal_as_plain_letters_wherever_it_is_shown(
    start: Start, tmp_path: Path
) -> None:
    def ends(text: str) -> set[str]:
        return set(re.findall(r"seen-\d\d-whole", text))

    home, lines, each = tmp_path / "home", hostile(), 6
    parts = [lines[n : n + each] for n in range(0, len(lines), each)]
    for n, part in enumerate(parts):
        more = [event for k, text in enumerate(part[:1]) for event in doings(text, each * n + k)]
        seed(home, part[0], *part, more=more, end=f"seen-{n:02}-whole")
    shoal = start(lines=90)
    shoal.wait(lambda text: bool(ends(text)))
    seen = ends(shoal.text)

    def another(text: str) -> bool:
        return bool(ends(text) - seen)

    while len(seen) < len(parts):
        shoal.child.send("\x1b[1;3B")  # alt+down: the next chat
        seen |= ends(shoal.wait(another))
    shoal.press("f3")
    shoal.wait("Activity")
    shoal.pump(0.3)
    shoal.press("escape", "ctrl+k", *"half an")
    shoal.pump(0.8)
    shoal.press("escape", "f8", "b")
    shoal.pump(0.3)
    shoal.press("r")
    shoal.pump(0.5)
    shoal.press("escape", "ctrl+q")
    assert shoal.ended() == 0
    assert_harmless(shoal.raw)


def test_a_hostile_paste_is_cleaned_and_sends_nothing(start: Start) -> None:
    shoal = start()
    shoal.wait(READY)
    pasted = "one\x00 two\u202e three\ttab \x1b]0;mine\x07 four"
    shoal.child.send(f"\x1b[200~{pasted}\x1b[201~\r")
    shoal.wait("four")
    shoal.pump(0.5)
    assert "you  " not in shoal.text, "the carriage return after a paste sends nothing"
    shoal.press("ctrl+q")
    shoal.ended()
    assert_harmless(shoal.raw)


def test_an_answer_quotes_an_earlier_chat_and_its_row_opens_the_line(start: Start, tmp_path: Path) -> None:
    lines = ["Where do we meet for the regatta?", "We decided on the old boathouse for the regatta.", "Good."]
    seed(tmp_path / "home", "Regatta plans", *lines)
    shoal = start(columns=150)
    shoal.wait("old boathouse")
    shoal.press("f8", "n")
    shoal.wait("write your first message")
    shoal.press("what did we decide about the regatta?", "enter")
    shoal.wait(lambda text: "Looked through your chats" in text and "“Regatta plans”" in text)
    shoal.pump(1.0)
    shoal.press("tab")
    shoal.pump(0.4)
    for _ in range(6):
        if "▌▸ Looked" in shoal.text:
            break
        shoal.press("up")
        shoal.pump(0.4)
    shoal.press("enter")
    shoal.wait("▾ Looked")
    shoal.press("down", "down", "down", "enter")  # its chat, the first line, the second
    shoal.wait(lambda text: text.count("○ Regatta plans") == 2 and "▌We decided" in text)
    shoal.press("ctrl+q")
    assert shoal.ended() == 0
