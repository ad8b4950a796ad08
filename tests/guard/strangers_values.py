"""Makers of values that look like secrets or ids: by a seeded random, vendors' marks put together from parts."""

from __future__ import annotations

import base64
import string
from collections.abc import Callable
from random import Random

LETTERS = string.ascii_letters
BASE62 = LETTERS + string.digits
HEX = "0123456789abcdef"
WORDS = [
    "kelp",
    "tide",
    "amber",
    "lantern",
    "gravel",
    "thicket",
    "marble",
    "otter",
    "saffron",
    "willow",
    "copper",
    "harbor",
    "violet",
    "pepper",
    "canyon",
]
WORDS += ["meadow", "puzzle", "rocket", "velvet", "walnut", "zebra", "anchor", "bishop", "candle"]

Maker = Callable[[Random, int], str]


def _of(alphabet: str, random: Random, size: int) -> str:
    return "".join(random.choices(alphabet, k=size))


def _mark(*parts: str, alphabet: str = BASE62, size: int = 0) -> Maker:
    """A vendor's key: its mark, in parts so that no scanner sees it in this file, then `size` characters."""
    return lambda random, _: "".join(parts) + _of(alphabet, random, size)


def _base64(random: Random, size: int) -> str:
    """`size` characters of base64, padded as such a text would be."""
    whole = base64.b64encode(random.randbytes((size + 3) // 4 * 3)).decode()
    if size % 4 or size > 90:
        return whole[:size]
    return base64.b64encode(random.randbytes(size // 4 * 3 - random.choice((0, 1, 2)))).decode()


def _password(random: Random, _: int) -> str:
    word = random.choice(WORDS)
    return random.choice(
        (
            f"{word.title()}{random.randrange(10, 9999)}{random.choice('!?#')}",
            f"{word}-{random.choice(WORDS)}-{random.randrange(10, 99)}",
            _of(BASE62, random, 11) + str(random.randrange(10)),
            f"{word[:3].upper()}{random.randrange(100)}{random.choice(WORDS)}",
        )
    )


def _hard(random: Random, _: int) -> str:
    return _of(BASE62, random, 6) + random.choice("!#%^*") + _of(BASE62, random, 5) + random.choice("+=~?")


def _jwt(random: Random, _: int) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(b'{"sub":"%d"}' % random.randrange(10**12)).decode().rstrip("=")
    return f"{head}.{body}.{_of(BASE62 + '-_', random, 43)}"


def _uuid(random: Random, _: int) -> str:
    return "-".join(_of(HEX, random, n) for n in (8, 4, 4, 4, 12))


def _pem(random: Random, _: int) -> str:
    return "\n".join([_of(BASE62 + "+/", random, 64) for _ in range(4)] + [_of(BASE62, random, 27) + "="])


def _card(random: Random, _: int) -> str:
    digits = [4, *(random.randrange(10) for _ in range(14))]
    total = sum(d if i % 2 else (d * 2 - 9 if d > 4 else d * 2) for i, d in enumerate(digits))
    number = "".join(map(str, digits)) + str(-total % 10)
    return " ".join(number[i : i + 4] for i in range(0, 16, 4))


def _basic(random: Random, size: int) -> str:
    return base64.b64encode(f"ci:{_password(random, size)}{_of(BASE62, random, 6)}".encode()).decode()


def _block(word: str, edge: str, escaped: bool = False) -> Maker:
    text = "-" * 5 + edge + " " + word + "-" * 5
    whole = (text + "\\n") if escaped else text
    return lambda _random, _size: whole


def _telegram(random: Random, _: int) -> str:
    return f"{random.randrange(10**9, 10**10)}:AA{_of(BASE62 + '-_', random, 33)}"


def _slack_hook(random: Random, _: int) -> str:
    upper = string.ascii_uppercase + string.digits
    return f"T0{_of(upper, random, 8)}/B0{_of(upper, random, 8)}/{_of(BASE62, random, 24)}"


PRIVATE = "PRIV" + "ATE KEY"
MAKERS: dict[str, Maker] = {
    "hex": lambda random, size: _of(HEX, random, size),
    "base62": lambda random, size: _of(BASE62, random, size),
    "base64": _base64,
    "upper": lambda random, size: _of(string.ascii_uppercase + string.digits, random, size),
    "digits": lambda random, size: str(random.randrange(10 ** (size - 1), 10**size)),
    "uuid": _uuid,
    "password": _password,
    "hard": _hard,
    "urlpass": lambda random, size: _password(random, size).rstrip("!?#") + _of(BASE62, random, 3),
    "user-pass": lambda random, size: f"tide:{_password(random, size)}",
    "phrase": lambda random, _: "-".join(random.sample(WORDS, 4)),
    "seed": lambda random, _: " ".join(random.sample(WORDS, 12)),
    "card": _card,
    "jwt": _jwt,
    "basic": _basic,
    "django": lambda random, _: _of(string.ascii_lowercase + string.digits + "!@#%^&*(-_=+)", random, 50),
    "app-password": lambda random, _: " ".join(_of(string.ascii_lowercase, random, 4) for _ in range(4)),
    "sas": lambda random, _: _base64(random, 42).replace("+", "%2B").replace("/", "%2F") + "M%3D",
    "github": _mark("gh", "p_", size=36),
    "github-fine": lambda random, _: "github" + "_pat_" + _of(BASE62, random, 22) + "_" + _of(BASE62, random, 59),
    "gitlab": _mark("gl", "pat-", size=20),
    "openai": _mark("s", "k-", "proj-", size=48),
    "anthropic": _mark("s", "k-", "ant-", "api03-", size=95),
    "slack-bot": lambda random, _: "xo" + f"xb-{random.randrange(10**11, 10**12)}-{_of(BASE62, random, 24)}",
    "slack-hook": _slack_hook,
    "telegram": _telegram,
    "aws-id": _mark("AK", "IA", alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", size=16),
    "aws-secret": lambda random, _: _of(BASE62 + "+/", random, 40),
    "google": _mark("AI", "za", "Sy", size=33),
    "google-refresh": lambda random, _: "1/" + "/0" + _of(BASE62 + "-_", random, 60),
    "stripe": _mark("s", "k_", "live_", size=24),
    "sendgrid": lambda random, _: "SG" + "." + _of(BASE62, random, 22) + "." + _of(BASE62, random, 43),
    "twilio-sid": _mark("A", "C", alphabet=HEX, size=32),
    "npm": _mark("np", "m_", size=36),
    "pypi": _mark("py", "pi-", "AgEIcHlwaS5vcmc", size=90),
    "dockerhub": _mark("dc", "kr_", "pat_", size=27),
    "digitalocean": _mark("do", "p_", "v1_", alphabet=HEX, size=64),
    "terraform": lambda random, _: _of(BASE62, random, 14) + ".atlas" + "v1." + _of(BASE62, random, 67),
    "vault": _mark("hv", "s.", size=24),
    "huggingface": _mark("h", "f_", size=34),
    "groq": _mark("gs", "k_", size=52),
    "azure-secret": lambda random, _: _of(BASE62, random, 3) + "8Q~" + _of(BASE62, random, 34),
    "azure-storage": lambda random, _: base64.b64encode(random.randbytes(64)).decode(),
    "wireguard": lambda random, _: base64.b64encode(random.randbytes(32)).decode(),
    "age-public": _mark("ag", "e1", alphabet="qpzry9x8gf2tvdw0s3jn54khce6mua7l", size=58),
    "age-secret": _mark("AGE-", "SECRET-", "KEY-1", alphabet="QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", size=58),
    "pem": _pem,
    "pem-line": lambda random, _: _of(BASE62 + "+/", random, 64),
    "pem-escaped": lambda random, size: _pem(random, size).replace("\n", "\\n") + "\\n",
    "begin-escaped": _block(PRIVATE, "BEGIN", escaped=True),
    "end-escaped": _block(PRIVATE, "END", escaped=True),
    "begin-rsa": _block("RSA " + PRIVATE, "BEGIN"),
    "end-rsa": _block("RSA " + PRIVATE, "END"),
    "begin-ec": _block("EC " + PRIVATE, "BEGIN"),
    "end-ec": _block("EC " + PRIVATE, "END"),
    "begin-openssh": _block("OPENSSH " + PRIVATE, "BEGIN"),
    "begin-public": _block("PUBLIC KEY", "BEGIN"),
    "end-public": _block("PUBLIC KEY", "END"),
    "begin-cert": _block("CERTIFICATE", "BEGIN"),
    "end-cert": _block("CERTIFICATE", "END"),
}
