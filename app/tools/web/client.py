"""Reads one address: looked up once, every answer checked, connected to exactly that; redirects by hand."""

from __future__ import annotations

import asyncio
import socket
import ssl
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from app.tools.web.addresses import (
    ODD_PORT,
    PRIVATE,
    Refused,
    Target,
    allowed,
    allowed_ports,
    is_public,
    parse,
    shown,
)
from store.limits import CONNECT_SECONDS, FETCH_BYTES, FETCH_REDIRECTS, FETCH_SECONDS

if TYPE_CHECKING:
    import httpcore2

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

NOT_FOUND: Final = "{host} couldn't be found. Check the address, or whether this computer is online."
NO_ANSWER: Final = "{host} couldn't be read: {why}."
TOO_SLOW: Final = f"{{host}} didn't answer within {FETCH_SECONDS:.0f} seconds."
TOO_MANY: Final = f"The page sends on to another more than {FETCH_REDIRECTS} times, so it isn't read."
NOT_SAFER: Final = "The page sends on from https to http, to {url}, which isn't followed. Ask the person."
ELSEWHERE: Final = (
    "The page sends on to another host: {url}. This chat has read from outside, so that isn't followed unasked; "
    "to read it, call fetch_page with that address."
)
NOWHERE: Final = "The page sends on to an address that can't be read ({why})"
BROKEN_PACKING: Final = "what came is packed in a way that can't be unpacked"

_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_CHUNK: Final = 64 * 1024
_AGENT: Final = "Shoal (a person's assistant reading one page)"


@dataclass(frozen=True, slots=True)
class Page:
    """What came. `hosts`: every site that answered. `cut`: why the body isn't whole, in words."""

    target: Target
    status: int
    content_type: str
    body: bytes
    hosts: tuple[str, ...]
    cut: str = ""


