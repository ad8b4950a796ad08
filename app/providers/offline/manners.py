"""What is said to the assistant itself: help, thanks, manners, free writing; nothing to look up; pure."""

from __future__ import annotations

import re

from app.providers.offline.intent import PAST, Intent, word_set
from app.providers.offline.words import distinctive, tokens

_LONG_CHARS, _LONG_WORDS = 500, 80  # a longer text isn't a question; looking for its words makes no sense

_HELP = re.compile(
    r"(?:help(?: me)?|what (?:can|do) you do|what can i (?:ask|do|say)(?: here| you)?"
    r"|how (?:do(?:es)? (?:you|this|it) work|do i use (?:you|this|shoal))"
    r"|commands?|\?+|/help|who are you|what are you|what is this|what is shoal"
    r"|(?:what|which) (?:model|ai|llm|assistant) (?:are you|is this|do you use|am i talking to)"
    r"|are you (?:\w+ ){0,3}(?:chatgpt|gpt\S*|claude|gemini|llama|ai|a\.?i\.?|a model|an llm|a bot|a robot|human|real"
    r"|a person|there))\W*",
    re.IGNORECASE,
)
_CONNECT = re.compile(
    r"\b(?:connect|set ?up|configure|add|use|switch to|enable|install|choose|change|select|hook|link|plug"
    r"|(?:sign|log)(?: me| us)? (?:up|in|into))\b.{0,40}"
    r"\b(?:model|models|llms?|api[ -]?keys?|openai|anthropic|claude|gemini|ollama|chatgpt|gpt\S*|mistral|llama"
    r"|lm studio|openrouter|deepseek|provider)\b"
    r"|\b(?:where|how|can|could|may|need|want|have|got)\b.{0,30}\b(?:put|enter|paste|type|get|need|have|got)\b"
    r".{0,20}\bapi[ -]?keys?\b"
    r"|\b(?:what|which) (?:(?:ai|language|other) )?(?:models?|llms?|ais|providers?)\b.{0,12}"
    r"\b(?:can (?:i|we|you)|could (?:i|we)|do you|(?:are|is) (?:there|supported|available)|works?\b)",
    re.IGNORECASE,
)

_APP = re.compile(
    r"(?:open |show )?(?:the |my )?(?:settings|preferences|keys|shortcuts)\W*"
    r"|(?:make |start |open )?(?:a )?new (?:chat|conversation|column)\b.{0,60}"
    r"|(?:archive|delete|rename|pin|unpin|export|close|fork)\b.{0,60}\b(?:chats?|conversations?|this|column)\b.{0,60}",
    re.IGNORECASE,
)

_THANKS = word_set(
    """thanks thank thx ty cheers great perfect awesome nice lovely brilliant cool good excellent danke
    gracias merci grazie obrigado obrigada beaucoup"""
)
_GREETING = word_set("hello hi hey hiya yo morning evening afternoon greetings howdy hallo hola bonjour moin")
_OTHER = word_set(
    """ok okay k kk yes yep yeah yup no nope nah lol haha hahaha hm hmm wow oops sorry bye goodbye later see tomorrow
    soon night day fine alright right wrong correct true false mind meant mean wait stop cancel continue carry exactly
    indeed works worked sounds agreed sense welcome doing today bad dumb stupid useless helpful funny love hate really
    test testing there friend mate buddy nevermind undo forget minute second sec moment"""
)
_CHATTER = _THANKS | _GREETING | _OTHER
_PRAISE = re.compile(
    r"(?:thanks|thank you|thx|cheers|ta)\b[^?,.!;]{0,25}[,.!;–—-]+\s*"
    r"(?:you're|you are|you(?:'ve)? \w+ed|that's|that (?:is|was|helped)|this (?:is|was)|it's|it (?:is|was|helped))"
    r"\b[^?]{0,40}",
    re.IGNORECASE,
)
_QUESTIONS = word_set("what when where who which how did have why")

_STYLE = re.compile(
    r"(?:stop|quit|avoid|don'?t|do not|never|no more)\s+"
    r"(?:\w+ing\b|us(?:e|ing)\b|be(?:ing)?\b|do(?:ing)?\b|that\b|it\b|this\b)"
    r"|(?:keep|make)\s+(?:your|it|them|the|all)\s+(?:\w+\s+){0,2}"
    r"(?:short|brief|simple|concise|long|longer|shorter|polite)\b"
    r"|be\s+(?:more|less|brief|short|quiet|nice|careful|honest|kind|concise)\b"
    r"|(?:speak|talk|reply|answer|respond|write)\s+(?:to me\s+)?(?:in|like|as)\s"
    r"|use\s+(?:fewer|less|more|no|shorter|simpler)\b|call\s+me\s",
    re.IGNORECASE,
)
_WRITE = re.compile(
    r"(?:help me (?:to )?|try to )?"
    r"(?:write|translate|draft|compose|rewrite|rephrase|generate|create|code|implement|calculate|compute|draw|sing"
    r"|play|convert|improve|proofread|refactor|debug|build|design|invent|imagine|pretend|brainstorm|explain|teach"
    r"|tell me a (?:joke|story|fact)|make (?:me|up|a|an)|come up with|think (?:of|up)|put together"
    r"|give me (?:a|an|some|ideas)\b(?! (?:quick |short |brief )?(?:recap|summary|overview|status|update|rundown))"
    r"|suggest|recommend|paraphrase"
    r"|fix)\b",
    re.IGNORECASE,
)


def about_itself(asked: str) -> Intent | None:
    """Questions about the assistant: what it can do, and how a model is connected."""
    if _HELP.fullmatch(asked):
        return Intent("help")
    if len(asked) < 120 and _CONNECT.search(asked) and not PAST.search(asked):
        return Intent("connect")
    if _APP.fullmatch(asked) and not asked.endswith("?"):
        return Intent("commands")
    return None


def small_talk(plain: str, asked: str) -> Intent | None:
    """Thanks, greetings, manners, and what only a model could write. `asked` is `plain` without the polite opener."""
    words = [word.lower() for word in tokens(plain)]
    if not plain:
        return Intent("help")
    if not any(char.isalnum() for char in plain):
        return Intent("manners")
    if words and len(words) <= 8 and not _asks(asked, words):
        topics = distinctive(plain)
        if all(topic.lower() in _CHATTER for topic in topics):
            return _chatter(words)
    if _PRAISE.fullmatch(plain):
        return Intent("thanks")
    if _STYLE.match(asked):
        return Intent("manners")
    if _WRITE.match(asked) and not PAST.search(asked):
        return Intent("write")
    if (len(plain) > _LONG_CHARS or len(words) > _LONG_WORDS) and not PAST.search(plain):
        return Intent("write")
    return None


def _chatter(words: list[str]) -> Intent:
    if any(word in _GREETING for word in words):
        return Intent("greeting")
    return Intent("thanks" if any(word in _THANKS for word in words) else "manners")


def _asks(asked: str, words: list[str]) -> bool:
    """Whether a sentence without a topic still asks about the past ("what did we decide?")."""
    return words[0] in _QUESTIONS and bool(PAST.search(asked))
