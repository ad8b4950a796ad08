"""One message of the person's leads to eight messages and four started replies at the most, whatever chats do."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app import commands as cmd
from app.ports import ModelRequest
from app.providers.scripted import ScriptedWire
from app.tasks.room import Machine
from app.together import chains
from app.together.chains import Wanted, refusal
from app.together.messages import CHAIN_STOPPED
from store.limits import (
    CHAIN_MESSAGES,
    CHAIN_PAIR_MESSAGES,
    CHAIN_REPLIES,
    CHAINS_KEPT_DAYS,
    MESSAGE_REPEAT_MS,
    MESSAGES_WAITING,
)
from store.log import Batch
from store.together import Chain, KeptTask, KeptWait, Put, SentMessage
from tests.session.kit import FakeTool, until
from tests.together.kit import Chats, Holds, call, open_chats

NAMES = [f"c_{n}" for n in range(12)]


class World:
    """Chats that obey: each reply sends and starts whatever it may. Deliveries come in any order."""

    def __init__(self, chance: random.Random, chats: int) -> None:
        self.chance, self.names = chance, NAMES[:chats]
        self.chain = Chain("h_1", 0, self.names[0])
        self.sent: list[SentMessage] = []
        self.now = 0

    def reply(self, chat: str) -> None:
        for _ in range(self.chance.randint(1, 6)):
            self.now += self.chance.choice((1, 1000, MESSAGE_REPEAT_MS))
            other = self.chance.choice([n for n in self.names if n != chat])
            text = self.chance.choice(("a", "b", "a  b", f"{self.now}"))
            wanted = Wanted(chat, other, text, self.chance.random() < 0.7, self.now)
            if refusal(wanted, self.chain, self.sent) is None:
                state: Any = self.chance.choice(("waiting", "waiting", "held"))
                self.sent.append(
                    SentMessage(
                        f"m_{len(self.sent):03}",
                        chat,
                        other,
                        text,
                        state,
                        "h_1",
                        self.now,
                        wanted.start_reply,
                        words=chains.folded(text),
                    )
                )
                started = self.chain.replies + wanted.start_reply
                self.chain = replace(self.chain, messages=self.chain.messages + 1, replies=started)

    def run(self) -> int:
        replies = 0
        self.reply(self.names[0])
        for _ in range(200):
            waiting = [m for m in self.sent if m.state in ("waiting", "held")]
            if not waiting:
                break
            message = self.chance.choice(waiting)
            self.sent[self.sent.index(message)] = replace(message, state="read")
            if message.start_reply:
                replies += 1
            self.reply(message.receiver)  # also one that was only read goes on to write
        return replies


@given(st.integers(0, 2**32), st.integers(2, 12))
@settings(max_examples=300, deadline=None)
def test_no_graph_of_chats_goes_past_the_chains_bounds(seed: int, chats: int) -> None:
    world = World(random.Random(seed), chats)
    replies = world.run()
    assert len(world.sent) <= CHAIN_MESSAGES and replies <= CHAIN_REPLIES
    pairs = [(m.sender, m.receiver) for m in world.sent]
    assert all(pairs.count(pair) <= CHAIN_PAIR_MESSAGES for pair in pairs)


def sent(
    n: int, sender: str = "a", receiver: str = "b", state: Any = "read", chain: str = "h", **more: Any
) -> SentMessage:
    return SentMessage(f"m_{n}", sender, receiver, f"{n}", state, chain, 0, words=f"{n}", **more)


def test_each_limit_has_a_sentence_of_its_own_in_order() -> None:
    wanted = Wanted("a", "b", "new", True, MESSAGE_REPEAT_MS)
    clean = Chain("h", 0)
    assert refusal(wanted, clean, []) is None
    again = [replace(sent(1), words="new", at=1)]
    waits = [sent(n, f"s{n}", "b", "waiting", "other") for n in range(MESSAGES_WAITING)]
    pair = [sent(n) for n in range(10, 10 + CHAIN_PAIR_MESSAGES)]
    full = Chain("h", 0, messages=CHAIN_MESSAGES, replies=CHAIN_REPLIES)
    assert refusal(wanted, full, [*again, *waits, *pair]) == chains.REPEATED
    assert refusal(wanted, full, [*waits, *pair]) == chains.TOO_MANY_WAIT
    assert refusal(wanted, full, pair) == chains.PAIR_FULL
    assert refusal(wanted, full, []) == chains.CHAIN_FULL
    assert refusal(wanted, replace(full, messages=0), []) == chains.REPLIES_FULL
    assert refusal(replace(wanted, start_reply=False), replace(full, messages=0), []) is None
    assert refusal(wanted, Chain("h", 0, stopped=1), []) == chains.STOPPED
    assert len({chains.REPEATED, chains.TOO_MANY_WAIT, chains.PAIR_FULL, chains.CHAIN_FULL, chains.REPLIES_FULL}) == 5


def test_refused_ones_and_reasons_of_a_stop_do_not_count_and_held_ones_do() -> None:
    wanted = Wanted("a", "b", "new", False, MESSAGE_REPEAT_MS)
    refused = [sent(n, state="refused") for n in range(5)]
    stops = [sent(n, state="waiting", stop=True) for n in range(9)]
    assert refusal(wanted, Chain("h", 0), [*refused, *stops]) is None
    held = [sent(n, f"s{n}", "b", "held", "other") for n in range(MESSAGES_WAITING)]
    assert refusal(wanted, Chain("h", 0), held) == chains.TOO_MANY_WAIT


def obeying(chance: random.Random, others: list[str]) -> Any:
    """A step of a model that writes to others as long as it may, then ends."""

    def step(request: ModelRequest) -> list[Any]:
        if chance.random() < 0.25:
            return ["enough"]
        args = {
            "chat": chance.choice(others),
            "text": f"{chance.random()}",
            "start_reply": chance.random() < 0.8,
        }
        return [call("message_chat", args)]

    return step


async def storm(chats: Chats, chance: random.Random, count: int) -> list[str]:
    names = [await chats.new(f"C{n}") for n in range(count)]
    for n, name in enumerate(names):
        step = obeying(chance, [other for other in names if other != name])
        chats.wires[f"scripted:C{n}"].add(*[step] * 60)
    return names


async def test_real_sessions_end_at_the_bounds_also_with_a_restart_between(tmp_path: Path) -> None:
    for seed, count in enumerate((2, 3, 7, 12)):
        chance = random.Random(seed)
        wires: dict[str, ScriptedWire] = {}
        place = tmp_path / str(seed)
        async with open_chats(place, wires=wires) as chats:
            names = await storm(chats, chance, count)
            await chats.session.do(cmd.Send(chat=names[0], text="go"))
            if seed % 2:
                await chats.session.settle()
        async with open_chats(place, wires=wires) as chats:  # what the closing stopped may go on
            await chats.session.settle()
            counted = [m for m in chats.messages() if m.state != "refused"]
            started = [t for name in names for t in chats.events(name, "turn.started") if t.trigger == "message"]
            assert len(counted) <= CHAIN_MESSAGES and len(started) <= CHAIN_REPLIES
            (chain,) = {t.chain for name in names for t in chats.events(name, "turn.started")}
            (row,) = chats.store.kept(Chain, "id=?", chain)
            assert row.messages <= CHAIN_MESSAGES and row.replies <= CHAIN_REPLIES


async def test_three_chats_in_a_loop_end_and_the_persons_next_message_starts_afresh(tmp_path: Path) -> None:
    async with open_chats(tmp_path) as chats:
        names = [await chats.new(f"C{n}") for n in range(3)]
        for n in range(3):
            other = names[(n + 1) % 3]

            def step(request: ModelRequest, other: str = other) -> list[Any]:
                last = request.messages[-1].text
                if ("was" in last and "sent" in last) or last.startswith("Sent"):
                    return ["passed it on"]
                return [
                    call(
                        "message_chat",
                        {"chat": other, "text": f"{len(request.messages)} {last[-20:]}", "start_reply": True},
                    )
                ]

            chats.wires[f"scripted:C{n}"].add(*[step] * 60)
        await chats.say(names[0], "begin")
        first = [m for m in chats.messages() if m.state != "refused"]
        assert len(first) == CHAIN_REPLIES
        assert any(chains.REPLIES_FULL in r for name in names for r in chats.results(name))
        await chats.say(names[0], "once more")
        assert len(chats.messages()) > len(first)
        assert len({m.chain for m in chats.messages()}) == 2


async def test_parallel_sends_cannot_pass_a_limit(tmp_path: Path) -> None:
    async with open_chats(tmp_path) as chats:
        others = [await chats.new(f"O{n}") for n in range(10)]
        here = await chats.new("H", [call("message_chat", {"chat": o, "text": "hi"}) for o in others], ["done"])
        await chats.say(here, "tell all")
        assert len(chats.messages()) == CHAIN_MESSAGES
        assert chats.results(here).count(chains.CHAIN_FULL) == 2


async def test_one_key_stops_a_whole_chain(tmp_path: Path) -> None:
    async def long(args: Any, ctx: Any, call_id: str) -> str:
        await ctx.stop.wait()
        return "stopped"

    async with open_chats(tmp_path, tools=[FakeTool("long", does=long)]) as chats:
        idle = await chats.new("Idle")
        busy = await chats.new("Busy", [call("long", {})])
        own = await chats.new("Own", [call("long", {})])
        tells = [
            [call("message_chat", {"chat": busy, "text": "go", "start_reply": True})],
            [call("message_chat", {"chat": idle, "text": "fyi"})],
            [call("long", {})],
        ]
        here = await chats.new("H", *tells)
        await chats.session.do(cmd.Send(chat=own, text="mine"))
        await chats.session.do(cmd.Send(chat=here, text="go"))
        while not (
            chats.cards(idle) and chats.events(busy, "tool.started") and len(chats.events(here, "tool.started")) == 3
        ):
            await asyncio.sleep(0.01)
        done = await chats.session.do(cmd.DecideChain(chat=busy))
        assert set(done["stopped"]) == {here, busy}
        await chats.session.settle(here)
        await chats.session.settle(busy)
        assert [(c.state, c.why) for c in chats.cards(idle)] == [("refused", CHAIN_STOPPED)]
        assert chats.session.running() == [own]


async def test_stopping_a_chain_ends_its_waits_and_its_tasks_too_and_nobody_is_woken(tmp_path: Path) -> None:
    holds = Holds()
    async with open_chats(tmp_path, tools=[holds.tool], machine=Machine(1)) as chats:
        chats.wires["scripted:task"] = ScriptedWire([holds.step("task"), ["never"], ["never"]])
        there = await chats.new("There", holds.step("there"), ["never"])
        task = {"title": "T", "instructions": "x", "model": "scripted:task"}
        steps = [
            [call("message_chat", {"chat": there, "text": "go", "start_reply": True})],
            [call("start_background_task", task) for _ in range(2)],
            [call("wait_for", {"kind": "chat", "chat": there})],
            ["I wait."],
            ["never"],
        ]
        here = await chats.new("H", *steps, mode="full")
        away = await chats.new("Away", [call("wait_for", {"kind": "time", "minutes": 60})], ["I wait."])
        await chats.say_and_leave(here, "go")
        await chats.say_and_leave(away, "of another chain")
        await until(lambda: chats.events(away, "turn.completed") and chats.events(here, "turn.completed"))
        await until(lambda: {t.state for t in chats.store.kept(KeptTask)} == {"running", "queued"})
        done = await chats.session.do(cmd.DecideChain(chat=here))
        assert set(done["stopped"]) == {here, there, *(t.chat for t in chats.store.kept(KeptTask))}
        await until(lambda: {t.state for t in chats.store.kept(KeptTask)} == {"stopped"})
        await chats.session.settle()
        assert [w.wait.state for w in chats.events(here, "wait")] == ["watching", "stopped"]
        assert len(chats.events(here, "turn.started")) == len(chats.events(there, "turn.started")) == 1
        assert [w.chat for w in chats.store.kept(KeptWait)] == [away]


async def test_chains_and_messages_are_forgotten_a_week_after_they_ended_and_open_ones_never(tmp_path: Path) -> None:
    async with open_chats(tmp_path, ready=False) as chats:
        there, here = await chats.new("There"), await chats.new("Here")
        long_ago, now = chats.clock.now_ms() - (CHAINS_KEPT_DAYS + 1) * 86_400_000, chats.clock.now_ms()
        rows = [
            *(Chain(name, long_ago, here) for name in ("h_old", "h_held")),
            Chain("h_new", now, here),
            SentMessage("m_old", here, there, "x", "read", "h_old", long_ago),
            SentMessage("m_held", here, there, "x", "held", "h_held", long_ago),
            SentMessage("m_new", here, there, "x", "read", "h_new", now),
        ]
        await chats.store.commit(Batch(changes=[Put(row) for row in rows]))
        chats.session.ready()
        await until(lambda: len(chats.messages()) == 2)
        assert {m.id for m in chats.messages()} == {"m_held", "m_new"}
        assert {c.id for c in chats.store.kept(Chain)} == {"h_held", "h_new"}


async def test_what_a_chain_used_is_summed(tmp_path: Path) -> None:
    from app.ports import StepDone
    from store.events import Usage

    def used(n: int) -> StepDone:
        return StepDone("stop", Usage(input_tokens=n, output_tokens=1, cost_usd=0.25))

    async with open_chats(tmp_path) as chats:
        there = await chats.new("There", ["ok", used(30)])
        tell = [call("message_chat", {"chat": there, "text": "go", "start_reply": True}), used(5)]
        here = await chats.new("H", tell, ["told", used(7)])
        await chats.say(here, "go")
        (chain,) = chats.store.kept(Chain)
        assert (chain.root, chain.messages, chain.replies) == (here, 1, 1)
        assert (chain.input_tokens, chain.output_tokens, chain.cost_usd) == (42, 3, 0.75)
