"""What a request cost, from tables inside a package; nothing is ever fetched."""

from __future__ import annotations

from app.providers.endpoints import Endpoint
from store.events import Usage

PROVIDERS = {"openai": "openai", "openai-responses": "openai", "anthropic": "anthropic", "google": "google"}


def cost_usd(at: Endpoint, usage: Usage) -> float | None:
    """US dollars, or None when the price or the numbers aren't known; only for a provider's own address."""
    provider = PROVIDERS.get(at.preset.name)
    if provider is None or not at.official or usage.input_tokens is None or usage.output_tokens is None:
        return None
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=min(usage.cached_tokens or 0, usage.input_tokens),
    )
    try:
        return float(genai_prices.calc_price(counted, at.model, provider_id=provider).total_price)
    except (LookupError, ValueError):
        return None
