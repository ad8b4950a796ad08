"""What the deck does with the rows of chats together: cards, waits, tasks, and a whole chain's stop."""

from __future__ import annotations

from typing import Any

from textual import on

from app import commands as cmd
from app.screens.deck_column import DeckColumn
from app.screens.deck_slash import DeckSlash
from store.events import WaitNote
from store.rows import MessageRow, TaskRow, WaitRow
from widgets.marks import count
from widgets.rows.acting_row import ActingRow
from widgets.rows.explore_card import ExploreCard
from widgets.rows.other_chats_look import OtherChatsLook


class DeckTogether(DeckSlash):
    """Each deed is one command; what comes of it comes back as events."""

    @on(OtherChatsLook.OpenChat)
    def _open_other(self, event: OtherChatsLook.OpenChat) -> None:
        event.stop()
        self._show_other(event.chat)

    @on(ActingRow.Acted)
    def _acted(self, event: ActingRow.Acted) -> None:
        event.stop()
        column = next((a for a in event.row.ancestors if isinstance(a, DeckColumn)), None)
        if column is None:
            return
        model: Any = getattr(event.row, "model", None)
        match model:
            case MessageRow():
                self._decide_message(column.chat, model, event.action)
            case WaitRow():
                self._decide_wait(column.chat, model, event.action)
            case TaskRow():
                self._decide_task(model, event.action)

    def _decide_message(self, chat: str, row: MessageRow, action: str) -> None:
        card = row.message
        if card is None:
            return
        if action == "open":
            self._show_other(card.other.id)
        elif action == "inbound":
            self.choose_inbound(chat)
        else:
            made = cmd.DecideMessage.model_validate({"chat": chat, "message": row.key, "action": action})
            self.posting.post(made)

    def _decide_wait(self, chat: str, row: WaitRow, action: str) -> None:
        wait = row.wait
        if wait is None:
            return
        if action == "open" and wait.chat:
            self._show_other(wait.chat)
        elif action == "open" and wait.url:
            from app.screens.opening import offer

            offer(self, [wait.url])
        elif action in ("check", "stop"):
            made = cmd.DecideWait.model_validate({"chat": chat, "wait": row.key, "action": action})
            self.posting.post(made)

    def _decide_task(self, row: TaskRow, action: str) -> None:
        task = row.task
        if task is None:
            return
        if action == "open":
            self._show_other(task.task_chat)
        elif action in ("allow", "deny") and task.asking is not None:
            answer = {"chat": task.task_chat, "permission": task.asking.permission_id, "decision": action}
            self.posting.post(cmd.Answer.model_validate(answer))
        else:
            deed = "retry" if action == "resume" and task.state == "failed" else action
            self.posting.post(cmd.DecideTask.model_validate({"task": row.key, "action": deed}))

    def tell_wait(self, wait: WaitNote) -> None:
        """A wait that ended, where the person was to be told of it."""
        if wait.tell and wait.state in ("done", "timed-out", "failed"):
            head = {"done": "Waited for", "timed-out": "Gave up waiting for"}.get(wait.state, "Couldn't watch")
            said = f"{head} {wait.title}" + (f": {wait.status}" if wait.status else "")
            self.say(wait.headline or said)

    def tell_card(self, chat: str, call_id: str, words: str) -> None:
        """The live words of a call that has a card of its own."""
        column = self.columns.get(chat)
        for card in column.query(ExploreCard) if column is not None else ():
            if card.call_id == call_id:
                card.phase(words)

    def _show_other(self, chat: str) -> None:
        if chat not in self.chats:
            self.say("That chat is gone", "warning")
            return
        self.show_chat(chat, beside=chat not in self.deck.chats)

    def action_stop_chain(self) -> None:
        """Leader s: this reply, and every other reply, wait, task and unread message of its chain."""
        column = self.column
        if column is None:
            return

        def told(answer: dict[str, Any]) -> None:
            stopped = answer.get("stopped", [])
            self.say(f"Stopped this chain in {count(len(stopped), 'chat')}" if stopped else "Nothing was running")

        self.posting.post(cmd.DecideChain(chat=column.chat), told)
