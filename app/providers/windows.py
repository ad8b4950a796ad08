"""How much a model can read; a table of families, and a careful guess for the rest."""

from __future__ import annotations

import re

from app.providers.endpoints import Endpoint
from store import limits

LOCAL_TOKENS = 8_192  # servers on this computer start models with small windows

_FAMILIES: tuple[tuple[str, int], ...] = (
    (r"gpt-4\.1", 1_000_000),
    (r"gpt-(5|6)", 272_000),
    (r"gpt-4o|gpt-4-turbo|chatgpt-4o", 128_000),
    (r"gpt-4-32k", 32_768),
    (r"gpt-4(-|$)", 8_192),
    (r"gpt-3\.5", 16_385),
    (r"gpt-oss", 128_000),
    (r"o[134](-|$)", 200_000),
    (r"claude", 200_000),
    (r"gemini-1\.0", 32_768),
    (r"gemini", 1_000_000),
    (r"deepseek", 64_000),
    (r"mistral|mixtral|magistral|codestral|devstral", 32_000),
    (r"llama-?3\.[123]|llama-?4", 128_000),
    (r"qwen-?3|qwen-?2\.5", 32_768),
    (r"gemma", 8_192),
)
_COMPILED = tuple((re.compile(rf"(^|/){pattern}"), size) for pattern, size in _FAMILIES)


def window_tokens(at: Endpoint, model: str) -> int:
    """Tokens that fit, from the name; a server on this computer is taken to be no larger than `LOCAL_TOKENS`."""
    if at.local and not at.preset.key_needed:
        return LOCAL_TOKENS
    name = model.casefold()
    return next((size for pattern, size in _COMPILED if pattern.search(name)), limits.CONTEXT_DEFAULT_TOKENS)
