"""Commands that only look, inside the folder: the list that passes silently even after reading from outside.

Data, by program, subcommand and allowed options (security.md §4.2). What isn't listed isn't read-only.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.guard.commands import Parsed, Part
from app.guard.places import is_secret, matches_secret

_NUMBER = re.compile(r"-\d+\Z")
_SECOND_IS_OUTPUT: Final = ("uniq", "xxd")
_JQ_REACHES = re.compile(r"\b(?:env|ENV|import|include|modulemeta)\b")  # the environment, and files by name
_SED = re.compile(r"(?:\d+|\$)(?:,(?:\d+|\$))?p\Z")


@dataclass(frozen=True, slots=True)
class Looks:
    """What a program may be given. `short`: letters; a trailing `:` says that the letter takes a value."""

    short: str = ""
    long: frozenset[str] = frozenset()  # a trailing "=" says that it takes a value
    pattern: bool = False  # its first word is a pattern, unless one came as an option
    words: bool = True  # words that aren't options are allowed; they are judged as paths
    number: bool = False  # -5


def _l(short: str = "", long: str = "", *, pattern: bool = False, words: bool = True, number: bool = False) -> Looks:
    return Looks(short, frozenset(long.split()), pattern, words, number)


_GREP = (
    "-ignore-case -invert-match -word-regexp -line-regexp -count -files-with-matches -files-without-match -line-number "
    "-recursive -fixed-strings -extended-regexp -basic-regexp -perl-regexp -only-matching -quiet -no-messages "
    "-with-filename -no-filename -context= -after-context= -before-context= -max-count= -include= -exclude= "
    "-exclude-dir= -regexp= -color= -color -text -null"
)
_DIFF = (
    "-stat -stat= -numstat -shortstat -name-only -name-status -cached -staged -summary -no-color -color -color= -patch "
    "-no-patch -unified= -word-diff -word-diff= -ignore-all-space -ignore-space-change -no-renames -find-renames "
    "-find-renames= -no-ext-diff -no-textconv -minimal -patience -histogram -check -raw -compact-summary -dirstat -exit-code "
    "-quiet -diff-filter= -relative -merge-base -abbrev -abbrev= -full-index -function-context"
)
_LOG = (
    _DIFF + " -oneline -graph -decorate -decorate= -all -branches -tags -remotes -author= -committer= -grep= -since= "
    "-until= -after= -before= -max-count= -skip= -reverse -follow -first-parent -merges -no-merges -pretty -pretty= "
    "-format= -date= -abbrev-commit -no-abbrev-commit -topo-order -date-order -left-right -cherry-pick -simplify-by-decoration "
    "-no-decorate -invert-grep -regexp-ignore-case -no-patch -source -relative-date"
)

PROGRAMS: Final[dict[str, Looks]] = {
    "ls": _l("aAlLhrtSRd1FgGoinspQbBcCuUxXkmN", "-all -almost-all -human-readable -recursive -reverse -size -sort= -time= "
             "-color -color= -directory -classify -inode -full-time -group-directories-first -si -time-style="),
    "cat": _l("nbAeEstTv", "-number -number-nonblank -show-all -show-ends -show-tabs -squeeze-blank"),
    "head": _l("n:c:qv", "-lines= -bytes= -quiet -verbose", number=True),
    "tail": _l("n:c:qv", "-lines= -bytes= -quiet -verbose", number=True),
    "wc": _l("lwcmL", "-lines -words -bytes -chars -max-line-length"),
    "grep": _l("iEFGPnvrRlLcwxoHhsqe:A:B:C:m:aZI", _GREP, pattern=True, number=True),
    "egrep": _l("invrRlLcwxoHhsqe:A:B:C:m:aI", _GREP, pattern=True, number=True),
    "fgrep": _l("invrRlLcwxoHhsqe:A:B:C:m:aI", _GREP, pattern=True, number=True),
    "rg": _l("iSsFnvlcwxoHIhqe:A:B:C:m:g:t:T:Uu.NLP", "-ignore-case -smart-case -case-sensitive -fixed-strings "
             "-line-number -no-line-number -invert-match -files-with-matches -files-without-match -count -count-matches -word-regexp "
             "-line-regexp -only-matching -with-filename -no-filename -quiet -regexp= -after-context= -before-context= -context= "
             "-max-count= -glob= -iglob= -type= -type-not= -multiline -hidden -no-ignore -files -json -stats -sort= "
             "-heading -no-heading -color= -max-depth= -no-config -trim -vimgrep -type-list -column", pattern=True),
    "find": _l(""),  # its own rules, below
    "sed": _l("n"),  # its own rules, below
    "pwd": _l("LP", words=False),
    "cd": _l(""),
    "echo": _l("neE"),
    "true": _l(),
    "false": _l(),
    "file": _l("bhiLk", "-brief -mime -mime-type -mime-encoding"),
    "stat": _l("c:Lft", "-format= -printf= -dereference -file-system -terse"),
    "du": _l("ahskmcxbd:LS", "-all -human-readable -summarize -total -max-depth= -apparent-size -bytes"),
    "df": _l("hkTiPl", "-human-readable -print-type -inodes"),
    "tree": _l("adfhpsDrtL:P:I:CFiugv", "-dirsfirst -noreport -charset="),
    "diff": _l("urqNabBwiyeEc:U:", "-unified -unified= -recursive -brief -side-by-side -color -color= -ignore-case "
               "-ignore-all-space -ignore-blank-lines -strip-trailing-cr -new-file -text"),
    "cmp": _l("bls", "-quiet -silent -verbose"),
    "comm": _l("123", ""),
    "cut": _l("d:f:c:b:s", "-delimiter= -fields= -characters= -bytes= -only-delimited -complement"),
    "tr": _l("dscCt", "-delete -squeeze-repeats -complement"),
    "uniq": _l("cdui", "-count -repeated -unique -ignore-case"),  # a second word is its output: below
    "sort": _l("nrufbdghiVMk:t:sc", "-numeric-sort -reverse -unique -human-numeric-sort -version-sort -key= -ignore-case"),
    "nl": _l("b:w:s:", ""),
    "tac": _l(),
    "rev": _l(),
    "fold": _l("w:s", "-width= -spaces"),
    "column": _l("ts:", "-table -separator="),
    "basename": _l("s:a", "-suffix= -multiple"),
    "dirname": _l(),
    "realpath": _l("esmq", "-canonicalize-existing -quiet"),
    "readlink": _l("fem", "-canonicalize"),
    "md5sum": _l(), "sha1sum": _l(), "sha256sum": _l(), "sha512sum": _l(), "cksum": _l(),
    "date": _l("uI", "-utc -iso-8601", words=False),
    "whoami": _l(words=False),
    "id": _l("ungG", words=False),
    "uname": _l("asrmnpo", words=False),
    "which": _l("a"),
    "jq": _l("rcnSeMs", "-raw-output -compact-output -sort-keys -exit-status -slurp", pattern=True),
    "ps": _l("efaux", "", words=False),
    "uptime": _l(words=False),
    "xxd": _l("u"),  # its options aren't bunched as others' are; a second word is its output: below
    "od": _l("cxA:t:N:j:", ""),
    "strings": _l("an:", "-all"),
}  # fmt: skip

GIT: Final[dict[str, Looks]] = {
    "status": _l("sbuvz", "-short -branch -porcelain -porcelain= -long -untracked-files -untracked-files= -ignored "
                 "-ahead-behind -no-ahead-behind -show-stash"),
    "log": _l("pn:L:S:G:isMCwbuzU:", _LOG, number=True),
    "show": _l("psMCwbuzU:", _LOG),
    "diff": _l("psMCwbuzRU:S:G:", _DIFF),
    "shortlog": _l("sne", "-summary -numbered -email -all"),
    "blame": _l("L:lswebcftnMC", "-line-porcelain -porcelain -date= -root -show-email -show-name"),
    "ls-files": _l("cdmotsuz", "-cached -deleted -modified -others -stage -exclude-standard -full-name -error-unmatch"),
    "ls-tree": _l("rdtlz", "-name-only -long -full-tree -full-name"),
    "rev-parse": _l("", "-abbrev-ref -short -short= -show-toplevel -is-inside-work-tree -git-dir -verify -quiet -symbolic "
                    "-show-prefix -show-cdup -all -branches"),
    "rev-list": _l("n:", "-count -all -max-count= -since= -until= -left-right -no-merges -merges -first-parent -reverse"),
    "describe": _l("", "-tags -all -always -dirty -long -abbrev= -match="),
    "cat-file": _l("pte s", "-batch-check"),
    "merge-base": _l("a", "-all -is-ancestor -octopus"),
    "name-rev": _l("", "-name-only -tags"),
    "count-objects": _l("vH", "-verbose"),
    "grep": _l("inwIlLcEFGPhHe:A:B:C:pW", _GREP, pattern=True),
    "branch": _l("arv", "-list -all -remotes -verbose -show-current -merged -no-merged -sort= -no-color -color "
                 "-column -ignore-case", words=False),
    "tag": _l("ln", "-list -sort= -column -ignore-case", words=False),
    "remote": _l("v", "-verbose", words=False),
    "stash": _l(words=False),
    "worktree": _l(words=False),
    "reflog": _l("n:", "-oneline -date= -max-count=", words=False, number=True),
}  # fmt: skip
_GIT_LISTS: Final = {"stash": "list", "worktree": "list", "reflog": "show"}
_FIND_TESTS: Final = frozenset(
    """-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime -mmin -atime -amin -ctime
    -cmin -newer -maxdepth -mindepth -user -group -perm -links -inum -samefile -printf""".split()
)
_FIND_BARE: Final = frozenset(
    """-print -print0 -ls -empty -not ! -a -and -o -or ( ) -true -false -depth -mount -xdev -follow -prune -readable
    -writable -executable -H -L -P -quit -daystart -noleaf""".split()
)


def read_only(parsed: Parsed) -> bool:
    """Whether every part of a command only looks, by programs and options that are listed, inside the folder."""
    return parsed.plain and bool(parsed.parts) and all(_part_looks(part) for part in parsed.parts)


def _part_looks(part: Part) -> bool:
    if not part.plain or part.writes or part.reads or part.sets or part.under or part.background:
        return False
    name, words = part.argv[0], part.argv[1:]
    if name == "git":
        return _git(words)
    if name == "find":
        return _find(words)
    if name == "sed":
        return _sed(words)
    looks = PROGRAMS.get(name)
    if looks is None or (name == "cd" and (len(words) != 1 or words[0].startswith("-"))):
        return False
    if name == "jq" and any(_JQ_REACHES.search(word) for word in words):
        return False
    if name == "echo":
        return not any(word.startswith("~") for word in words)
    most = 1 if name in _SECOND_IS_OUTPUT else None
    return _fits(looks, words, free=name in ("tr", "which", "basename", "dirname"), most=most)


def _fits(looks: Looks, words: Sequence[str], *, free: bool = False, most: int | None = None) -> bool:
    """Whether all options are listed and all paths, at most `most`, lie inside the folder."""
    pattern, at, ended = looks.pattern, 0, False
    positional: list[str] = []
    while at < len(words):
        word = words[at]
        at += 1
        if ended or not word.startswith("-") or word == "-":
            positional.append(word)
        elif word == "--":
            ended = True
        elif looks.number and _NUMBER.match(word):
            continue
        elif word.startswith("--"):
            name, equals, value = word[1:].partition("=")
            takes = name + "=" in looks.long
            if not takes and (equals or name not in looks.long):
                return False
            if takes and not equals and name not in looks.long:
                value = words[at] if at < len(words) else ""
                at += 1
                if _may_be_option(value):
                    return False
            if name == "-regexp":
                pattern = False
            elif value and not _inside(value):
                return False
        else:
            used, gave_pattern = _short(looks, word, words[at : at + 1])
            if used < 0:
                return False
            pattern = pattern and not gave_pattern
            at += used
    if pattern and positional:
        positional.pop(0)
    if positional and (not looks.words or (most is not None and len(positional) > most)):
        return False
    return free or all(_inside(word) for word in positional)


def _short(looks: Looks, word: str, after: Sequence[str]) -> tuple[int, bool]:
    """How many words after a bunch of short options belong to it (-1: not allowed), and whether it gave a pattern."""
    for i, letter in enumerate(word[1:], 1):
        place = looks.short.find(letter)
        if place < 0 or letter in ": ":
            return -1, False
        if looks.short[place + 1 : place + 2] == ":":
            inline = word[i + 1 :]
            value = inline or (after[0] if after else "")
            if not inline and _may_be_option(value):
                return -1, False
            if letter not in "eSG" and not _inside(value):
                return -1, False
            return (0 if inline else 1), letter == "e"
    return 0, False


def _may_be_option(value: str) -> bool:
    """A value that stands alone and looks like an option: where a program takes it for one, it is no value."""
    return value.startswith("-") and value != "-" and not _NUMBER.match(value)


def _inside(word: str) -> bool:
    """A path, revision or value that can't name a place outside the folder, nor one where secrets lie."""
    if word.startswith(("/", "~")) or "\\" in word or "\n" in word or is_secret(word) or matches_secret(word):
        return False
    for piece in (word, word.partition(":")[2], word.rpartition("=")[2], word.rpartition(",")[2]):
        if piece.startswith(("/", "~")) or posixpath.normpath(piece or ".").split("/")[0] == "..":
            return False
    return True


