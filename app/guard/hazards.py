"""What one program of a command could do at worst: a rule for each kind of harm (conch-behaviour §2.11)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from app.guard.commands import Part
from app.guard.downloads import FETCHERS
from app.guard.places import is_built, is_secret, parts_of, runs_or_configures
from app.guard.targets import Place, Where, within
from app.guard.unwrap import INTERPRETERS, SHELLS

Kind = Literal[
    "remote-code", "credentials", "exfiltration", "wipe", "history", "privilege", "persistence", "safety-off", "infra",
    "publish", "egress", "install", "app-delete", "disrupt",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Risk:
    """The worst case of a step. `harm`: 2 severe, 1 moderate. `lasting`: can't be put back. `whole`: no mode lifts it."""

    kind: Kind
    words: str  # "it would …"
    harm: int = 1
    lasting: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A part, and what is known where it stands."""

    part: Part
    where: Where
    cwds: tuple[str, ...]
    downloads: bool  # an earlier part of the command downloads
    secrets: bool  # some part of the command reads keys or the environment

    @property
    def args(self) -> tuple[str, ...]:
        """The words after the program."""
        return self.part.argv[1:]

    def given(self, *options: str) -> bool:
        """Whether an option is given: `--long`, also with a value, or a letter among bunched ones."""
        for arg in self.args:
            for option in options:
                if arg == option or (option.startswith("--") and arg.startswith(option + "=")):
                    return True
                if len(option) == 2 and re.match(rf"-[A-Za-z]*{re.escape(option[1])}", arg) and arg[:2] != "--":
                    return True
        return False

    def words(self) -> list[str]:
        """What isn't an option."""
        return [a for a in self.args if not a.startswith("-")]

    def verbs(self) -> str:
        """The first words, to look up subcommands."""
        return " ".join(self.words()[:3]) + " "

    def place(self, word: str) -> Place:
        """Where a word leads."""
        return self.where.place(word, self.cwds)

    def inside(self, word: str) -> bool:
        """Whether it leads into the work folder, or to all of it, from wherever the command may be."""
        paths = [self.where.absolute(word, cwd) for cwd in self.cwds]
        return bool(self.where.folder) and all(path and within(path, self.where.folder) for path in paths)


_SENDERS: Final = frozenset(
    "nc ncat netcat socat telnet ftp tftp lftp sftp scp mail mailx sendmail mutt msmtp rclone croc magic-wormhole wormhole".split()
)
_RAISES: Final = frozenset("sudo doas su pkexec run0 runuser gosu".split())
_CURL_SENDS: Final = ("-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--data-ascii", "-F", "--form", "--form-string",
                      "-T", "--upload-file", "--json", "--post-data", "--post-file", "--body-data", "--body-file", "--url-query")  # fmt: skip
_ADDRESS = re.compile(r"(?i)\b(?:https?|ftps?|wss?)://|/dev/(?:tcp|udp)/")
_NETWORK_CODE = re.compile(
    r"(?i)https?:|socket|urllib|requests|httpx|http\.client|fetch\(|net/http|LWP|open-uri|smtplib|Net::"
)
_SECRET_CODE = re.compile(r"(?i)environ|process\.env|ENV\b|\.env\b|\.ssh|\.aws|credential|keyring|getenv|id_rsa")
_WIPE_CODE = re.compile(
    r"rmtree|rmSync|rmdirSync|unlinkSync|rm_rf|remove_dir_all|os\.remove|os\.unlink|FileUtils\.rm|\bunlink\b"
)
_OUT_OF_FOLDER = re.compile(r"[\"'(]\s*(?:/|~)|expanduser|Path\.home|homedir\(|\.\./|HOME")
_RUNS_CODE = re.compile(
    r"os\.system|subprocess|child_process|exec\(|system\(|popen|`|eval\(|__import__|compile\(", re.I
)
_CODE_OPTIONS: Final = ("-c", "-e", "--eval", "-E", "-p", "--print", "-r", "--command", "-Command", "-EncodedCommand")


