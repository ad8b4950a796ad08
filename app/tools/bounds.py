"""Which places no tool may touch: Shoal's own, the system's live files, and where secrets lie."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

OWN = "That is Shoal's own (its settings, rules and store): no tool may read or write there, in any mode."
LIVE = "That is a live file of the system, not a file of words; no tool opens it."
SECRET = "Passwords and keys of programs lie there; no tool reads or writes there."
GIT_INSIDE = "Git runs what lies there by itself, so no tool writes there; use git's own commands."

LIVE_STARTS: Final = (("proc",), ("dev",), ("sys",))
SECRET_NAMES: Final = frozenset(
    (
        ".ssh",
        ".aws",
        ".gnupg",
        ".gpg",
        ".azure",
        ".kube",
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".git-credentials",
        ".vault-token",
        ".password-store",
        ".1password",
        ".bitwarden",
        ".mozilla",
        ".thunderbird",
        ".electrum",
        ".bitcoin",
        ".ethereum",
        "keychains",
        "keyrings",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        ".my.cnf",
        ".boto",
        ".s3cfg",
        ".terraformrc",
        "kwalletd",
    )
)
SECRET_RUNS: Final = (  # folders one in the other, folded
    (".config", "gcloud"),
    (".config", "gh"),
    (".config", "hub"),
    (".config", "google-chrome"),
    (".config", "chromium"),
    (".config", "bravesoftware"),
    (".config", "microsoft-edge"),
    (".config", "vivaldi"),
    (".config", "opera"),
    (".config", "1password"),
    (".config", "bitwarden"),
    (".config", "op"),
    (".config", "git", "credentials"),
    (".config", "rclone"),
    (".config", "helm"),
    (".local", "share", "keyrings"),
    (".local", "share", "kwalletd"),
    (".docker", "config.json"),
    (".codex", "auth.json"),
    (".claude", ".credentials.json"),
    (".gemini", "oauth_creds.json"),
    (".cargo", "credentials"),
    (".cargo", "credentials.toml"),
    (".m2", "settings.xml"),
    (".gem", "credentials"),
    (".terraform.d", "credentials.tfrc.json"),
    ("library", "keychains"),
    ("library", "cookies"),
    ("library", "safari"),
    ("library", "application support", "google", "chrome"),
    ("library", "application support", "firefox"),
    ("appdata", "local", "google", "chrome"),
    ("appdata", "roaming", "mozilla"),
    ("etc", "shadow"),
    ("etc", "gshadow"),
    ("etc", "sudoers"),
)
_RUN_STARTS: Final = frozenset(run[0] for run in SECRET_RUNS)
GIT_RUNS: Final = ((".git", "hooks"), (".git", "config"), (".git", "info", "attributes"))
OWN_NAMES: Final = frozenset({".shoal", ".shoal.toml"})  # a folder's own rules of Shoal
STARTS_BY_ITSELF: Final = frozenset(
    (
        ".gitconfig",
        ".gitmodules",
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_logout",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".profile",
        ".ripgreprc",
        ".mcp.json",
        ".vscode",
        ".idea",
        ".envrc",
        ".husky",
        ".claude",
        ".codex",
        ".gemini",
        ".cursor",
        "crontab",
    )
)


OWN_PARTS: Final = frozenset({"blobs", "index", "logs", "import", "queue", "memories", "memory", "vault"})


@dataclass(frozen=True, slots=True)
class Bounds:
    """Shoal's own folders on this computer. Names are compared folded, so that another case is the same place."""

    own: tuple[str, ...] = ()
    work: str = ""  # the chat's work folder: it may lie inside a home, where it isn't one of the home's own parts
    own_parts: frozenset[str] = OWN_PARTS

    @classmethod
    def of(cls, *homes: Path | str) -> Bounds:
        """The bounds of these homes, which need not exist yet."""
        return cls(tuple(dict.fromkeys(os.path.realpath(home) for home in homes)))

    def never(self, path: str, *, write: bool = False) -> str | None:
        """Why a full resolved path is out of reach in every mode; None: it isn't."""
        parts = folded(path)
        if any(within(parts, _known(own)) for own in self.own) and not self._work_inside(parts):
            return OWN
        if parts[:1] in LIVE_STARTS:
            return LIVE
        if not SECRET_NAMES.isdisjoint(parts):
            return SECRET
        if not _RUN_STARTS.isdisjoint(parts) and any(has_run(parts, run) for run in SECRET_RUNS):
            return SECRET
        if write and any(part in OWN_NAMES for part in parts):
            return OWN
        if write and any(has_run(parts, run) for run in GIT_RUNS):
            return GIT_INSIDE
        return None

    def within(self, work: str) -> Bounds:
        """The same for a chat whose work folder is `work`."""
        return Bounds(self.own, work, self.own_parts)

    def _work_inside(self, parts: tuple[str, ...]) -> bool:
        """A work folder below the home (`home/work`), whose first part is none of the home's own."""
        work = folded(self.work) if self.work else ()
        if not work or not within(parts, work):
            return False
        over = [own for own in map(_known, self.own) if within(parts, own)]
        return all(within(work, own) and work != own and work[len(own)] not in self.own_parts for own in over)


def folded(path: str) -> tuple[str, ...]:
    """The parts of a path, in one case and without what some disks drop from the end of a name."""
    return tuple(part.casefold().rstrip(". ") or part for part in path.split("/") if part)


_known = lru_cache(64)(folded)  # of Shoal's own few folders


def within(parts: tuple[str, ...], folder: tuple[str, ...]) -> bool:
    """Whether a path lies in a folder, or is it."""
    return parts[: len(folder)] == folder


def has_run(parts: tuple[str, ...], run: tuple[str, ...]) -> bool:
    """Whether these parts follow each other somewhere in the path."""
    return any(parts[i : i + len(run)] == run for i in range(len(parts) - len(run) + 1))


def starts_by_itself(path: str) -> bool:
    """Whether programs run or obey the file unasked."""
    return not STARTS_BY_ITSELF.isdisjoint(folded(path))


def any_never(bounds: Bounds, paths: Iterable[str], *, write: bool = False) -> str | None:
    """The first reason among several paths."""
    return next((why for path in paths if (why := bounds.never(path, write=write))), None)