def _git(words: Sequence[str]) -> bool:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] in ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"):
            at += 1
        elif words[at] == "-C" and at + 1 < len(words) and _inside(words[at + 1]):
            at += 2
        else:
            return False
    if at >= len(words):
        return False
    name, rest = words[at], list(words[at + 1 :])
    looks = GIT.get(name)
    if looks is None:
        return False
    if name in _GIT_LISTS:
        if name != "reflog" and rest[:1] != [_GIT_LISTS[name]]:
            return False
        if rest[:1] == [_GIT_LISTS[name]]:
            rest = rest[1:]
    if name == "shortlog" and not any(not w.startswith("-") for w in rest):
        return False  # without a revision it may read its input
    if name in ("branch", "tag") and rest[:1] in (["--list"], ["-l"]):
        looks = Looks(looks.short + "l", looks.long, words=True)
    return _fits(looks, rest)


def _find(words: Sequence[str]) -> bool:
    at = 0
    while at < len(words):
        word = words[at]
        if word in _FIND_TESTS:
            value = words[at + 1] if at + 1 < len(words) else ""
            if word in ("-newer", "-samefile") and not _inside(value):
                return False
            at += 2
        elif word in _FIND_BARE or (not word.startswith("-") and _inside(word)):
            at += 1
        else:
            return False
    return True


def _sed(words: Sequence[str]) -> bool:
    """`sed -n 3,9p file` alone."""
    if len(words) < 2 or words[0] not in ("-n", "--quiet") or not _SED.match(words[1]):
        return False
    return all(not word.startswith("-") and _inside(word) for word in words[2:])