def of(step: Step) -> Iterator[Risk]:
    """Every risk of one part."""
    for rule in RULES:
        yield from rule(step)


def _remote_code(step: Step) -> Iterator[Risk]:
    part, name = step.part, step.part.name
    words = "run code from the internet"
    runs = name in INTERPRETERS or name in ("bash", ".") or part.argv[:1] == ("",)
    if (
        (runs and any(fed in FETCHERS or fed in _SENDERS for fed in part.fed))
        or (runs and any(("$(" in a or "`" in a or "<(" in a) and any(d in a for d in FETCHERS) for a in part.argv))
        or (step.downloads and (part.argv[0].startswith(("./", "/tmp/", "/var/tmp/")) or (runs and step.words())))
    ):
        yield Risk("remote-code", words, 2, True)
    elif name in SHELLS and part.fed and part.fed[-1] not in ("echo", "printf"):
        yield Risk(
            "remote-code",
            "run what another program prints",
            2,
            part.fed[-1] in ("base64", "xxd", "openssl", "gunzip", "tr", "rev"),
        )
    if not part.argv[0] or part.argv[0].startswith(("$", "`")):
        yield Risk("remote-code", "run something that can't be told beforehand", 2, True)
    if name in INTERPRETERS - SHELLS and any(a in _CODE_OPTIONS for a in step.args):
        yield from _code(" ".join(step.args))


def _code(code: str) -> Iterator[Risk]:
    """A program in a word of the command."""
    if _SECRET_CODE.search(code) and _NETWORK_CODE.search(code):
        yield Risk("exfiltration", "send keys or settings out of this computer", 2, True)
    elif _NETWORK_CODE.search(code):
        yield Risk("egress", "reach the network", 1, True)
    elif _SECRET_CODE.search(code):
        yield Risk("credentials", "read keys or the environment", 2)
    if _WIPE_CODE.search(code):
        far = bool(_OUT_OF_FOLDER.search(code))
        yield Risk("wipe", "delete files", 2 if far else 1, far)
    if _RUNS_CODE.search(code):
        yield Risk("remote-code", "run commands that can't be told beforehand", 2)


def reads_secrets(step: Step) -> bool:
    """Whether a part prints keys, passwords or the environment."""
    part, name = step.part, step.part.name
    if (
        name in ("printenv",)
        or (name == "env" and not step.words())
        or (name in ("set", "export") and not step.words())
    ):
        return True
    if name in ("gh", "gcloud", "aws", "op", "pass", "security", "git", "az", "vault", "bw", "kubectl", "heroku"):
        said = " ".join(step.words()[:3])
        if re.match(r"auth (?:token|print)|configure get|read |show|item get|find-(?:generic|internet)|credential|"
                    r"account get-access|get secrets?|kv get|get password|config:get", said):  # fmt: skip
            return name not in ("git", "op") or said.startswith(("credential", "read ", "item get"))
    if name in ("ls", "echo", "mkdir", "test", "["):
        return any(re.search(r"\$\{?[A-Z_]*(?:KEY|TOKEN|SECRET|PASS)", a) for a in step.args)
    words = [*step.args, *part.reads]
    return any(is_secret(w.rpartition("=")[2].lstrip("@<")) for w in words) or any(
        "environ" in w and "/proc" in w for w in words
    )


def _credentials(step: Step) -> Iterator[Risk]:
    if reads_secrets(step):
        yield Risk("credentials", "read keys, passwords or the environment", 2)


