"""What this computer already has: keys in the environment, model servers on loopback, programs on PATH.

Looking sends nothing anywhere: it reads the environment, opens and closes TCP connections to loopback, and reads PATH.
Model names are asked for only by `models`, when the person presses. Nothing here ever switches a model.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from app.ports import WireError
from app.providers import failures
from app.providers.endpoints import BY_NAME, PRESETS, Endpoint, find, is_loopback
from app.providers.wires import WireFinder
from store.text import safe_name

PROBE_SECONDS = 0.3  # for one connection to loopback
LIST_SECONDS = 10.0  # for a list of models
LIST_BYTES = 4 * 1024 * 1024
LIST_NAMES = 500
PROGRAMS: Mapping[str, str] = {
    "claude": "Claude Code",
    "gemini": "Gemini CLI",
    "codex": "Codex",
    "opencode": "OpenCode",
}
NOT_FOR_CHAT = ("embed", "whisper", "tts", "dall-e", "moderation", "transcribe", "image", "audio", "realtime", "imagen")


@dataclass(frozen=True, slots=True)
class Found:
    """One way to a model. `name` is the provider's name in `provider:model`, or the program's command."""

    kind: Literal["key", "server", "program"]
    name: str
    words: str
    model_names: tuple[str, ...] = ()


class Catalogue:
    """Looks around when asked; keeps what it found last."""

    def __init__(self, wires: WireFinder, settings: Any = None, environ: Mapping[str, str] | None = None) -> None:
        self._wires, self._settings = wires, settings
        self._environ = os.environ if environ is None else environ
        self.found: tuple[Found, ...] = ()

    async def look(self) -> tuple[Found, ...]:
        """Everything at hand: keys, then servers, then programs; takes at most about `PROBE_SECONDS`."""
        servers = await asyncio.gather(*(self._server(preset.name) for preset in PRESETS if not preset.key_needed))
        programs = await asyncio.to_thread(self._programs)
        self.found = (*self._keys(), *(one for one in servers if one is not None), *programs)
        return self.found

    async def models(self, found: Found) -> Found:
        """The same with its models as `provider:name`, asked of the provider now; raises WireError in words."""
        if found.kind == "program":
            return found
        at = find(f"{found.name}:-", self._settings, self._environ)
        names = names_in(await self._get(at), at)
        if not names:
            raise WireError(f"{at.label} lists no models. {at.refused_advice}", "model")
        return replace(found, model_names=tuple(f"{found.name}:{name}" for name in names))

    def _keys(self) -> list[Found]:
        """Providers with a key, or another address, in the environment."""
        out = []
        for preset in PRESETS:
            if not preset.key_needed or preset.name.endswith("-responses"):
                continue
            key = next((env for env in preset.key_envs if self._environ.get(env, "").strip()), None)
            url = self._environ.get(preset.url_env, "").strip()
            where = safe_name(urlsplit(url).netloc.rpartition("@")[2]) if url else ""
            if key:
                at = f" for the server at {where}" if where else ""
                out.append(Found("key", preset.name, f"{key} is set{at}: {preset.label} can be used."))
            elif where:
                out.append(Found("key", preset.name, f"{preset.url_env} points to {where}."))
        return out

    async def _server(self, name: str) -> Found | None:
        """A model server on this computer whose port is open."""
        preset = BY_NAME[name]
        try:
            at = find(f"{name}:-", self._settings, self._environ)
        except WireError:
            return None
        port = urlsplit(at.base_url).port
        if not is_loopback(at.host) or port is None:
            return None
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                _, writer = await asyncio.open_connection(at.host, port)
        except (OSError, TimeoutError):
            return None
        writer.close()
        return Found("server", name, f"Port {port} on this computer is open, where {preset.label} usually answers.")

    def _programs(self) -> list[Found]:
        """Assistants with a loop of their own that are on PATH."""
        path = self._environ.get("PATH", "")
        return [
            Found("program", command, f"{label} is installed.")
            for command, label in PROGRAMS.items()
            if path and shutil.which(command, path=path)
        ]

    async def _get(self, at: Endpoint) -> Any:
        """The provider's list of models, as JSON; raises WireError."""
        await self._wires.warm(f"{at.preset.name}:-")
        import httpx2

        path, headers = list_request(at)
        try:
            async with asyncio.timeout(LIST_SECONDS):
                pool = await self._wires.pool(at)
                asked = httpx2.Request("GET", at.base_url + path, headers=headers)
                answer = await pool.handle_async_request(asked)
                body = b""
                try:
                    async for chunk in answer.aiter_raw():
                        body += chunk
                        if len(body) > LIST_BYTES:
                            break
                finally:
                    await answer.aclose()
            if answer.status_code == 200:
                return json.loads(body)
            told = {k.lower(): v for k, v in answer.headers.items()}
            failure = failures.from_status(at, answer.status_code, told, body, self._wires.clock.now_ms())
        except TimeoutError:
            failure = failures.Failure("timeout", f"{at.label} didn't list its models in time.")
        except (ValueError, RecursionError):
            failure = failures.Failure("malformed", f"{at.label} answered with no list of models. {at.url_advice}")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            failure = failures.from_exception(at, error)
        raise WireError(failures.spoken(failure, self._wires.clean, ""), failure.code)


def list_request(at: Endpoint) -> tuple[str, dict[str, str]]:
    """(path, headers) that ask for the models."""
    headers = {"user-agent": "shoal", "accept": "application/json", "accept-encoding": "identity"}
    match at.protocol:
        case "anthropic":
            keyed = {"x-api-key": at.key, "anthropic-version": "2023-06-01"} if at.key else {}
            return "/v1/models?limit=1000", headers | keyed
        case "google":
            return "/v1beta/models?pageSize=1000", headers | ({"x-goog-api-key": at.key} if at.key else {})
        case _:
            return "/models", headers | ({"authorization": f"Bearer {at.key}"} if at.key else {})


def names_in(listed: Any, at: Endpoint) -> list[str]:
    """The names of models that can chat, from whatever shape the list has; harmless, each once, at most LIST_NAMES."""
    items = listed.get("data") or listed.get("models") or () if isinstance(listed, dict) else listed
    out: dict[str, None] = {}
    for item in items if isinstance(items, list | tuple) else ():
        name = item if isinstance(item, str) else ""
        if isinstance(item, dict):
            name = next((item[k] for k in ("id", "name", "model") if isinstance(item.get(k), str)), "")
        if at.protocol == "google" and isinstance(item, dict):
            if "generateContent" not in (item.get("supportedGenerationMethods") or ["generateContent"]):
                continue
            name = name.removeprefix("models/")
        plain = safe_name(name)
        if plain == name and name and not any(word in name.casefold() for word in NOT_FOR_CHAT):
            out[name] = None
    return list(out)[:LIST_NAMES]
