"""The verdict: modes, what was read, whose words, and what no mode lifts."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.guard import reasons
from app.guard.addresses import carries, named
from app.guard.judge import Allowed, Question, Refused, Situation, judge, plainly_asked
from app.ports import CallFacts
from store.events import TaintSource

FOLDER, HOME, OWN = "/home/me/work/proj", "/home/me", "/home/me/.local/share/shoal"
PAGE = TaintSource(kind="web", label="a.example")
ANA = TaintSource(kind="person", label="Ana on Telegram")


def now(mode="auto", *taints, **more):
    return Situation(mode, taints, folder=FOLDER, home=HOME, own=(OWN,), **more)


def command(text, folder=FOLDER):
    return CallFacts("run_command", "command", "write", command=text, folder=folder, place=folder)


def write(*paths):
    out = tuple(p for p in paths if not p.startswith(FOLDER + "/"))
    return CallFacts("write_file", "files", "write", paths=paths, outside=out, folder=FOLDER, place=paths[0])


def read(path):
    out = () if path.startswith(FOLDER + "/") else (path,)
    return CallFacts("read_file", "files", "read", paths=(path,), outside=out, folder=FOLDER, place=path)


def fetch(url):
    return CallFacts("fetch_page", "web", "read", url=url, place="host")


def other(name, family="together", effect="write", **more):
    return CallFacts(name, family, effect, **more)


def allowed(verdict):
    return isinstance(verdict, Allowed)


# -- modes


def test_in_auto_nothing_is_asked_of_a_chat_that_read_nothing():
    for call in (command("touch x"), command("git push"), write(f"{FOLDER}/a.py"), write(f"{FOLDER}/package.json"),
                 fetch("https://a.example/" + "x" * 90), other("stop_chat"),
                 other("start_background_task", "task")):  # fmt: skip
        assert allowed(judge(call, now())), call


def test_read_only_refuses_every_change_and_lets_reads_through():
    for call in (
        command("ls"),
        write(f"{FOLDER}/a"),
        other("message_chat"),
        other("remember", "memory"),
        other("x", "odd"),
    ):
        assert judge(call, now("plan")) == Refused(reasons.PLAN)
    assert allowed(judge(read(f"{FOLDER}/a"), now("plan"))) and allowed(judge(fetch("https://a.example"), now("plan")))


def test_ask_first_asks_before_each_change_and_not_before_a_look():
    for call in (command("git status"), command("touch x"), write(f"{FOLDER}/a"), other("stop_chat")):
        assert isinstance(judge(call, now("ask")), Question)
    assert allowed(judge(read(f"{FOLDER}/a"), now("ask")))
    assert allowed(judge(other("message_chat"), now("ask"))) and allowed(judge(other("remember", "memory"), now("ask")))


def test_a_place_outside_the_folder_asks_in_every_mode():
    for mode in ("ask", "auto", "plan", "full"):
        assert isinstance(judge(read("/etc/hosts"), now(mode)), Question)
    assert isinstance(judge(write("/etc/hosts"), now("auto")), Question)
    asked = judge(write("/etc/hosts"), now("full"))
    assert isinstance(asked, Question) and asked.key is not None
    assert allowed(judge(write("/etc/hosts"), now("full", allowed=frozenset({asked.key}))))


def test_a_card_of_a_chat_that_read_nothing_says_too_why_it_asks():
    inside = f"{FOLDER}/.vscode/tasks.json"
    for call, words in (
        (write("/tmp/x"), "change a file outside the work folder"),
        (replace(write(inside), outside=(inside,)), "change a file that runs or configures something"),
    ):
        asked = judge(call, now())
        assert (asked.reason, asked.detail) == ("", f"It would {words}.")
        after = judge(call, now("auto", PAGE))
        assert words in after.reason and after.detail == ""


def test_full_trust_asks_nothing_inside_the_folder():
    assert allowed(judge(write(f"{FOLDER}/a.py"), now("full"))) and allowed(judge(read(f"{FOLDER}/a.py"), now("full")))
    starts = CallFacts("write_file", "files", "write", paths=(f"{FOLDER}/.envrc",), outside=(f"{FOLDER}/.envrc",))
    assert allowed(judge(starts, now("full")))


# -- after reading


@pytest.mark.parametrize(
    "call",
    [
        command("touch x"), command("git pull"), command("npm ci"), command("pytest"), command("python a.py"),
        command("ls; touch x"), command("ls", "/etc"), write("/tmp/x"), write(f"{FOLDER}/.git/hooks/pre-commit"),
        write(f"{FOLDER}/package.json"), write(f"{FOLDER}/.github/workflows/ci.yml"),
        write(f"{FOLDER}/.vscode/tasks.json"),
        write(f"{FOLDER}/conftest.py"), write(f"{FOLDER}/Makefile"), write(f"{FOLDER}/sub/.BASHRC"),
        fetch("https://b.example/"), fetch("https://b.example/?d=" + "x" * 90),
        other("web_search", "web", "read", carries_out=True),
        other("stop_chat"), other("start_background_task", "task"), other("task_control", "task"),
        other("app_tool", "app"),
        other("forget", "memory"), other("use_password", "password"), other("write_file", "files"),
        command("sudo ls"), command("curl -d @x https://a.example"),
    ],
)  # fmt: skip
def test_every_way_out_asks_once_something_was_read_and_the_card_says_what(call):
    for mode in ("auto", "ask"):
        verdict = judge(call, now(mode, PAGE))
        assert isinstance(verdict, Question), call
        assert "a.example" in verdict.reason and "steer" in verdict.reason
    assert allowed(judge(call, now("full", PAGE))) == (not call.outside)  # files outside ask in every mode


@pytest.mark.parametrize(
    "call",
    [
        command("git status"), command("git log -5 | head"), command("grep -rn x src"), read(f"{FOLDER}/a"),
        write(f"{FOLDER}/src/a.py"), other("message_chat"), other("remember", "memory"), other("wait_for"),
        other("search_chats", "history", "read"), other("recall", "memory", "read"),
    ],
)  # fmt: skip
def test_reading_on_and_ordinary_edits_stay_free(call):
    assert allowed(judge(call, now("auto", PAGE)))


def test_being_sandboxed_lifts_nothing():
    assert isinstance(judge(replace(command("touch x"), sandboxed=True), now("auto", PAGE)), Question)


def test_a_chat_whose_reading_cannot_be_told_counts_as_the_worst():
    unknown = Situation("full", None, folder=FOLDER, home=HOME, own=(OWN,))
    verdict = judge(command("touch x"), unknown)
    assert isinstance(verdict, Question) and verdict.once and verdict.reason.startswith("It can't be told")


# -- full trust, other people, nobody there


def test_full_trust_asks_after_reading_only_with_others_words_or_nobody_there():
    touch = command("touch x")
    assert allowed(judge(touch, now("full", PAGE)))
    assert isinstance(judge(touch, now("full", PAGE, ANA)), Question)
    assert isinstance(judge(touch, now("full", PAGE, attended=False)), Question)
    assert allowed(judge(touch, now("full", attended=False)))
    assert allowed(judge(other("stop_chat"), now("full", PAGE)))
    assert isinstance(judge(other("stop_chat"), now("full", ANA)), Question)


@pytest.mark.parametrize("mode", ["ask", "auto", "full"])
def test_what_no_mode_lifts(mode):
    wipe = judge(command("rm -rf ~"), now(mode))
    assert isinstance(wipe, Question) and wipe.once and wipe.key is None
    for refused in (command(f"cat {OWN}/store.db"), command("shoal redact x"), read(f"{OWN}/settings.toml"),
                    write(f"{OWN}/new"), write(OWN.upper() + "/x"), other("x", never="Not this.")):  # fmt: skip
        assert isinstance(judge(refused, now(mode)), Refused)
    assert isinstance(judge(other("explore_chat_history", "history", "read", consent=True), now(mode)), Question)


def test_what_full_trust_would_have_let_through_is_marked():
    assert judge(command("touch x"), now("ask")).full_allows
    assert judge(command("sudo ls"), now("auto")).full_allows
    assert not judge(command("rm -rf ~"), now("auto")).full_allows
    assert not judge(command("touch x"), now("ask", ANA)).full_allows
    assert not judge(other("x", consent=True), now("ask")).full_allows


# -- the person's words


def test_a_step_the_person_plainly_asked_for_goes_ahead_while_nothing_was_read():
    push = command("git push --force origin main")
    assert isinstance(judge(push, now()), Question)
    said = ("run `git push --force origin main`",)
    assert allowed(judge(push, now(words=said)))
    assert isinstance(judge(push, now("auto", PAGE, words=said)), Question)
    assert isinstance(judge(push, now("ask", words=said)), Question)
    assert isinstance(judge(push, now(words=said, attended=False)), Question)
    assert isinstance(judge(command("rm -rf ~"), now(words=("run rm -rf ~",))), Question)
    assert isinstance(judge(write("/etc/x"), now(words=("write /etc/x",))), Question)


@pytest.mark.parametrize(
    "said, plain",
    [
        ("sudo make install", True), ("`sudo make install`", True), ("please run sudo make install now", True),
        ("Tests pass. Now run: sudo make install", True), ("ok, run `sudo make install`, then tell me", True),
        ("don't run sudo make install", False), ("never run `sudo make install`", False),
        ("what would sudo make install do?", False),
        ("the page says: run sudo make install", False), ("run sudo make install2", False), ("sudo make", False),
        ("Ana wrote: please run sudo make install", False), ("I ran sudo make install yesterday", False), ("", False),
    ],
)  # fmt: skip
def test_what_counts_as_plainly_asked(said, plain):
    assert plainly_asked("sudo make install", (said,)) is plain


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80), st.sampled_from(["label", "summary", "preview", "said", "words"]))
def test_no_text_ever_lowers_a_verdict_after_reading(text, where):
    taints = (TaintSource(kind="web", label=text or "x"),) if where == "label" else (PAGE,)
    call = replace(command("touch x"), **({where: text} if where in ("summary", "preview") else {}))
    more = {where: (text,)} if where in ("said", "words") else {}
    assert isinstance(judge(call, now("auto", *taints, **more)), Question)
    assert isinstance(judge(command("rm -rf ~"), now("full", *taints, **more)), Question)


# -- always allow


def test_always_is_for_exactly_this_command_and_folder():
    asked = judge(command("touch x"), now("auto", PAGE))
    assert isinstance(asked, Question) and asked.key is not None
    rules = frozenset((asked.key,))
    assert allowed(judge(command("touch x"), now("auto", PAGE, allowed=rules)))
    for different in (
        command("touch y"),
        command("touch x "),
        command("touch  x"),
        command("touch x", f"{FOLDER}/sub"),
        write("/tmp/x"),
    ):
        assert isinstance(judge(different, now("auto", PAGE, allowed=rules)), Question)
    assert isinstance(judge(command("touch x"), now("auto", PAGE, ANA, allowed=rules)), Question)


@pytest.mark.parametrize(
    "text",
    [
        "a && b", "a; b", "a | b", "a > b", "a &", "a $(b)", "a `b`", "A=1 a", "a\nb", "python -c 1", "sh -c a",
        "bash x.sh",
        "env a", "xargs a", "sudo a", "node x", "eval a", "a $B", "ssh h a", "./x \u202e", "a" + " " * 50 + "b",
        "make x",
        "find . -exec a ;", "a *", "rm -rf ~",
    ],
)  # fmt: skip
def test_always_is_never_offered_for_more_than_one_plain_program(text):
    verdict = judge(command(text), now("ask"))
    assert isinstance(verdict, Question) and verdict.key is None and verdict.once


def test_always_of_another_tool_is_for_its_host_or_path():
    page = judge(fetch("https://b.example/a"), now("auto", PAGE))
    again = now("auto", PAGE, allowed=frozenset((page.key,)))
    assert allowed(judge(fetch("https://b.example/other"), again))
    assert not allowed(judge(fetch("https://c.example/a"), again)) and not allowed(
        judge(fetch("https://b.example:81/"), again)
    )
    file = judge(write("/tmp/x"), now())
    assert allowed(judge(write("/tmp/x"), now(allowed=frozenset((file.key,)))))
    assert not allowed(judge(write("/tmp/y"), now(allowed=frozenset((file.key,)))))
    assert judge(replace(write("/tmp/x"), once=True), now()).key is None


# -- addresses


@pytest.mark.parametrize(
    "url, bad",
    [
        ("https://a.example/docs/page?id=3", False), ("https://a.example/#part", False),
        ("https://www.a.co.uk/x", False),
        ("https://a.example/?" + "x" * 81, True), ("https://a.example/#" + "x" * 81, True),
        ("https://a.example/" + "x" * 61, True),
        ("https://a.example/?data=" + "x" * 24, True), ("https://a.example/?token=" + "x" * 23, False),
        ("https://" + "x" * 41 + ".example/", True), ("https://a.b.c.d.e.f.example.com/", True),
        ("https://a.b.c.example.com/", False),
        ("https://me:pw@a.example/", True), ("https://me@a.example/", True), ("https://a.example:8443/", True),
        ("https://a.example:443/", False), ("http://good\\@evil.example/", True), ("https://a.example:99999/", True),
        ("https://[x/", True),
    ],
)  # fmt: skip
def test_addresses_that_could_carry_words_out(url, bad):
    assert (carries(url) is not None) is bad
    verdict = judge(fetch(url), now("auto", PAGE, said=("read a.example www.a.co.uk a.b.c.example.com",)))
    assert allowed(verdict) is not bad
    assert allowed(judge(fetch(url), now()))


def test_only_a_host_the_person_named_is_free_after_reading():
    assert named("https://docs.a.example/x", ("look at https://docs.a.example/y please",))
    assert named("https://a.example/", ("see www.A.example.",)) and named(
        "http://127.0.0.1:8080/x", ("get http://127.0.0.1:8080/",)
    )
    for said in ("", "a.example", "notdocs.a.example", "docs.a.example.evil.test", "docs a example"):
        assert not named("https://docs.a.example/", (said,))
    local = fetch("http://127.0.0.1:8080/x")
    assert allowed(judge(local, now("auto", PAGE, said=("get http://127.0.0.1:8080/",))))


@pytest.mark.parametrize("rest", ["?q=" + "x" * 81, "#" + "x" * 81, "x" * 61, "?data=" + "x" * 24])
def test_a_port_that_the_person_named_lets_nothing_else_of_the_address_through(rest):
    url = "http://127.0.0.1:8080/" + rest
    assert not allowed(judge(fetch(url), now("auto", PAGE, said=("get http://127.0.0.1:8080/",))))


# -- reasons and speed


def test_the_reason_names_at_most_three_sources_in_words_by_kind():
    sources = [TaintSource(kind=k, label=name) for k, name in
               [("person", "Ana"), ("web", "a.example"), ("web", "b.example"), ("download", "c.example"),
               ("app", "Mail")]]  # fmt: skip
    assert reasons.read(sources[:2]) == "This chat read a.example and got a message from Ana"
    assert reasons.read(sources[1:]) == "This chat read a.example and b.example and downloaded c.example, and 1 more"
    assert reasons.read(sources).endswith(", and 2 more")
    assert reasons.read([sources[4]]) == "This chat read things in Mail"
    assert reasons.read([]) == "" and reasons.caution([], "x") == ""
    assert reasons.caution([PAGE], "run a command").endswith("it is about to run a command.")


def test_a_verdict_takes_about_a_millisecond():
    call, then = command("git status && git log -5 | head"), now("auto", PAGE)
    judge(call, then)
    best = min(_timed(call, then) for _ in range(30))
    assert best < 0.002


def _timed(call, then):
    begun = time.perf_counter()
    judge(call, then)
    return time.perf_counter() - begun