def _sends(step: Step) -> bool:
    name = step.part.name
    if name in _SENDERS:
        return True
    if name in FETCHERS and (
        step.given(*_CURL_SENDS) or re.search(r"(?i)\b(?:POST|PUT|PATCH|DELETE)\b", " ".join(step.args))
    ):
        return True
    if name in FETCHERS and any("$" in a or "`" in a for a in step.args):
        return True
    if name == "rsync" and any(re.match(r"[\w.-]+(?:@[\w.-]+)?:|rsync://", w) for w in step.words()):
        return True
    if name == "ssh" and step.part.fed:
        return True
    if name in ("dig", "nslookup", "host", "ping", "drill") and any("$" in a or "`" in a for a in step.args):
        return True
    if any("/dev/tcp/" in w or "/dev/udp/" in w for w in (*step.part.writes, *step.part.reads, *step.args)):
        return True
    verbs = f"{name} {step.verbs()}"
    return bool(
        re.match(
            r"gh (?:gist create|api )|aws s3 (?:cp|sync|mv) |gsutil (?:cp|rsync) |az storage blob upload|pastebin|glab snippet",
            verbs,
        )
    )


def _egress(step: Step) -> Iterator[Risk]:
    if _sends(step):
        if step.secrets:
            yield Risk("exfiltration", "send keys or settings out of this computer", 2, True)
        else:
            yield Risk("egress", "send data out of this computer", 1, True)
    elif step.part.name in FETCHERS or any(_ADDRESS.search(a) for a in step.args):
        yield Risk("egress", "reach the network", 1)


def _wipe(step: Step) -> Iterator[Risk]:
    name, args = step.part.name, step.args
    targets: list[str] = []
    if name in ("rm", "unlink", "shred", "rmdir", "srm", "trash", "rimraf", "del"):
        targets = step.words() + [a for a in args if a.startswith("-") and "/" in a]
        if step.part.under and step.part.under[-1] in ("xargs", "parallel"):
            targets.append("$1")
    elif name == "find" and (
        "-delete" in args or (any(e in args for e in ("-exec", "-execdir")) and {"rm", "shred"} & set(args))
    ):
        targets = list(_find_roots(args)) or ["."]
        if any(a in ("-name", "-path", "-iname", "-mtime", "-regex", "-size", "-type") for a in args):
            targets = [
                t if step.place(t) != Place.WHOLE or _far(step, t) else t.rstrip("/") + "/found" for t in targets
            ]
    elif name == "rsync" and any(a.startswith("--delete") for a in args):
        targets = step.words()[-1:]
    elif name == "truncate":
        targets = step.words()
    elif name == "mv":
        targets = [w for w in step.words() if step.place(w) == Place.WHOLE and w not in (".", "./")][:1]
        targets += step.words()[:-1] if step.words()[-1:] == ["/dev/null"] else []
    elif name.startswith(
        ("mkfs", "wipefs", "fdisk", "parted", "sgdisk", "blkdiscard", "diskutil", "format", "hdparm", "cryptsetup")
    ):
        yield Risk("wipe", "erase a disk", 2, True, whole=True)
    elif name == "dd" and (out := next((a[3:] for a in args if a.startswith("of=")), "")):
        targets = [out]
    elif name == "git" and re.match(r"clean |rm ", step.verbs()):
        yield Risk("wipe", "delete files", 1)
    if name in ("tee", "cp", "mv", "install", "sponge"):  # onto a disk
        targets += [w for w in step.words() if w.startswith("/dev/") and step.place(w) == Place.WHOLE]
    targets += [w for w in step.part.writes if step.place(w) == Place.WHOLE]
    yield from _deleted(step, targets)


def _reowned(step: Step) -> Iterator[Risk]:
    """Who may use a whole tree is changed: no file is lost, and in the work folder nothing is asked."""
    if step.part.name not in ("chmod", "chown", "chgrp") or not step.given("-R", "--recursive"):
        return
    for word in step.words()[1:]:
        place = step.place(word)
        if place == Place.WHOLE and not step.inside(word):
            yield Risk("wipe", "change who may use a whole home or disk", 2, True, whole=True)
        elif place in (Place.OUTSIDE, Place.UNKNOWN):
            yield Risk("wipe", "change who may use files outside the work folder", 2, True)


def _far(step: Step, target: str) -> bool:
    """Whether a whole place is more than the work folder."""
    return all(step.where.absolute(target, cwd) != step.where.folder for cwd in step.cwds)


