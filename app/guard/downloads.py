"""Which programs and commands bring words from outside: pure rules, used when one runs and when its mark is read."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from app.guard.taint import source
from store.events import TaintSource

# Two sets of one list: the score asks what fetches from an address and may print it into a shell; a mark is laid by
# all that can bring words from another computer, the copiers and plain connections too. The first has no copiers,
# which have rules of their own in `hazards`.
FETCHERS: Final = frozenset(
    {
        "curl", "wget", "aria2c", "http", "https", "xh", "httpie", "fetch", "lynx", "w3m", "links", "ftp", "lftp",
        "axel", "youtube-dl", "yt-dlp",
    }
)  # fmt: skip
DOWNLOADERS: Final = FETCHERS | {
    "wget2", "elinks", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "socat", "telnet", "iwr", "invoke-webrequest",
    "gallery-dl", "git-lfs",
}  # fmt: skip
A_DOWNLOAD: Final = "a download"
MOST_HOSTS: Final = 5

_ADDRESS = re.compile(r"\b(?:https?|ftps?|sftp|ssh|git|rsync|wss?|dict|gopher)://[^\s'\"`<>|;&)}\]]+", re.IGNORECASE)
_SCP_LIKE = re.compile(r"(?:^|[\s'\"=])[\w.-]+@((?:[\w-]+\.)+[a-z]{2,}):", re.IGNORECASE)
_OWN_FETCH = re.compile(r"(?:^|[\s;&|(])(?:git(?:\s+-C\s+\S+)?|npm|pnpm|yarn)\s+fetch(?=$|[\s;&|)])")
_SPLIT = re.compile(r"[\s;&|()<>{}`$!=,\[\]]+")
_QUOTES = re.compile(r"[\"'\\]")


def sources(command: str) -> tuple[TaintSource, ...]:
    """The marks running `command` leaves: each host it names, or one fixed label for a downloader without an address.

    `git fetch` and `npm|pnpm|yarn fetch` alone leave none.
    """
    hosts = dict.fromkeys(host for address in _ADDRESS.findall(command) if (host := _host(address)))
    hosts |= dict.fromkeys(found.lower().removeprefix("www.") for found in _SCP_LIKE.findall(command))
    if hosts:
        return tuple(source("download", host) for host in list(hosts)[:MOST_HOSTS])
    if _ADDRESS.search(command) or names_downloader(command):
        return (source("download", A_DOWNLOAD),)
    return ()


def names_downloader(command: str) -> bool:
    """Whether a word of it, quoted or not, with a path or not, is a downloader's name."""
    bare = _OWN_FETCH.sub(" ", _QUOTES.sub("", command))
    return any(word.rpartition("/")[2].lower().removesuffix(".exe") in DOWNLOADERS for word in _SPLIT.split(bare))


def still_holds(mark: TaintSource, command: str) -> bool:
    """Whether today's rule gives `command` this mark too; one that it wouldn't is free again."""
    return mark.kind != "download" or mark in sources(command)


def _host(address: str) -> str:
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return ""
    return host.lower().removeprefix("www.")
