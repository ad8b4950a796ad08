"""No cut tears a secret: the middle of a private key, and keys over the edge of a long line."""

from __future__ import annotations

import base64
from pathlib import Path

from app.guard import secrets
from app.tools.files.hiding import KeyBlock, cut, without_keys
from app.tools.shell.output import HeadTail, Ring
from tests.tools.hands import Hands, put

BODY = [base64.b64encode(bytes((i * 37 + n * 11) % 256 for n in range(48))).decode() for i in range(8)]
KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *BODY, "-----END RSA PRIVATE KEY-----"])
TOKEN = "ghp_" + "a1B2c3D4e5" * 4


async def test_a_private_key_is_hidden_from_whichever_line_it_is_read(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "notes.txt", f"one\n{KEY}\nafter\n")
    for offset in range(1, 11):
        text = secrets.clean(await hands.text("read_file", path="notes.txt", offset=offset))
        assert not any(line in text for line in BODY), offset
        assert "after" in text
        one = secrets.clean(await hands.text("read_file", path="notes.txt", offset=offset, limit=1))
        assert not any(line in one for line in BODY), offset
    assert "after" in await hands.text("read_file", path="notes.txt", offset=12)


async def test_a_search_shows_no_line_of_a_private_key(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    put(hands.work, "notes.txt", f"one\n{KEY}\nafter\n")
    found = secrets.clean(await hands.text("search_files", pattern="^[A-Za-z0-9+/=]{5,}$", regex=True))
    assert "after" in found and not any(line[:20] in found for line in BODY)


async def test_a_key_over_the_edge_of_what_is_shown_of_a_long_line_is_hidden(tmp_path: Path) -> None:
    hands = Hands(tmp_path)
    for before in (1_960, 1_985, 1_999):
        put(hands.work, "long.js", "x" * (before - 1) + " " + TOKEN + " " + "needle " + "y" * 3_000 + "\nend\n")
        text = secrets.clean(await hands.text("read_file", path="long.js"))
        assert "more characters" in text and TOKEN[:10] not in text and "end" in text
    put(hands.work, "long.js", "x" * 900 + " " + TOKEN + " " + "z" * 80 + " needle " + "y" * 3_000 + "\n")
    text = secrets.clean(await hands.text("search_files", pattern="needle"))
    assert "needle" in text and TOKEN[-12:] not in text


def test_a_cut_line_keeps_what_is_no_secret() -> None:
    line = "word " * 1_000
    assert cut(line, 500, 800) == line[500:800] and cut("short", 0, 300) == "short"
    assert without_keys("a\nb") == "a\nb" and without_keys(f"a\n{KEY}\nb").count("\n") == f"a\n{KEY}\nb".count("\n")
    block = KeyBlock()
    assert [block.holds(line) for line in ["a", *KEY.split("\n"), "b"]] == [False, False, *[True] * 9, False]


def test_the_newest_line_is_filtered_before_it_is_cut():
    token = "ghp_" + "a1B2c3D4e5" * 4
    for out in (HeadTail(), Ring()):
        out.feed(("start\n" + "x" * 190 + " " + token + " end").encode())
        assert token[:6] not in out.last_line(secrets.clean) and out.last_line(secrets.clean).startswith("xxx")
    long = Ring()
    long.feed((token + "y" * 1_500 + " ").encode() * 40)
    assert "B2c3D4" not in long.last_line(secrets.clean)