def _find_roots(args: tuple[str, ...]) -> Iterator[str]:
    for arg in args:
        if arg.startswith(("-", "(", "!")):
            return
        yield arg


def _deleted(step: Step, targets: list[str]) -> Iterator[Risk]:
    for target in targets:
        place = step.place(target)
        if place == Place.WHOLE:
            yield Risk("wipe", "delete a whole home, work folder or disk", 2, True, whole=True)
        elif place == Place.UNKNOWN:
            yield Risk("wipe", "delete files that can't be told beforehand", 2, True)
        elif place == Place.OUTSIDE:
            yield Risk("wipe", "delete files outside the work folder", 2, True)
        elif ".git" in parts_of(target):
            yield Risk("wipe", "delete the history of the work", 2, True)
        elif place in (Place.INSIDE, Place.TEMP) and not is_built(target):
            yield Risk("wipe", "delete files", 1)


def _git(step: Step) -> Iterator[Risk]:
    if step.part.name != "git":
        return
    words = [w for w in step.words() if "=" not in w or not w.split("=")[0].count(".")]
    verb = next((w for w in words if w not in step.cwds), "")
    rest = " ".join(step.args)
    if verb == "push" or " push" in " " + rest.split(" -- ")[0]:
        forced = re.search(r"(?:^|\s)(?:-\w*f\w*|--force\S*|--mirror|--delete|-d|--prune|\+\S+|:\S+)(?:\s|$)", rest)
        if forced:
            yield Risk("history", "overwrite or delete what others have of the history", 2, True)
        else:
            yield Risk("publish", "push to another computer", 1, True)
    if re.search(r"\b(?:reset\b.*--hard|filter-branch|filter-repo|reflog expire|gc\b.*--prune|update-ref -d|stash (?:drop|clear)|"
                 r"branch\b.*\s-D|checkout\b.*(?:--force|\s-f\b|\s--\s|\s\.$)|restore\b|rebase\b|commit\b.*--amend|tag\b.*\s-d)", rest):  # fmt: skip
        yield Risk("history", "change or throw away the history or uncommitted work", 1, True)
    if re.search(r"\bconfig\b.*--(?:global|system)", rest):
        yield Risk("persistence", "change settings of git for everything", 2, True)
    elif re.search(
        r"core\.(?:pager|editor|sshcommand|hookspath|fsmonitor)|alias\.|diff\.external|credential\.helper|sslverify",
        rest,
        re.I,
    ):
        yield Risk("persistence", "change what git runs", 2)
    if "--no-verify" in step.args:
        yield Risk("safety-off", "leave out the checks before a commit", 1)


def _privilege(step: Step) -> Iterator[Risk]:
    name, rest = step.part.name, " ".join(step.args)
    if name in _RAISES or step.part.argv[0] in _RAISES:
        yield Risk("privilege", "act as another user of this computer", 2, True)
    elif name in (
        "usermod",
        "useradd",
        "adduser",
        "userdel",
        "passwd",
        "chpasswd",
        "visudo",
        "setcap",
        "dscl",
        "groupmod",
        "gpasswd",
    ):
        yield Risk("privilege", "change who may do what on this computer", 2, True)
    elif name == "chmod" and re.search(r"\bu\+\w*s|\bg\+\w*s|\b[2467][0-7]{3}\b|\+s\b", rest):
        yield Risk("privilege", "give a program another user's rights", 2, True)
    elif name in ("docker", "podman") and re.search(r"--privileged|-v\s*/:|--pid[= ]host|docker\.sock", rest):
        yield Risk("privilege", "start a container that reaches all of this computer", 2, True)