class Failed(Exception):
    """Nothing was read; `hosts` are the sites that had answered before (their words are in the sentence)."""

    def __init__(self, sentence: str, hosts: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hosts = tuple(hosts)


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """The addresses the system knows for a host; raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(slots=True)
class PageClient:
    """`allow`: hosts the person named in the settings. `also`: exact (address, port) pairs that count as public,
    for tests on loopback. No proxy, cookie or credential is ever used.
    """

    allow: Sequence[str] = ()
    resolve: Resolve = system_resolve
    also: frozenset[tuple[str, int]] = frozenset()
    seconds: float = FETCH_SECONDS
    most: int = FETCH_BYTES
    tls: Callable[[], ssl.SSLContext] | None = None
    _tls: ssl.SSLContext | None = field(default=None, init=False)

    async def get(self, url: str, *, tainted: bool = False) -> Page:
        """Read a page. Raises Refused before anything was sent, Failed after."""
        target = parse(url)
        loop = asyncio.get_running_loop()
        ends = loop.time() + self.seconds
        hosts: list[str] = []
        first = target
        for _ in range(FETCH_REDIRECTS + 1):
            got = await self._hop(target, ends, hosts, allow=self.allow if _same(first, target) else ())
            if isinstance(got, Page):
                return got
            target = self._next(target, got, hosts, tainted=tainted)
        raise Failed(TOO_MANY, hosts)

    async def post(self, url: str, content: bytes, headers: Mapping[str, str]) -> Page:
        """Send to an address from the settings, which may be anywhere the person wrote; redirects aren't followed."""
        target = parse(url)
        ends = asyncio.get_running_loop().time() + self.seconds
        got = await self._hop(target, ends, [], allow=(target.netloc, f"{target.host}:{target.port}"),
                              content=content, headers=headers)  # fmt: skip
        if isinstance(got, str):
            raise Failed(NO_ANSWER.format(host=target.host, why="it sends on to another address"))
        return got

    def _next(self, target: Target, location: str, hosts: Sequence[str], *, tainted: bool) -> Target:
        try:
            onward = parse(location, target)
        except Refused as refused:
            raise Failed(f"{NOWHERE.format(why=refused.sentence.rstrip('.'))}.", hosts) from refused
        if target.scheme == "https" and onward.scheme == "http":
            raise Failed(NOT_SAFER.format(url=shown(onward)), hosts)
        if tainted and not _same(target, onward):
            raise Failed(ELSEWHERE.format(url=shown(onward)), hosts)
        return onward

    async def checked(self, target: Target, allow: Iterable[str]) -> list[str]:
        """The addresses of a target, every one of them judged; raises Refused or Failed."""
        free = allowed(target, allow)
        tested = {address for address, port in self.also if port == target.port}
        if not tested and not allowed_ports(target, allow):
            raise Refused(ODD_PORT.format(place=f"{target.host}:{target.port}"))
        try:
            found = list(await self.resolve(target.host, target.port))
        except (OSError, UnicodeError) as error:
            raise Failed(NOT_FOUND.format(host=target.host)) from error
        if not found:
            raise Failed(NOT_FOUND.format(host=target.host))
        if not free and not all(address in tested or is_public(address) for address in found):
            raise Refused(PRIVATE.format(host=target.host))
        if not free and not allowed_ports(target, allow) and not all(address in tested for address in found):
            raise Refused(ODD_PORT.format(place=f"{target.host}:{target.port}"))
        return found

    async def _hop(
        self,
        target: Target,
        ends: float,
        hosts: list[str],
        *,
        allow: Sequence[str],
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Page | str:
        """One request: the page, or where it sends on to."""
        try:
            async with asyncio.timeout_at(ends):
                addresses = await self.checked(target, allow)
                if self._tls is None and target.scheme == "https":
                    self._tls = await asyncio.to_thread(self.tls or _default_tls)
                return await self._request(target, addresses, ends, hosts, content, headers or {})
        except TimeoutError as error:
            raise Failed(TOO_SLOW.format(host=target.host), hosts) from error
        except Refused as refused:
            if not hosts:
                raise
            raise Failed(f"The page sends on, and that was refused: {refused.sentence}", hosts) from refused

    async def _request(
        self,
        target: Target,
        addresses: Sequence[str],
        ends: float,
        hosts: list[str],
        content: bytes | None,
        headers: Mapping[str, str],
    ) -> Page | str:
        import httpcore2

        from app.tools.web.pinned import Pinned

        sent = {
            "Host": target.netloc,
            "User-Agent": _AGENT,
            "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.8,application/xml;q=0.8",
            "Accept-Encoding": "gzip, deflate",
            "Connection": "close",
            **headers,
        }
        url = httpcore2.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        limits = {"connect": CONNECT_SECONDS, "read": self.seconds, "write": CONNECT_SECONDS, "pool": CONNECT_SECONDS}
        pool = httpcore2.AsyncConnectionPool(ssl_context=self._tls, network_backend=Pinned(addresses), http2=False)
        method = "GET" if content is None else "POST"
        try:
            async with (
                pool,
                pool.stream(
                    method, url, headers=list(sent.items()), content=content, extensions={"timeout": limits}
                ) as response,
            ):
                if target.site not in hosts:
                    hosts.append(target.site)
                location = _header(response, b"location")
                if response.status in _REDIRECTS and location:
                    return location
                body, cut = await self._body(response, ends)
                kind = _header(response, b"content-type")
                return Page(target, response.status, kind, body, tuple(hosts), cut)
        except httpcore2.TimeoutException as error:
            raise Failed(TOO_SLOW.format(host=target.host), hosts) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError, ssl.SSLError) as error:
            raise Failed(NO_ANSWER.format(host=target.host, why=_why(error)), hosts) from error

    async def _body(self, response: httpcore2.Response, ends: float) -> tuple[bytes, str]:
        """The body unpacked, at most `most` bytes and until the deadline; and why it was cut."""
        body = bytearray()
        cut = ""
        try:
            unpack = _Unpack(_header(response, b"content-encoding").lower())
            async with asyncio.timeout_at(ends - 0.2):  # what came by then is shown
                async for data in response.aiter_stream():
                    for piece in unpack.feed(data, self.most + 1 - len(body)):
                        body += piece
                    if len(body) > self.most:
                        cut = f"it is larger than {self.most:,} bytes"
                        break
        except TimeoutError:
            cut = f"it wasn't whole after {self.seconds:.0f} seconds"
        except zlib.error:
            cut = BROKEN_PACKING
        return bytes(body[: self.most]), cut


class _Unpack:
    """gzip and deflate, never more than asked for at once."""

    def __init__(self, coding: str) -> None:
        self._coding = coding.strip()
        self._raw = self._coding in ("", "identity")
        if not self._raw and self._coding not in ("gzip", "x-gzip", "deflate"):
            raise zlib.error(self._coding)
        self._unzip = zlib.decompressobj(zlib.MAX_WBITS | 32)
        self._begun = False

    def feed(self, data: bytes, room: int) -> Iterable[bytes]:
        """What `data` holds, at most `room` bytes."""
        if self._raw:
            yield data[:room]
            return
        if not self._begun and self._coding == "deflate" and data and data[0] & 0x0F != 8:
            self._unzip = zlib.decompressobj(-zlib.MAX_WBITS)
        self._begun = True
        while data and room > 0:
            piece = self._unzip.decompress(data, min(room, _CHUNK))
            data = self._unzip.unconsumed_tail
            room -= len(piece)
            yield piece
            if self._unzip.eof or not piece:
                return


def _same(one: Target, other: Target) -> bool:
    return one.site == other.site and (one.port == other.port or {one.port, other.port} == {80, 443})


def _header(response: Any, name: bytes) -> str:
    for key, value in response.headers:
        if key.lower() == name:
            return str(value.decode("latin-1"))
    return ""


def _why(error: BaseException) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "its certificate isn't trusted here"
        if isinstance(cause, ssl.SSLError):
            return "no safe connection could be made"
        if isinstance(cause, ConnectionRefusedError):
            return "it refused the connection"
        cause = cause.__cause__ or cause.__context__
    return "the connection failed or broke off"


def _default_tls() -> ssl.SSLContext:
    import httpcore2

    return httpcore2.default_ssl_context()
