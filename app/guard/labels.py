"""Values that are secrets because of the word before them, and the test that tells a value from talk (security.md §1.3)."""

from __future__ import annotations

import re
from typing import Final

_PW = (
    r"pass(?:word|wd|wort|phrase|code)?|pwd|pw|psk|kennwort|contrase(?:ñ|n)a|clave|mot de passe|senha|wachtwoord|has(?:ł|l)o|"
    r"l(?:ö|o)senord|parola|пароль|密码|密碼|パスワード|비밀번호"
)
_KEY = (
    r"token|secret|api[-_ ]?key|access[-_ ]?key|account[-_ ]?key|shared[-_ ]?access[-_ ]?key|private[-_ ]?key|signing[-_ ]?key|"
    r"encryption[-_ ]?key|master[-_ ]?key|service[-_ ]?key|auth[-_ ]?key|license[-_ ]?key|preshared[-_ ]?key|secret[-_ ]?key|"
    r"credentials?|authorization|session[-_ ]?id|sessid|app[-_ ]?secret|"
    r"(?:client|app|application|subscription|storage|deploy|admin|consumer|project)[-_ ]?key|jeton|schlüssel|webhook[-_ ]?url"
)
_CODE = (
    r"pin|puk|cvv|cvc|otp|tan|(?:door|gate|alarm|entry|verification|security|access|unlock|safe|locker|garage|house|lock|"
    r"confirmation|one[- ]time|2fa|mfa|otp|sms|login|recovery|backup|auth(?:entication)?|device|sim|pin|bike|phone)(?:['’]s)?[- ]codes?|"
    r"codes?[ ](?:for|of|to)[ ](?:the|my|our|your)[ ](?:\w{1,12}[ ])?(?:door|gate|alarm|safe|locker|garage|house|lock|box|card)|"
    r"(?:zugangs|tür|tor|alarm|sicherheits|bestätigungs|tan|pin)[- ]?code|c(?:ó|o)digo(?:[ ](?:de(?:[ ]la|l)?|para)[ ]\w{1,20}){0,2}|"
    r"combination|(?:safe|locker|vault|gate|door|padlock|lock) opens with"
)
# what may stand between the label's word and its sign: an identifier's rest, a closing quote
_REST = r"(?:s|[_-][A-Za-z0-9_-]{0,40}|[A-Z][A-Za-z]{0,24}|\d{1,3})?[\\\"'`*_\])]{0,3}"
_STRONG = r"[ \t]{0,8}(?::=|=>|==?|:|：|＝|->|→)[ \t]{0,8}"
_WEAK = r"(?:[ \t]{1,4}(?:for|of|on|für|vom|von|zum|fürs|der|des|del|de|para|du|pour)[ \t]{1,4}[^\s]{1,40}(?:[ \t]{1,4}[^\s]{1,40})?)?[ \t]{1,8}(?:is|was|reads|becomes|ist|lautet|heißt|heisst|war|es|era|est|e|è|är|to|=|:)(?:[ \t]{0,4}:)?[ \t]{1,8}(?:now[ \t]|still[ \t])?"
_BARE = r"[ \t]{1,8}"

_PASSWORD = re.compile(rf"(?i:{_PW})[^\w]{{0,12}}\Z")
LABELLED: Final = rf"(?i:({_PW})|({_KEY})|\b({_CODE})\b)(?:{_REST})(?:({_STRONG})|({_WEAK})|({_BARE}))"

_NOT_VALUES: Final = frozenset(
    """required optional string str text null none nil undefined true false hidden changed change reset incorrect invalid
    missing expired empty unset default password passwd secret token value object function number boolean bool integer int
    bytes char varchar unknown redacted removed masked protected encrypted hashed forgotten forgot please example changeme
    placeholder same different correct wrong strong weak stored saved sent updated rotated needed there below above again
    something anything nothing obligatoria vergessen ungültig falsch requis requise readonly private public static const
    self this field label input column type name user admin root basic bearer digest session cookie header body query
    expires policy manager rotation count length limit usage bucket created_at created updated_at accepted rejected refused
    disabled enabled verified confirmed supported allowed denied matched mismatch failed succeeded pending waiting getpass
    prompt stdin environ dotenv config settings database oauth sso saml ldap keyring keychain vault bitwarden onepassword
    argon2 argon2id sha1 sha256 sha512 md5 pbkdf2 base64 utf8 utf-8 oauth2 openid hs256 rs256 es256 aes256 bcrypt2b sha-256 sha-512""".split()
)
_FILLER = re.compile(r"[*x.•●_?#\-X0…]+\Z")
_REFERENCE = re.compile(
    r"[$%{<\[(‹⟨&@]|\\\(|process\.env|os\.(?:environ|getenv)|(?:ENV|env)\[|secrets?\.|settings\.|config\.|vars?\.|self\.|this\."
)
_CALLED = re.compile(r"[A-Za-z_][\w.]*\(|[A-Za-z_]\w*\[")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+\Z")
_WORDS = re.compile(r"[A-Za-z]{2,}(?:[-_.][A-Za-z]{2,}){2,}\d*[!?]?\Z")
_SNAKE = re.compile(r"[a-z][a-z]*(?:[_-][a-z]+)*\Z|[A-Z][A-Z]*(?:_[A-Z]+)+\Z")
_TIME = re.compile(r"\d{1,4}(?:[-:/.]\d{1,4})+\S{0,10}\Z|\d+(?:ms|s|m|h|d|px|%|kb|mb|gb)?\Z", re.I)
_CAMEL = re.compile(r"(?:[A-Z]?[a-z]{2,})(?:[A-Z][a-z]+)*\Z")
_DIGIT, _LETTER, _ALNUM = re.compile(r"\d"), re.compile(r"[^\W\d_]"), re.compile(r"[^\W_]")
_UPPER, _LOWER, _SYMBOL = re.compile(r"[A-Z]"), re.compile(r"[a-z]"), re.compile(r"[^\w\-./:'’]")
_GROUPS = re.compile(r"(?=[a-zA-Z-]*\d)[A-Za-z0-9]{3,6}(?:-[A-Za-z0-9]{3,6}){1,3}(?!\w)")
_DIGITS = re.compile(r"[A-Za-z0-9]{0,3}\d{4,8}[#*]?(?![\w.,:/]*\d|\w)")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|/|\.{1,2}/|~/|[\w.+-]+@[\w-]+\.\w+\Z", re.I)