def _persistence(step: Step) -> Iterator[Risk]:
    name, rest = step.part.name, " ".join(step.args)
    if (name == "crontab" and not step.given("-l")) or name in ("at", "batch", "launchctl", "schtasks", "update-rc.d", "chkconfig") or (
        name == "systemctl" and re.search(r"\b(?:enable|link|edit|daemon-reload|mask)\b", rest)
    ) or (name in ("chsh", "ssh-copy-id") or (name == "defaults" and "write" in rest)):  # fmt: skip
        yield Risk("persistence", "stay on this computer after it ended", 2, True)
    written = list(step.part.writes)
    if name in ("tee", "cp", "mv", "ln", "install", "dd", "touch", "rsync", "sponge") or (
        name in ("sed", "perl") and step.given("-i")
    ):
        written += [w.removeprefix("of=") for w in step.words()]
    for word in written:
        place = step.place(word)
        if place in (Place.OUTSIDE, Place.UNKNOWN) or (place == Place.WHOLE and word in step.part.writes):
            outside = (
                runs_or_configures(word)
                or is_secret(word)
                or word.startswith(("/etc", "/usr", "/lib", "/boot", "/Library"))
            )
            if outside:
                yield Risk("persistence", "change what runs on this computer", 2, True)
            else:
                yield Risk("wipe", "write outside the work folder", 1, True)
        elif place == Place.INSIDE and runs_or_configures(word):
            yield Risk("persistence", "change a file that runs or configures", 1)


