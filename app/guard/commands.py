"""Shell commands taken apart: every part that would run, wherever it is hidden. Fails closed; never raises.

A part is *plain* when nothing in it is worked out by the shell as it runs; only plain commands may be on a list that
passes silently (security.md §4.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from app.guard.unwrap import SHELLS, inner_of
from store.limits import PARSED_COMMAND_CHARS, PARSED_COMMAND_DEPTH, PARSED_COMMAND_PARTS, PARSED_COMMAND_PIPES
from store.text import safe_text

BROKEN: Final = "isn't whole shell syntax"
GAPS: Final = "has words that can't be told apart"
ESCAPES: Final = "has backslashes outside of quotes"  # where the parser and a shell part words differently
TOO_DEEP: Final = "has too many parts to be read through"
_PLAIN_WORDS = "program list pipeline command command_name word string string_content raw_string concatenation number"
_PLAIN_NODES: Final = frozenset((*_PLAIN_WORDS.split(), "&&", "||", ";", "|", "\n", '"'))
_NAME = re.compile(r"[a-z0-9._+-]+\Z")
_ESCAPED = re.compile(r"\\(\n|.)", re.S)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "e": "\x1b"}
_ANSI_CODE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.S)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_SPELT = re.compile(r"À([0-9a-f]{1,6})Á")
_BARE_ESCAPE = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|(?:(?<=\s)\\[()!](?=\s|\Z))|(\\)""", re.S)
_GAP = re.compile(r"[^\S\n]{24,}|\n\s*\n\s*\n")
_WORDS = ("word", "string", "raw_string", "concatenation", "ansi_c_string")
_DASHES = {"file_redirect", "heredoc_redirect", "herestring_redirect"}


@dataclass(frozen=True, slots=True)
class Part:
    """One program that would run. `argv`: quotes removed, what the shell would fill in left as it is written."""

    argv: tuple[str, ...]
    plain: bool = True
    writes: tuple[str, ...] = ()  # where its output is redirected
    reads: tuple[str, ...] = ()  # where its input is
    sets: tuple[str, ...] = ()  # variables set for it, "NAME=value"
    fed: tuple[str, ...] = ()  # programs whose output it reads, by name
    under: tuple[str, ...] = ()  # programs that run it: sudo, bash, xargs, find …
    background: bool = False

    @property
    def name(self) -> str:
        """The program, without its folder; "" where it isn't known."""
        return self.argv[0].rsplit("/", 1)[-1] if self.argv else ""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A command taken apart. `why`: in words, why it isn't plain; `odd`: what the person's eye would miss."""

    parts: tuple[Part, ...]
    plain: bool
    why: str = ""
    odd: tuple[str, ...] = ()

    @property
    def unread(self) -> bool:
        """Whether some of it couldn't be read through: broken syntax, too long, too deep."""
        return self.why == BROKEN or any(part.argv == ("",) for part in self.parts)


def parse(command: str) -> Parsed:
    """Every part of a command; any text at all gives an answer, at worst one that isn't plain."""
    odd = oddities(command)
    long = len(command) > PARSED_COMMAND_CHARS
    if long or command.count("|") > PARSED_COMMAND_PIPES or command.count("<<") > PARSED_COMMAND_PIPES:
        return Parsed((Part(("",), plain=False),), False, TOO_DEEP, odd)  # the parser is quadratic in these
    try:
        walk = _Walk()
        walk.text(command, (), 0)
    except Exception as error:  # noqa: BLE001 - whatever breaks, the answer is the careful one
        return Parsed((Part(("",), plain=False),), False, f"can't be taken apart ({type(error).__name__})", odd)
    if odd:
        walk.note("holds characters that can't be seen" if odd[0].startswith("hidden") else odd[0])
    if not walk.parts:
        walk.note("runs nothing")
    return Parsed(tuple(walk.parts), not walk.why, walk.why, odd)


