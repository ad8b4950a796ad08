"""Where a model name leads: protocol, address and key, taken from the environment and the settings."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from app.ports import WireError

Protocol = Literal["chat", "responses", "anthropic", "google"]


@dataclass(frozen=True, slots=True)
class Preset:
    """A provider Shoal knows by name."""

    name: str
    label: str
    protocol: Protocol
    base_url: str
    url_env: str = ""
    key_envs: tuple[str, ...] = ()
    key_needed: bool = True
    how: str = ""  # how to start it, for servers on this computer


PRESETS: tuple[Preset, ...] = (
    Preset("openai", "OpenAI", "chat", "https://api.openai.com/v1", "OPENAI_BASE_URL", ("OPENAI_API_KEY",)),
    Preset(
        "openai-responses", "OpenAI", "responses", "https://api.openai.com/v1", "OPENAI_BASE_URL", ("OPENAI_API_KEY",)
    ),
    Preset(
        "anthropic", "Anthropic", "anthropic", "https://api.anthropic.com", "ANTHROPIC_BASE_URL", ("ANTHROPIC_API_KEY",)
    ),
    Preset(
        "google",
        "Google",
        "google",
        "https://generativelanguage.googleapis.com",
        "GOOGLE_BASE_URL",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    Preset(
        "openrouter",
        "OpenRouter",
        "chat",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_BASE_URL",
        ("OPENROUTER_API_KEY",),
    ),
    Preset(
        "ollama",
        "Ollama",
        "chat",
        "http://127.0.0.1:11434/v1",
        "OLLAMA_BASE_URL",
        ("OLLAMA_API_KEY",),
        key_needed=False,
        how="Start it with: ollama serve",
    ),
    Preset(
        "llamacpp",
        "llama.cpp",
        "chat",
        "http://127.0.0.1:8080/v1",
        "LLAMACPP_BASE_URL",
        ("LLAMACPP_API_KEY",),
        key_needed=False,
        how="Start it with: llama-server -m MODEL.gguf",
    ),
    Preset(
        "lmstudio",
        "LM Studio",
        "chat",
        "http://127.0.0.1:1234/v1",
        "LMSTUDIO_BASE_URL",
        ("LMSTUDIO_API_KEY",),
        key_needed=False,
        how="Start its server in LM Studio's Developer tab",
    ),
    Preset(
        "vllm",
        "vLLM",
        "chat",
        "http://127.0.0.1:8000/v1",
        "VLLM_BASE_URL",
        ("VLLM_API_KEY",),
        key_needed=False,
        how="Start it with: vllm serve MODEL",
    ),
)
THINKERS = re.compile(r"(^|/)(o[134](-|$)|gpt-([5-9]|oss)|gemini-(2\.5|[3-9])|deepseek-r|qwq)|reason|think")
ADDED_PATHS = {"anthropic": "/v1", "google": "/v1beta"}
BY_NAME = {preset.name: preset for preset in PRESETS}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address. The key never shows in `repr`."""

    preset: Preset
    model: str
    base_url: str
    key: str = field(default="", repr=False)
    key_env: str = ""

    @property
    def protocol(self) -> Protocol:
        """How it is spoken to."""
        return self.preset.protocol

    @property
    def official(self) -> bool:
        """Whether this is the provider's own address, so that its prices and rules hold."""
        return self.base_url.rstrip("/") == self.preset.base_url and not self.local

    @property
    def host(self) -> str:
        """The server's name."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def address(self) -> str:
        """Name and port, without a user or a path."""
        parts = urlsplit(self.base_url)
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{parts.port}" if parts.port else host

    @property
    def local(self) -> bool:
        """Whether it runs on this computer."""
        return is_loopback(self.host)

    @property
    def thinks(self) -> bool:
        """Whether its model may think for minutes before the first event."""
        return THINKERS.search(self.model.casefold()) is not None

    @property
    def label(self) -> str:
        """What a sentence calls it."""
        ours = self.official or self.base_url.rstrip("/") == self.preset.base_url
        return self.preset.label if ours else f"The server at {self.address}"

    @property
    def key_advice(self) -> str:
        """What to set where when the key is wrong."""
        names = " or ".join(self.preset.key_envs)
        return f"Set {names} to a key that works." if self.key else f"It wants a key: set {names}."

    @property
    def model_advice(self) -> str:
        """What to set where when the model is missing."""
        if self.preset.protocol in ("chat", "responses") and not self.official:
            return f"Pick another model, or check {self.preset.url_env} (it usually ends in /v1)."
        return "Pick another model with /model."

    @property
    def url_advice(self) -> str:
        """What to set where when the address is wrong."""
        return f"Check {self.preset.url_env}." if self.preset.url_env else "Check its address."

    @property
    def refused_advice(self) -> str:
        """What to do when nothing listens."""
        return f"{self.preset.how}." if self.local and self.preset.how else self.url_advice


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this computer."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def find(model: str, settings: Any, environ: Mapping[str, str]) -> Endpoint:
    """The endpoint of `provider:name`; raises WireError "setup" saying what to set where.

    The environment wins over the settings' `providers.NAME.base_url`, `key_env` and `api_key`.
    """
    name, _, rest = model.partition(":")
    preset = BY_NAME.get(name)
    if preset is None or not rest.strip():
        known = ", ".join(f"{p.name}:NAME" for p in PRESETS)
        raise WireError(f"There is no model called “{model[:80]}”. Models are named offline, {known}.", "setup")
    url = environ.get(preset.url_env, "").strip() or _setting(settings, name, "base_url") or preset.base_url
    if not valid_url(url):
        where = preset.url_env if environ.get(preset.url_env, "").strip() else f"providers.{name}.base_url"
        raise WireError(f"{where} isn't an address: it must start with http:// or https://.", "setup")
    url = url.rstrip("/").removesuffix(ADDED_PATHS.get(preset.protocol, "\0"))  # SDKs add it themselves
    key_env, key = _key(preset, settings, environ)
    if key and not (key.isascii() and key.isprintable()):
        raise WireError(f"{key_env} holds something that can't be a key. Set it again.", "setup")
    endpoint = Endpoint(preset, rest.strip(), url, key, key_env)
    if preset.key_needed and not key and endpoint.official:
        names = " or ".join(preset.key_envs)
        raise WireError(f"No key for {preset.label}: set {names} and start Shoal again.", "setup")
    return endpoint


def valid_url(url: str) -> bool:
    """Whether an address can be asked: http or https, a host, a sane port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _key(preset: Preset, settings: Any, environ: Mapping[str, str]) -> tuple[str, str]:
    """(where the key is from, the key): the environment first, then the settings; ("", "") when there is none."""
    named = _setting(settings, preset.name, "key_env")
    for env in (*((named,) if named else ()), *preset.key_envs):
        if key := environ.get(env, "").strip():
            return env, key
    key = _setting(settings, preset.name, "api_key")
    return (f"providers.{preset.name}.api_key", key) if key else ("", "")