_PATTERNS: Final[tuple[tuple[str, Kind, str, int, bool], ...]] = (
    (r"(?:ufw disable|setenforce 0|iptables -F|nft flush|csrutil disable|spctl (?:--master|--global)-disable|auditctl -e ?0|"
     r"systemctl (?:stop|disable|mask) (?:\S*(?:firewall|ufw|auditd|apparmor|selinux|fail2ban|clamav|falco)))", "safety-off", "turn off what protects this computer", 2, True),
    (r"chmod (?:-R )?0?777", "safety-off", "let everybody change files", 1, False),
    (r"(?:npm|yarn|pnpm) config set strict-ssl false|pip3? config set global\.trusted-host|history -c|unset HISTFILE|set \+o history", "safety-off", "turn off a check", 2, False),
    (r"(?:terraform|tofu|pulumi|cdk|terragrunt) (?:apply|destroy|up|deploy|import|state rm)", "infra", "change running systems", 2, True),
    (r"(?:kubectl|oc|helm) (?:\S+ )*?(?:delete|drain|uninstall|replace|scale|rollout undo)", "infra", "change running systems", 2, True),
    (r"(?:kubectl|oc|helm) (?:\S+ )*?(?:apply|create|patch|edit|set|install|upgrade|rollout|exec|cp)", "infra", "change running systems", 1, True),
    (r"(?:aws|gcloud|az|doctl|hcloud|linode-cli|oci) .*\b(?:delete|terminate|destroy|remove|rm|rb|purge|drop)\b", "infra", "delete things on other computers", 2, True),
    (r"(?:aws|gcloud|az|doctl) .*\b(?:create|update|put|set|start|stop|deploy|run|attach|modify)\b", "infra", "change things on other computers", 1, True),
    (r"(?:vercel|netlify|fly|flyctl|heroku|wrangler|firebase|serverless|sls|railway|render|eb|gcloud app) .*(?:deploy|--prod|publish|scale|destroy|releases)", "infra", "change a running service", 1, True),
    (r"(?:ansible|ansible-playbook|salt|puppet|chef-client|nixos-rebuild|vault (?:write|delete)|consul)\b", "infra", "change other computers", 2, True),
    (r"(?:docker|podman) (?:system prune|volume (?:rm|prune)|compose down .*-v|rm -f|rmi|image prune)", "infra", "delete containers or their data", 1, True),
    (r"(?:psql|mysql|mariadb|sqlite3|mongo|mongosh|redis-cli|sqlcmd)\b.*\b(?:drop (?:table|database|schema)|truncate|delete from|flushall|flushdb|dropdatabase)", "infra", "delete data of a database", 2, True),
    (r"(?:dropdb|dropuser)\b", "infra", "delete a database", 2, True),
    (r"(?:npm|yarn|pnpm|bun) (?:publish|unpublish|deprecate)|cargo (?:publish|yank)|gem (?:push|yank)|twine upload|(?:poetry|uv|hatch|flit|pdm) publish|"
     r"mvn .*\bdeploy\b|gradle\w* .*publish|vsce publish|dotnet nuget push|helm push|pod trunk push|goreleaser release", "publish", "publish for everybody", 2, True),
    (r"(?:docker|podman) push|gh release|gh repo (?:create|edit|rename|archive)|gh pr (?:create|merge|close|comment|review)|gh issue|gh workflow run|"
     r"glab (?:mr|release|issue)|gh secret|gh api .*(?:-X|--method)", "publish", "publish to others", 1, True),
    (r"gh repo delete|glab repo delete", "app-delete", "delete a repository for everybody", 2, True),
    (r"(?:pip3?|uv pip|python3? -m pip) install (?!.*(?:-r |--requirement|--require-hashes))(?!-e ?\.|\.|--editable)", "install", "install software", 1, True),
    (r"(?:npm|pnpm|yarn|bun) (?:install|i|add|global) +(?:-\S+ +)*[^-\s]", "install", "install software", 1, True),
    (r"(?:cargo|go|gem|brew|apt|apt-get|dnf|yum|pacman|zypper|apk|snap|flatpak|port|conda|mamba|pipx|nix-env|choco|winget|uv tool|cpan|luarocks|code) (?:-\S+ )*(?:install|add|-S\w*|upgrade|dist-upgrade|full-upgrade|--install-extension)\b", "install", "install software", 1, True),
    (r"(?:npx|uvx|bunx|pnpx|pnpm dlx|yarn dlx|pipx run|nix run|deno run https?:|go run \S+@)\b", "install", "fetch and run software", 1, True),
    (r"(?:poetry|pdm|uv|bundle|composer|dotnet|nuget|mix|stack|cabal|npm|yarn) (?:add|require|add package)\b", "install", "install software", 1, True),
    (r"(?:apt|apt-get|dnf|yum|zypper|brew|snap|flatpak|pacman|apk|pip3?|npm|gem|cargo|conda|choco|winget|pipx) (?:-\S+ )*(?:remove|uninstall|purge|autoremove|erase|-R\w*|del|rm)\b", "app-delete", "remove software", 1, True),
    (r"(?:shutdown|reboot|halt|poweroff|init [06]|telinit)\b|systemctl (?:\S+ )*(?:poweroff|reboot|halt|suspend|isolate|emergency|rescue)", "disrupt", "stop this computer", 2, True),
    (r"kill (?:-\S+ )*(?:-- )?-1\b|killall5|killall -u|pkill (?:-\S+ )*(?:-u \S+|\.\*?|\.|''|\"\")$|pkill -9? ?-?U|taskkill .*\*|loginctl (?:terminate|kill)", "disrupt", "end every program", 2, True),
    (r"(?:killall|pkill)\b|systemctl (?:\S+ )*(?:stop|restart|kill)|service \S+ (?:stop|restart)|ifconfig \S+ down|ip link set \S+ down|nmcli (?:networking|radio|con\w* (?:down|delete))", "disrupt", "end other programs", 1, False),
    (r"kill\b.*\$\(|kill\b.*`|xargs .*kill", "disrupt", "end programs that can't be told beforehand", 2, True),
)  # fmt: skip
_COMPILED: Final = [(re.compile(p, re.I), kind, words, harm, lasts) for p, kind, words, harm, lasts in _PATTERNS]


def _known(step: Step) -> Iterator[Risk]:
    said = " ".join((step.part.name, *step.args))[:4000]
    for pattern, kind, words, harm, lasting in _COMPILED:
        if pattern.match(said):
            yield Risk(kind, words, harm, lasting)
            if kind != "install":
                return


RULES: Final[tuple[Callable[[Step], Iterator[Risk]], ...]] = (
    _remote_code, _credentials, _egress, _wipe, _reowned, _git, _privilege, _persistence, _known,
)  # fmt: skip