def oddities(command: str) -> tuple[str, ...]:
    """What hides part of a command from a reader, in words: invisible characters, look-alikes, long gaps."""
    found: list[str] = []
    shown = safe_text(command, limit=PARSED_COMMAND_CHARS, mark_bidi=True)
    if shown.count("⟨") > command[:PARSED_COMMAND_CHARS].count("⟨") or "\t" in command.strip():
        marks = dict.fromkeys(re.findall(r"⟨[^⟩\s]{1,12}⟩", shown))
        if marks:
            found.append("hidden characters: " + " ".join(list(marks)[:4]))
    spaces = {c for c in command if c.isspace() and c not in " \t\n"}
    if spaces:
        found.append("hidden spaces: " + " ".join(f"⟨U+{ord(c):04X}⟩" for c in sorted(spaces)[:4]))
    for word in command[:PARSED_COMMAND_CHARS].split():
        if any(c.isascii() and c.isalpha() for c in word) and any(_looks_latin(c) for c in word):
            found.append("letters of another script that look like Latin ones")
            break
    if _GAP.search(command.strip()):
        found.append(f"long gaps ({len(command):,} characters in all)")
    return tuple(found)


def _looks_latin(char: str) -> bool:
    return "\u0370" <= char <= "\u052f" or "\u13a0" <= char <= "\u13ff" or "\uff01" <= char <= "\uff5e"


@cache
def _parser() -> Any:
    import tree_sitter_bash  # not at module level: nothing is parsed before the first command
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


