"""A hostile paste through a real pseudo-terminal: nothing is sent by it."""

from __future__ import annotations

import sys
from pathlib import Path

import pexpect

PROGRAM = """
import sys
from textual import on
from textual.app import App
from widgets.composer import Composer
from widgets.net import NET


class Small(App):
    def get_line_filters(self):
        return [*super().get_line_filters(), NET]

    def compose(self):
        yield Composer()

    def on_mount(self):
        self.query_one(Composer).focus()
        self.set_timer(0.2, lambda: open(sys.argv[1] + ".ready", "w").close())

    @on(Composer.Sent)
    def sent(self, event):
        with open(sys.argv[1], "a") as out:
            out.write("SENT " + repr(event.text) + "\\n")

    async def on_key(self, event):
        if event.key == "f5":
            with open(sys.argv[1], "a") as out:
                out.write("DRAFT " + repr(self.query_one(Composer).draft()) + "\\n")
            self.exit()


Small().run()
"""


def test_the_end_of_paste_mark_inside_a_paste_sends_nothing(tmp_path: Path) -> None:
    program, out = tmp_path / "small.py", tmp_path / "out"
    program.write_text(PROGRAM)
    root = str(Path(__file__).parents[2])
    env = {"PYTHONPATH": root, "TERM": "xterm-256color", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    child = pexpect.spawn(
        sys.executable, [str(program), str(out)], env=env, dimensions=(20, 60), timeout=20, use_poll=True
    )  # type: ignore[arg-type]
    for _ in range(200):
        if (tmp_path / "out.ready").exists():
            break
        child.expect([pexpect.TIMEOUT, pexpect.EOF], timeout=0.1)
    child.send("\x1b[200~harmless\x1b[201~ls /tmp\r\x1b[201~")
    child.expect([pexpect.TIMEOUT, pexpect.EOF], timeout=1.0)
    child.send("\x1b[15~")
    child.expect(pexpect.EOF)
    text = out.read_text()
    assert "SENT" not in text
    assert text.startswith("DRAFT 'harmlessls /tmp")