def _setting(settings: Any, provider: str, field_name: str) -> str:
    """`providers.PROVIDER.FIELD` of the settings, whether models or mappings; "" when absent."""
    value = settings
    for step in ("providers", provider.removesuffix("-responses"), field_name):
        value = value.get(step) if isinstance(value, Mapping) else getattr(value, step, None)
        if value is None:
            return ""
    if hasattr(value, "get_secret_value"):
        value = value.get_secret_value()
    return value.strip() if isinstance(value, str) else ""


def proxy_for(endpoint: Endpoint, environ: Mapping[str, str]) -> str | None:
    """The proxy of this endpoint: HTTPS_PROXY, HTTP_PROXY and ALL_PROXY hold, NO_PROXY too; loopback never has one."""
    if endpoint.local:
        return None
    env = {k.lower(): v.strip() for k, v in environ.items() if k.lower().endswith("_proxy") and v.strip()}
    for entry in env.get("no_proxy", "").split(","):
        entry = entry.strip().lower().removeprefix("*").partition(":")[0]
        host = endpoint.host.lower()
        if entry and (host == entry.lstrip(".") or host.endswith("." + entry.lstrip("."))):
            return None
    if "*" in [e.strip() for e in env.get("no_proxy", "").split(",")]:
        return None
    proxy = env.get(urlsplit(endpoint.base_url).scheme + "_proxy") or env.get("all_proxy")
    if proxy is None:
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if urlsplit(proxy).scheme not in ("http", "https"):
        raise WireError("Only http:// and https:// proxies work. Change HTTPS_PROXY or ALL_PROXY.", "setup")
    return proxy