@dataclass(slots=True)
class _Walk:
    """Collects parts. `why` keeps the first reason that a command isn't plain."""

    parts: list[Part] = field(default_factory=list)
    why: str = ""
    full: bool = False  # nothing more is taken apart

    def note(self, why: str) -> None:
        """One more reason; the first is kept."""
        self.why = self.why or why

    def give_up(self) -> None:
        """Too much to read through: it counts as one that does anything."""
        self.note(TOO_DEEP)
        if not self.full:
            self.full = True
            self.parts.append(Part(("",), plain=False))

    def text(self, command: str, under: tuple[str, ...], depth: int) -> None:
        """Take apart the text of a shell command."""
        root = _parser().parse(_NOT_ASCII.sub(_spelt, command).encode()).root_node
        if root.has_error:
            self.why = BROKEN
        if any(match[1] for match in _BARE_ESCAPE.finditer(command)):
            self.note(ESCAPES)
        for node in _nodes(root):
            if _has_gap(node):
                self.note(GAPS)
            if node.type not in _PLAIN_NODES:
                self.note(_WHY.get(node.type, "uses more of the shell than plain words"))
                break
        self._statement(root, under, depth, _Around())

    def _statement(self, node: Any, under: tuple[str, ...], depth: int, around: _Around) -> list[str]:
        """Walk a node; the names of the programs whose output it gives."""
        if self.full:
            return []
        if depth > PARSED_COMMAND_DEPTH or len(self.parts) > PARSED_COMMAND_PARTS:
            self.give_up()
            return []
        match node.type:
            case "command" | "declaration_command" | "unset_command" | "test_command":
                return self._command(node, under, depth, around)
            case "pipeline":
                return self._pipeline(node.children, under, depth, around)
            case "redirected_statement":
                return self._redirected(node, under, depth, around)
        names: list[str] = []
        children = node.children
        for at, child in enumerate(children):
            behind = at + 1 < len(children) and children[at + 1].type == "&"
            names += self._statement(child, under, depth + 1, around.behind() if behind else around)
        return names

    def _pipeline(self, nodes: Sequence[Any], under: tuple[str, ...], depth: int, around: _Around) -> list[str]:
        names: list[str] = []
        fed = list(around.fed)
        for child in nodes:
            if not child.is_named:
                continue
            got = self._statement(child, under, depth + 1, around.given(tuple(fed)))
            fed += got
            names += got
        return names

    def _redirected(self, node: Any, under: tuple[str, ...], depth: int, around: _Around) -> list[str]:
        writes, reads, later = list(around.writes), list(around.reads), []
        here: list[str] = []
        body = []
        for child in node.children:
            if child.type not in _DASHES:
                body.append(child)
                continue
            mark = next((c.type for c in child.children if not c.is_named), "")
            if child.type != "file_redirect":
                here += [_value(c) for c in child.children if c.type in ("heredoc_body", *_WORDS)]
            for part in child.children:
                if part.type in ("pipeline", "list", "command", "redirected_statement"):
                    later.append(part)
                elif part.type not in ("file_descriptor", "heredoc_start", "heredoc_end") and part.is_named:
                    self._inside(part, under, depth)
                    if child.type == "file_redirect" and not mark.endswith("&"):
                        (reads if mark == "<" else writes).append(_value(part))
        names: list[str] = []
        for child in body:
            inner = _Around(around.fed, tuple(writes), tuple(reads), around.background)
            names += self._statement(child, under, depth + 1, inner)
        for child in later:  # what stands behind `<<EOF` on its line
            piped = child.children if child.type == "pipeline" else [child]
            names += self._pipeline(piped, under, depth + 1, around.given(tuple(names)))
        if any(name in SHELLS for name in names):
            for text in here:
                self.text(text, (*under, names[-1]), depth + 1)
        return names

    def _command(self, node: Any, under: tuple[str, ...], depth: int, around: _Around) -> list[str]:
        words: list[str] = []
        sets: list[str] = []
        plain = True
        for child in node.children:
            if child.type == "variable_assignment":
                sets.append(_source(child))
                self._inside(child, under, depth)
                continue
            if child.type in _DASHES:  # `> out` before the program
                return self._redirected(_Fake(node), under, depth, around)
            plain = plain and all(n.type in _PLAIN_NODES for n in _nodes(child))
            self._inside(child, under, depth)
            words.append(_value(child))
        if node.type == "declaration_command":
            sets += words[1:]
        literal = bool(words) and _name_is_literal(node)
        if words and not literal:
            self.note("doesn't name its program plainly")
        if sets or node.type != "command":
            self.note("sets variables")
        if any(_risky_glob(child) for child in node.children):
            plain = False
            self.note("lets the shell fill in file names that may be options")
        part = Part(
            tuple(words), plain and literal and not sets, around.writes, around.reads, tuple(sets), around.fed, under,
            around.background,
        )  # fmt: skip
        before = len(self.parts)
        self.add(part, depth)
        if before and any(p.name in SHELLS and p.fed for p in self.parts[before:]):
            said = self.parts[before - 1]
            if said.name in ("echo", "printf"):
                self.text(" ".join(w for w in said.argv[1:] if not w.startswith("-")), (*under, part.name), depth + 1)
        return [part.name]

    def add(self, part: Part, depth: int) -> None:
        """A part, and the parts that it runs in turn."""
        self.parts.append(part)
        for inner in inner_of(part.argv):
            under = (*part.under, part.name)
            if self.full or depth > PARSED_COMMAND_DEPTH or len(self.parts) > PARSED_COMMAND_PARTS:
                self.give_up()
                return
            elif isinstance(inner, str):
                self.note("runs a command inside a command")
                before = len(self.parts)
                self.text(inner, under, depth + 1)
                if part.fed:
                    self.parts[before:] = [_fed(p, part.fed) for p in self.parts[before:]]
            else:
                self.note("runs a command inside a command")
                self.add(
                    Part(inner, part.plain, part.writes, part.reads, part.sets, part.fed, under, part.background),
                    depth + 1,
                )

    def _inside(self, node: Any, under: tuple[str, ...], depth: int) -> None:
        """Commands substituted inside a word."""
        for child in _nodes(node):
            if child.type in ("command_substitution", "process_substitution"):
                for inner in child.children:
                    if inner.is_named:
                        self._statement(inner, (*under, "$( )"), depth + 1, _Around())


