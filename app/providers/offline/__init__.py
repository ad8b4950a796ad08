"""The offline assistant: no key, no network, no download; it looks up and quotes."""

from app.providers.offline.recognise import recognise
from app.providers.offline.wire import OfflineWire

__all__ = ["OfflineWire", "recognise"]
