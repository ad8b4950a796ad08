"""Listens to each provider's stream before its SDK does: mends what servers get wrong, and knows how it ended.

An ear gets each event's JSON in turn and gives back what the SDK may see (None: nothing). It keeps the end mark, the
finish reason and the usage, since SDKs take a stream that stops for a whole one and missing numbers for zero.
"""

from __future__ import annotations

from app.providers.ears.anthropic import AnthropicEar
from app.providers.ears.base import Ear
from app.providers.ears.chat import ChatEar
from app.providers.ears.google import GoogleEar
from app.providers.ears.responses import ResponsesEar
from app.providers.endpoints import Endpoint


def ear_for(at: Endpoint) -> Ear:
    """A new ear for one request."""
    ears: dict[str, type[ChatEar | AnthropicEar | GoogleEar | ResponsesEar]] = {
        "chat": ChatEar,
        "responses": ResponsesEar,
        "anthropic": AnthropicEar,
        "google": GoogleEar,
    }
    return ears[at.protocol](at)