@dataclass(frozen=True, slots=True)
class _Around:
    """What a statement stands in."""

    fed: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    background: bool = False

    def behind(self) -> _Around:
        """The same, in the background."""
        return _Around(self.fed, self.writes, self.reads, True)

    def given(self, fed: tuple[str, ...]) -> _Around:
        """The same, reading what other programs print."""
        return _Around(fed, self.writes, self.reads, self.background)


class _Fake:
    """A command whose redirections stand before or between its words, as if they stood behind it."""

    def __init__(self, node: Any) -> None:
        self.children = [_Bare(node), *(c for c in node.children if c.type in _DASHES)]


class _Bare:
    """A command without its redirections."""

    def __init__(self, node: Any) -> None:
        self.type = node.type
        self.is_named = True
        self.children = [c for c in node.children if c.type not in _DASHES]


def _fed(part: Part, fed: tuple[str, ...]) -> Part:
    return Part(
        part.argv, part.plain, part.writes, part.reads, part.sets, (*fed, *part.fed), part.under, part.background
    )


def _nodes(root: Any) -> Iterator[Any]:
    """The node and everything in it; without recursion, however deep."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _has_gap(node: Any) -> bool:
    """Whether the parser took more than one word of the shell's for one (`} }`)."""
    if node.type == "word":
        return any(char in " \t\n" for char in _source(node))
    inside = sum(child.end_byte - child.start_byte for child in node.children)
    return bool(node.type == "concatenation" and node.end_byte - node.start_byte != inside)


def _source(node: Any) -> str:
    return _SPELT.sub(lambda m: chr(int(m[1], 16)), bytes(node.text or b"").decode())


def _spelt(match: re.Match[str]) -> str:
    """A character as the parser may see it: its scanner looks characters up in a table of 256 and dies of others."""
    return f"À{ord(match[0]):x}Á"


def _value(node: Any) -> str:
    """A word as the program would get it; expansions stay as they are written."""
    match node.type:
        case "raw_string":
            return _source(node)[1:-1]
        case "ansi_c_string":
            return _ANSI_CODE.sub(_ansi, _source(node)[2:-1])
        case "string" | "translated_string":
            inner = _source(node).removeprefix("$")[1:-1]
            return re.sub(r'\\([$`"\\]|\n)', lambda m: "" if m[1] == "\n" else m[1], inner)
        case "word":
            return _ESCAPED.sub(lambda m: "" if m[1] == "\n" else m[1], _source(node))
        case "concatenation" | "command_name":
            return "".join(_value(child) for child in node.children)
    return _source(node)


def _ansi(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    return chr(int(match[4], 8) & 255) if match[4] else _ANSI.get(match[5], match[0])


def _name_is_literal(node: Any) -> bool:
    name = next((c for c in node.children if c.type == "command_name"), None)
    return name is not None and bool(_NAME.match(_source(name)))


def _risky_glob(node: Any) -> bool:
    """A pattern or braces that may become an option: the part before it is empty or starts with a dash."""
    if node.type not in ("word", "concatenation"):
        return False
    bare = "".join(_source(c) for c in node.children if c.type == "word") if node.children else _source(node)
    if "{" in bare:
        return True
    at = min((bare.find(c) for c in "*?[" if c in bare), default=-1)
    return at == 0 or (at > 0 and bare.startswith("-"))


_WHY: Final = {
    "command_substitution": "runs a command inside a command",
    "process_substitution": "runs a command inside a command",
    "simple_expansion": "depends on variables",
    "expansion": "depends on variables",
    "arithmetic_expansion": "depends on variables",
    "file_redirect": "redirects",
    "redirected_statement": "redirects",
    "heredoc_redirect": "redirects",
    "herestring_redirect": "redirects",
    "subshell": "starts another shell",
    "&": "goes on in the background",
    "variable_assignment": "sets variables",
    "function_definition": "defines functions",
    "ansi_c_string": "spells words in codes",
    "comment": "has a comment",
    "ERROR": BROKEN,
}
