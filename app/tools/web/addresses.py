"""Which addresses a page may be read from: pure rules over what a person or a model wrote and what it resolves to."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from store.limits import URL_CHARS
from store.text import safe_text

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

NOT_AN_ADDRESS: Final = "That isn't a web address; write it as https://host/path."
ONLY_WEB: Final = "Only http and https addresses can be read."
TOO_LONG: Final = f"That address is longer than {URL_CHARS:,} characters, so it isn't read."
NO_USERINFO: Final = "An address with a name or password before its host isn't read; leave that part out."
ODD_PORT: Final = (
    "Only the ports 80 and 443 are read from, unless the person allows {place} in the settings (web.allow). "
    "Nothing was sent."
)
PRIVATE: Final = (
    "{host} is on this computer, a private network or a reserved address, so nothing was sent. "
    "The person can allow that very host in the settings (web.allow)."
)

_SPACES = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\\<>\"{}|^`]")
_PORTS: Final = {"http": 80, "https": 443}
_REFUSED_V4: Final = tuple(
    map(
        ipaddress.IPv4Network,
        ("0.0.0.0/8", "192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "240.0.0.0/4", "100.64.0.0/10"),
    )
)
_GLOBAL_V6: Final = ipaddress.IPv6Network("2000::/3")
_REFUSED_V6: Final = tuple(
    map(ipaddress.IPv6Network, ("64:ff9b:1::/48", "2001:db8::/32", "3fff::/20", "2001:2::/48", "2001:10::/28"))
)
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_TRANSLATED: Final = ipaddress.IPv6Network("::ffff:0:0:0/96")
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")


class Refused(Exception):
    """An address that isn't read; the sentence says why."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes: `host` is in punycode and what is connected to and shown; `path` holds the query too."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def netloc(self) -> str:
        """Host, and the port where it isn't the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole address, without a fragment."""
        return f"{self.scheme}://{self.netloc}{self.path}"

    @property
    def site(self) -> str:
        """The host without www, as a mark names it."""
        return self.host.rstrip(".").removeprefix("www.")


def parse(url: str, base: Target | None = None) -> Target:
    """The address taken apart; raises Refused. `base`: what a redirect's address may be relative to."""
    import httpx2

    if len(url) > URL_CHARS:
        raise Refused(TOO_LONG)
    url = url.strip(" \t\r\n")
    if not url or _SPACES.search(url):
        raise Refused(NOT_AN_ADDRESS)
    try:
        parsed = httpx2.URL(url) if base is None else httpx2.URL(base.url).join(url)
        host, userinfo, port = parsed.raw_host.decode("ascii"), parsed.userinfo, parsed.port
        path = parsed.raw_path.decode("ascii")
    except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise Refused(NOT_AN_ADDRESS) from error
    if parsed.scheme not in _PORTS:
        raise Refused(ONLY_WEB if parsed.scheme else NOT_AN_ADDRESS)
    if userinfo or "@" in url.split("://", 1)[-1].split("/", 1)[0].split("?", 1)[0].split("#", 1)[0]:
        raise Refused(NO_USERINFO)
    if not host.strip(".") or "%" in host or "@" in host or (port is not None and not 0 < port < 65536):
        raise Refused(NOT_AN_ADDRESS)
    return Target(parsed.scheme, host.lower(), port or _PORTS[parsed.scheme], path or "/")


def allowed_ports(target: Target, allow: Iterable[str]) -> bool:
    """Whether the target is on a web port of its own, or the person allowed exactly this host and port."""
    return target.port in _PORTS.values() or allowed(target, allow)


def allowed(target: Target, allow: Iterable[str]) -> bool:
    """Whether the person named this very host in the settings: `host` for the web ports, or `host:port`."""
    host = target.host.rstrip(".")
    for entry in allow:
        name, colon, port = entry.strip().lower().rpartition(":")
        if not colon or entry.rstrip().endswith("]"):
            name, port = entry.strip().lower(), ""
        if name.strip("[]").rstrip(".") != host:
            continue
        if (not port and target.port in _PORTS.values()) or port == str(target.port):
            return True
    return False


def is_public(address: str) -> bool:
    """Whether an address (as looked up, never as written) is out in the world, whatever it is wrapped in."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    return all(_public(one) for one in _unwrapped(ip))


def _unwrapped(ip: Address, depth: int = 0) -> list[Address]:
    """The address, or what it stands for."""
    if isinstance(ip, ipaddress.IPv4Address) or depth > 3:
        return [ip]
    inner: list[ipaddress.IPv4Address] = []
    low = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    if ip.ipv4_mapped is not None:
        inner = [ip.ipv4_mapped]
    elif ip.teredo is not None:
        inner = [*ip.teredo]
    elif ip.sixtofour is not None:
        inner = [ip.sixtofour]
    elif ip in _NAT64 or ip in _TRANSLATED or ip in _COMPATIBLE:
        inner = [low]
    elif (int(ip) >> 32) & 0xFFFFFFFF in (0x5EFE, 0x02005EFE):  # ISATAP
        return [ip, low]
    return [*inner] if inner else [ip]


def _public(ip: Address) -> bool:
    if not ip.is_global or ip.is_multicast or ip.is_reserved or ip.is_loopback or ip.is_unspecified:
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return not any(ip in net for net in _REFUSED_V4)
    return ip in _GLOBAL_V6 and not any(ip in net for net in _REFUSED_V6)


def shown(target: Target) -> str:
    """The whole address as it may be shown to a person or named to a model."""
    return safe_text(target.url, one_line=True, limit=URL_CHARS)
