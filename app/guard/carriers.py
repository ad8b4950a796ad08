"""Places that carry a secret whatever it looks like: a command's option, an address, a header, a tag, a table's cell."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from app.guard import labels, shapes

_ID_PREFIXES = tuple("cus_ pi_ evt_ msg_ req_ sub_ price_ prod_ acct_ txn_ pm_ call_ file-".split())
_PASS = r"(?:pass(?:word|wd|phrase)?|passwort|kennwort|pwd|psk|contraseña|clave)"
_SECRET = (
    r"(?:secret|token|api[-_. ]?key|(?:access|secret|private|client|signing|encryption|auth)[-_. ]?key|credential)"
)
_Q = r"[\"']?"  # a value may stand in quotes
_REGISTRY = (
    r"\b(?:docker|podman|buildah|skopeo|oras|helm|az|oc|twine)\b[^\n|;&]{0,}?\b(?:login|upload)\b[^\n|;&]{0,}?\s"
)

# (kind, pattern): the value is group 1. RE2 runs them in linear time; `fits` judges the value by the kind. A name's length
# is left open: a bound costs RE2 a state for each letter of it.
PLACES: Final[tuple[tuple[str, str], ...]] = (
    ("url-password", r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/@:\"'<>]{0,}:([^\s/\"'<>]{1,})@"),
    ("bearer", r"(?i:\bbearer[ \t]{1,4})([A-Za-z0-9._~+/=-]{12,})"),
    ("basic", r"(?i:\bbasic[ \t]{1,4})([A-Za-z0-9+/]{8,}={0,2})"),
    ("pair", r"(?i:auth[\\\"']{0,3}[ \t]{0,4}[:=][ \t]{0,4}[\\\"']{0,3})([A-Za-z0-9+/]{8,}={0,2})"),
    ("webhook", shapes.SLACK_WEBHOOK),
    ("webhook", shapes.DISCORD_WEBHOOK),
    ("webhook", shapes.TEAMS_WEBHOOK),
    ("hook-path", r"https?://[^\s/\"'<>]*\bhooks?[^\s/\"'<>]*/[^\s\"'<>]*?/([A-Za-z0-9_-]{16,})"),
    # Commands.
    ("command", r"(?:\s-u|--user|--proxy-user)[ =]{1,3}[\"']?[^\s:\"']{1,}:([^\s\"']{3,})"),
    ("command", rf"\bsshpass\s{{1,4}}-p\s{{0,4}}{_Q}([^\s\"']{{3,}})"),
    ("command", r"\b(?:mysql|mariadb)(?:dump|admin|-dump|-admin)?\b[^\n]{0,}?\s-p[\"']?([^\s\"']{4,})"),
    ("command", rf"{_REGISTRY}-p[ =]{{0,2}}{_Q}([^\s\"']{{4,}})"),
    ("command", rf"\b(?:mongo(?:sh|dump|restore)?|rabbitmqadmin|cqlsh|snmpget)\b[^\n|;]{{0,}}?\s-[pA][ =]{_Q}([^\s\"']{{4,}})"),
    ("command", rf"\b(?:redis|keydb|valkey)-cli\b[^\n|;]{{0,}}?\s-a[ =]?{_Q}([^\s\"']{{4,}})"),
    ("command", rf"\bldap[a-z]{{2,10}}\b[^\n|;]{{0,}}?\s-w[ =]?{_Q}([^\s\"']{{4,}})"),
    ("command", rf"\b(?:sqlcmd|bcp|isql|osql|tsql|(?:un)?zip|mosquitto_[a-z]{{2,4}}|ipmitool)\b[^\n|;]{{0,}}?\s-P[ =]?{_Q}([^\s\"']{{4,}})"),
    ("command", rf"\b7z[ar]?\b[^\n|;]{{0,}}?\s-p{_Q}([^\s\"']{{4,}})"),
    ("command", rf"\bopenssl\b[^\n|;]{{0,}}?\s-k[ =]{_Q}([^\s\"']{{4,}})"),
    ("command", rf"-pass(?:in|out)?[ =]{_Q}pass:([^\s\"']{{4,}})"),
    ("command", r"\b(?:smbclient|rpcclient|smbget|net)\b[^\n|;]{0,}?\s-U[ =]?[\"']?[^\s%\"']+%([^\s\"']{4,})"),
    ("command", r"\blftp\b[^\n|;]{0,}?\s-u[ =][\"']?[^\s,\"']+,([^\s\"']{4,})"),
    ("command", rf"\bhtpasswd\s{{1,4}}-[a-zA-Z]{{0,6}}b[a-zA-Z]{{0,6}}\s{{1,4}}\S{{1,}}\s{{1,4}}\S{{1,}}\s{{1,4}}{_Q}([^\s\"']{{4,}})"),
    ("command", rf"\b(?:xfreerdp3?|wfreerdp|rdesktop)\b[^\n|;]{{0,}}?\s[/-]p[: ]?{_Q}([^\s\"']{{4,}})"),
    ("command", rf"\b(?:rclone\s{{1,4}}obscure|wpa_passphrase\s{{1,4}}\S{{1,40}})\s{{1,4}}{_Q}([^\s\"']{{4,}})"),
    ("command", rf"(?i:\bwifi\s{{1,4}}connect\b[^\n|;]{{0,}}?\spassword\s{{1,4}}){_Q}([^\s\"']{{4,}})"),
    ("command", rf"\bsecurity\s{{1,4}}add-[a-z]{{4,10}}-password\b[^\n|;]{{0,}}?\s-w[ =]{_Q}([^\s\"']{{4,}})"),
    ("command", r"\b(?:echo|printf)\s{1,4}(?:-n\s{1,4})?[\"']?(?:\w{1,40}:)?([^\s\"'|:]{4,})[\"']?\s{0,4}\|[^\n]{0,}?(?:-stdin|--with-token|\bsudo\s{1,4}-S|\bchpasswd|-fd[ =]0|\bpasswd\b|\bcryptsetup\b)"),
    ("command", rf"(?i:--?[a-z-]{{0,24}}(?:password|passwd|passphrase|pass|pwd|token|api-?key|secret|access-?key|auth-?key)\d?[ =]{{1,2}}){_Q}([^\s\"'-][^\s\"']{{3,}})"),
    ("set", rf"(?i:\b(?:set|setx|setenv|export)(?:[ \t]+-{{1,2}}[a-z]+){{0,3}}[ \t]+[\w./:-]*{_PASS}[\w-]*[ \t]+){_Q}([^\s\"']{{5,}})"),
    ("set-key", rf"(?i:\b(?:set|setx|setenv|export)(?:[ \t]+-{{1,2}}[a-z]+){{0,3}}[ \t]+[\w./:-]*(?:{_SECRET}|_key)[\w-]*[ \t]+){_Q}([^\s\"']{{12,}})"),
    # Files and code.
    ("netrc", r"(?i:\blogin\s{1,4}\S{1,}\s{1,4}password\s{1,4})(\S{3,})"),
    ("pgpass", r"(?:\A|[\s\"'`])[\w.*-]+:(?:\d{4,5}|\*):[\w.*-]+:[\w.*-]+:([^\s\"'`:][^\s\"'`]{3,})"),
    ("at-host", r"(?:\A|[\s\"'`=])[A-Za-z][\w.-]*:([^\s:@/\"'`]{6,})@(?:[\w-]+\.)+\w{2}"),
    ("tag", rf"(?i:<[\w:.-]*{_PASS}[\w.-]*>\s*(?:<!\[CDATA\[)?)([^<>\s\]]{{4,}})"),
    ("tag-key", rf"(?i:<[\w:.-]*{_SECRET}[\w.-]*>\s*(?:<!\[CDATA\[)?)([^<>\s\]]{{8,}})"),
    ("named", rf"(?i:{_PASS}[\w.-]*[\"'](?:\s*[,{{]|\s)(?:[^{{}}<>\n]*\n){{0,4}}?[^{{}}<>\n]*?\b(?:default|value)[\"']?\s*[:=]\s*[\"'])([^\"'\n]{{4,}})[\"']"),
    ("named-key", rf"(?i:{_SECRET}[\w.-]*[\"'](?:\s*[,{{]|\s)(?:[^{{}}<>\n]*\n){{0,4}}?[^{{}}<>\n]*?\b(?:default|value)[\"']?\s*[:=]\s*[\"'])([^\"'\n]{{8,}})[\"']"),
    ("named", rf"(?i:\bname:[ \t]*[\"']?[\w.-]*{_PASS}[\w.-]*[\"']?\s+value:[ \t]*[\"']?)([^\s\"']{{4,}})"),
    ("named-key", rf"(?i:\bname:[ \t]*[\"']?[\w.-]*{_SECRET}[\w.-]*[\"']?\s+value:[ \t]*[\"']?)([^\s\"']{{8,}})"),
    ("argument", rf"(?i:\w\(\s*[\"'`][\w./-]*{_PASS}[\w-]*[\"'`]\s*,\s*[\"'`])([^\"'`\n]{{5,}})[\"'`]"),
    ("argument-key", rf"(?i:\w\(\s*[\"'`][\w./-]*{_SECRET}[\w-]*[\"'`]\s*,\s*[\"'`])([^\"'`\n]{{8,}})[\"'`]"),
    ("argument", r"(?i:\b(?:[a-z]{0,12}auth|log_?in|credentials?)[ \t]*[=:(]{1,2}\s*[\[(]?\s*[\"'][^\"'\n]+[\"']\s*,\s*[\"'])([^\"'\n]{5,})[\"']"),
    ("sql", r"(?i:\bidentified[ \t]{1,4}(?:with[ \t]{1,4}\S{1,40}[ \t]{1,4})?by[ \t]{1,4}[\"'])([^\"'\n]{4,})[\"']"),
    ("digest", r"(?i:\bdigest\b[^\n]{0,}?\bresponse=[\"']?)([0-9a-f]{32,64})"),
    ("sealed", r"\$ANSIBLE_VAULT;[\d.]{1,8};\w{1,20}[^\n]*\n((?:[ \t>|]*[0-9a-f]{6,}\s{0,2}){1,})"),
    ("sealed", r"(?i:\bprivate-lines:[ \t]{0,4}\d{1,4}\s{1,4})((?:[ \t>|]{0,8}[A-Za-z0-9+/=]{16,}\s{0,2}){1,})"),
    ("jwk", r"[\"'](?:d|p|q|dp|dq|qi|k)[\"'][ \t]{0,4}:[ \t]{0,4}[\"']([A-Za-z0-9_-]{20,})[\"']"),
    ("query", r"(?i:[?&#;](?:key|token|sig|signature|api_?key|access_token|refresh_token|id_token|auth|secret|code|password|pwd|x-amz-signature|x-amz-security-token)=)([^&\s\"'<>;#]{6,})"),
    # Talk.
    ("as-password", r"([^\s\"'`]{5,})[\"'`]?(?i:[ \t]{1,4}as[ \t]{1,4}(?:my|the|a|our|your)[ \t]{1,4}(?:new[ \t]{1,4})?(?:password|passphrase|passwort|pin))"),
    ("as-user", r"(?i:\b(?:log[ -]?in|sign[ -]?in|logins?|user(?:name)?|account|cred(?:ential)?s|anmelde\w{0,8}|zugang\w{0,8}|usuario)\b[^\n/]{0,40}?[ \t][^\s/]+[ \t]{1,2}/[ \t]{1,2})([^\s\"'`]{6,})"),
    ("card", r"(?i:\bcard(?:[ \t]{1,4}(?:number|no\.?|nr\.?|is))?[ \t]{0,4}[:=#]?[ \t]{0,4})((?:\d[ -]?){12,18}\d)"),
    ("card", r"(?i:\bcv[cv]2?[ \t]{0,4}[:=]?[ \t]{0,4}(?:is[ \t]|ist[ \t]|es[ \t])?)(\d{3,4})\b"),
    ("iban", r"\b([A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?)\b"),
    ("seed", r"(?i:\b(?:seed|recovery|mnemonic|backup|wallet)(?:[ \t](?:phrase|words|seed|key))?[ \t]{0,4}(?:is|:|=)?[ \t]{0,4})((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"),
    ("long-token", r"\b([A-Za-z]{2,10}[_-][A-Za-z0-9]{32,})"),
)  # fmt: skip

_FIELD = re.compile(r"[a-z_]*(?:pass|pwd|token|secret|key|user|name|id)[a-z_]*\d{0,2}\Z")  # `password2` names a field
_HEX_GROUPS = re.compile(r"[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{0,4})*\Z")
_PARTS = re.compile(r"(?:id|src|source|type|env|file)=")
_PASSWORDS = frozenset({"command", "set", "netrc", "tag", "named", "sql", "argument", "as-password"})
_KEYS = frozenset({"set-key", "tag-key", "named-key", "argument-key"})
_SURE = frozenset({"card", "webhook", "seed", "digest", "sealed", "jwk"})

_TABLE: Final = (
    rf"(?i:[|│┃,;\t][ \t\"'*`]*(?:[\pL\pN_-]+[ _-])?(?:{_PASS}|{_SECRET})|(?:{_PASS}|{_SECRET})s?[ \t\"'*`]*[|│┃,;\t])"
)


@cache
def _filter() -> Any:
    """All places behind one search for the literals they need: most texts have few of them."""
    import re2

    options = re2.Options()
    options.log_errors = False
    places = re2.Filter()
    for _, pattern in PLACES:
        places.Add(pattern, options)
    places.Add(_TABLE, options)
    places.Compile()
    return places


def found(text: str) -> Iterator[tuple[int, int, str]]:
    """Every value (start, end, kind) that stands in such a place and is a secret; they may overlap."""
    places = _filter()
    for at in places.Match(text) or ():
        if at == len(PLACES):
            yield from cells(text)
            continue
        kind = PLACES[at][0]
        if kind == "jwk" and '"kty"' not in text and "'kty'" not in text:
            continue
        for match in places.re(at).finditer(text):
            if _fits(kind, match.group(1)):
                yield match.start(1), match.end(1), kind


def _fits(kind: str, value: str) -> bool:  # noqa: PLR0911 - a case a place
    """Whether what stands in such a place is a secret, not a placeholder, a word or a name."""
    if kind in _SURE:
        return True
    if kind in _PASSWORDS:
        if _PARTS.match(value) or (kind == "argument" and (" " in value or _FIELD.match(value))):
            return False
        return labels.looks_like_password(value, strong=False, alone=True)
    if kind in _KEYS:
        return labels.looks_like_key(value, strong=False) and (labels._mixed(value) or len(value) >= 32)
    match kind:
        case "url-password":
            return not labels.is_placeholder(value)
        case "bearer":
            return labels.looks_like_key(value, strong=True) and (labels._mixed(value) or len(value) >= 24)
        case "basic":
            return labels._mixed(value) or (value.endswith("=") and len(value) >= 12)
        case "pair":
            return _is_pair(value)
        case "query":
            return labels.looks_like_key(value, strong=True) or (
                len(value) >= 24 and labels._mixed(value) and not labels.is_placeholder(value)
            )
        case "hook-path":
            return labels.looks_like_key(value, strong=True) and labels._mixed(value)
        case "pgpass" | "at-host" | "as-user":
            sure = labels.looks_like_password(value, strong=False, alone=True)
            return sure and not _HEX_GROUPS.match(value) and (labels._mixed(value) or kind != "as-user")
        case "iban":
            return sum(c.isdigit() for c in value) >= 10
        case "long-token":
            body = value[value.find("_") + 1 if "_" in value else value.find("-") + 1 :]
            classes = [any(map(f, body)) for f in (str.isupper, str.islower, str.isdigit)]
            return all(classes) and sum(map(str.isdigit, body)) >= 3 and not value.startswith(_ID_PREFIXES)
    return False


def _is_pair(value: str) -> bool:
    """Whether base64 says `name:password`."""
    try:
        said = base64.b64decode(value[:400][: min(len(value), 400) // 4 * 4]).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return False
    name, sign, password = said.partition(":")
    return bool(name and sign and password) and said.isprintable() and " " not in name


_PIPED = re.compile(r"[ \t>]*[|│┃].*[|│┃][ \t]*\Z")
_RULE = re.compile(r"[\s|│┃+:├┼┤─=-]+\Z")
_NAME_PASSWORD = re.compile(rf"[\s*_`\"']*(?:[\w-]+[ _-])?{_PASS}s?[\s*_`\"']*\Z", re.I)
_NAME_KEY = re.compile(rf"[\s*_`\"']*(?:[\w-]+[ _-])?{_SECRET}s?[\s*_`\"']*\Z", re.I)
_CELL = re.compile(r"[\s*_`\"']*([^\s*`\"'|][^\s`\"'|]{3,200})")


def cells(text: str) -> Iterator[tuple[int, int, str]]:
    """The cells of a table or of comma-separated lines that stand under, or right of, a telling name."""
    head: list[str] = []
    sign, at = "", 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        mark = next((s for s in "|│┃" if s in bare), "") if _PIPED.match(bare) else ""
        mark = mark or next((s for s in "\t;," if s in bare), "")
        parts = bare.split(mark) if mark else []
        if len(parts) > 60:
            head = []
        elif not mark or mark != sign or len(parts) != len(head):
            head, sign = (parts, mark) if sum(map(bool, map(str.strip, parts))) > 1 else ([], "")
        elif not _RULE.match(bare):
            yield from _judged(at, parts, head, len(sign))
        if mark in ("|", "│", "┃") and len(parts) <= 60:
            yield from _judged(at, parts, ["", *parts[:-1]], 1)
        at += len(line)


def _judged(at: int, parts: list[str], names: list[str], gap: int) -> Iterator[tuple[int, int, str]]:
    for name, part in zip(names, parts, strict=True):
        value = _CELL.match(part) if len(name) <= 60 else None
        if value is not None:
            word = value[1]
            if _NAME_PASSWORD.match(name):
                sure = labels._mixed(word) or labels._symbols(word)
                sure = sure and labels.looks_like_password(word, strong=False, alone=True) and not _FIELD.match(word)
            else:
                sure = bool(_NAME_KEY.match(name)) and labels.looks_like_key(word, strong=False)
                sure = sure and labels._mixed(word)
            if sure:
                yield at + value.start(1), at + value.end(1), "cell"
        at += len(part) + gap
