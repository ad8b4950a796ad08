"""The tools of the web, as the settings have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.settings import WebSettings
from app.tools.base import Tool
from app.tools.web.client import PageClient
from app.tools.web.fetch_page import FetchPage
from app.tools.web.web_search import WebSearch


def build_web(settings: WebSettings, clean: Callable[[str], str], environ: Mapping[str, str]) -> list[Tool]:
    """`web_search` is there only where the settings name its address."""
    client = PageClient(allow=settings.allow)
    tools: list[Tool] = [FetchPage(client, clean)]
    if settings.search_url:
        key = environ.get(settings.search_key_env or "", "")
        tools.append(WebSearch(client, settings.search_url, key, clean))
    return tools