def is_password(label: str) -> str:
    """The password's word at a key's label's end: `private_key_password:` names a password."""
    said = _PASSWORD.search(label)
    return said.group() if said else ""


def is_placeholder(value: str) -> bool:
    """Whether a value only stands for one: a variable, a call, a type word, stars, dots."""
    bare = value.strip("\"'`,;:.!?)")
    return (
        not bare
        or bare.lower() in _NOT_VALUES
        or bool(_FILLER.match(bare))
        or bool(_REFERENCE.match(bare))
        or bool(_CALLED.match(bare))
        or bare.lower().startswith(
            ("your", "my-", "my_", "some-", "xxx", "example", "test-", "insert", "replace", "enter-")
        )
        or len(set(bare)) <= 2
    )


def _is_path(value: str) -> bool:
    """A dotted name such as `settings.api_key`: no part of it looks random."""
    if not _DOTTED.match(value):
        return False
    return not any(_mixed(p) and (len(p) >= 16 or any(map(str.isupper, p))) for p in re.split(r"\.|->|::", value))


def _mixed(value: str) -> bool:
    """A digit and a letter."""
    return bool(_DIGIT.search(value) and _LETTER.search(value))


def _symbols(value: str) -> bool:
    inner = value.strip(".,;:!?)")
    return bool(_SYMBOL.search(inner) and _ALNUM.search(inner))


def looks_like_password(value: str, *, strong: bool, alone: bool) -> bool:
    """After a password label. `strong`: the sign was `:` or `=`. `alone`: no more prose follows on the line."""
    if len(value) < 4 or is_placeholder(value) or _is_path(value) or _TIME.match(value) or _ADDRESS.match(value):
        return bool(strong and 4 <= len(value) <= 12 and value.isdigit())
    if _WORDS.match(value) and not _SNAKE.match(value.replace("-", "")):
        return True
    if _WORDS.match(value):
        return "_" not in value
    if _mixed(value) or _symbols(value):
        return len(value) >= 5
    inner_capital = bool(_UPPER.search(value, 1) and _LOWER.search(value))
    if len(value) >= 6 and value.isalpha() and inner_capital:
        return strong or len(value) >= 8
    return strong and alone and len(value) >= 6 and value.isalpha()


def looks_like_key(value: str, *, strong: bool) -> bool:
    """After a token, secret or key label: long, and no word, name, path or number."""
    if len(value) < 8 or is_placeholder(value) or _ADDRESS.match(value) or _TIME.match(value):
        return False
    if _is_path(value):
        return False
    if _SNAKE.match(value) and not _WORDS.match(value):
        return False
    if _WORDS.match(value):
        return strong and "-" in value and "_" not in value and "." not in value
    if (not strong and len(value) < 12) or " " in value or _CAMEL.match(value):
        return False
    upper, lower = bool(_UPPER.search(value)), bool(_LOWER.search(value))
    return (_mixed(value) and (len(value) >= 10 or _symbols(value))) or (upper and lower and len(value) >= 20)


def code_length(value: str) -> int:
    """How many characters of `value` are a code (4–8 digits, or short groups with a digit); 0 when it isn't one."""
    group = _GROUPS.match(value)
    if group and not _TIME.match(group[0]):
        return group.end()
    digits = _DIGITS.match(value)
    return digits.end() if digits else 0


def random_groups(value: str) -> bool:
    """Whether four groups of four small letters are an app's password, not four short words."""
    groups = value.split()
    return any(not set(g) & set("aeiouy") for g in groups) or sum(value.count(c) for c in "jqxz") >= 2
