"""A network backend that connects to checked addresses only, whatever name it is asked for. Imported lazily."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

import httpcore2


class Pinned(httpcore2.AsyncNetworkBackend):
    """Names aren't looked up again here, so what was checked is what is connected to."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses
        self._real = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the backend's own signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """The first checked address that answers."""
        last: Exception = httpcore2.ConnectError("no address")
        for address in self._addresses[:4]:
            try:
                return await self._real.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                last = error
        raise last

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the backend's own signature
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> NoReturn:
        """Never."""
        raise httpcore2.ConnectError("no sockets here")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._real.sleep(seconds)
