"""Settings: read once, passed as values. The fields' own words are the documentation (`shoal doctor --settings`)."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from app import settings_file as file
from app.paths import Home
from app.settings_file import SettingsError
from store.events import Mode
from store.limits import SETTINGS_PROBLEMS

SETTINGS_VERSION = 1
SERVERS = ("openai", "anthropic", "google", "openrouter", "ollama", "llamacpp", "lmstudio", "vllm")
MODELS = (*SERVERS, "openai-responses", "scripted")
Consent = Literal["always", "ask", "never"]


ENGINE_GETS: Final = "The explorer sends limited text of earlier chats in this project to {engine}."
MODEL_GETS: Final = "read_chat sends the selected text to this chat's model."


class Part(BaseModel):
    """A table of the file; an unknown key is a problem that is said, never one that is kept silently."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ConsentSettings(Part):
    """Whether the explorer's two tools ask first."""

    explore_chat_history: Consent = Field(
        "always",
        description=f"always, ask or never. {ENGINE_GETS}",
    )
    read_chat: Consent = Field(
        "ask",
        description=f"always, ask or never. On the explorer surface {MODEL_GETS}",
    )


class ExplorerSettings(Part):
    """The history explorer (`plan = "pro"`)."""

    engine: str | None = Field(None, description="The model that explores, such as openai:NAME, or offline.")
    free_models: tuple[str, ...] = Field((), description="Models that don't count as Pro; offline always is one.")
    consent: ConsentSettings = ConsentSettings()


class HistorySettings(Part):
    """How the assistant looks back."""

    surface: Literal["direct", "explorer", "off"] = Field(
        "direct", description="direct (search_chats and read_chat), explorer (needs plan and an engine), or off."
    )


class CommandSettings(Part):
    """The commands the assistant runs."""

    sandbox: Literal["auto", "off"] = Field("auto", description="auto: in a sandbox wherever that works; off: never.")
    network: bool = Field(False, description="Whether commands in the sandbox have the network.")
    environment: tuple[str, ...] = Field(
        (), description="Environment variables that commands get, by name; a provider's key never is."
    )


class GuardSettings(Part):
    """The guard that asks before risky steps."""

    second_look: str = Field(
        "",
        description="A cheap model, such as openai:NAME, that looks at always-allowed commands once a chat has read "
        "something from outside; it can only add a question, and gets the command. Empty: none.",
    )

    @field_validator("second_look")
    @classmethod
    def _model(cls, value: str) -> str:
        if value and (value == "offline" or model_problem(value) is not None):
            raise ValueError("a model is written openai:NAME, anthropic:NAME or google:NAME; offline can't look")
        return value


class WebSettings(Part):
    """The pages the assistant reads."""

    allow: tuple[str, ...] = Field(
        (), description="Hosts of your own network that may be read, as host or host:port, such as wiki.lan:8080."
    )
    search_url: str | None = Field(
        None, description='Where web searches go: it gets {"query": …} and answers {"results": [{title, url, text}]}.'
    )
    search_key_env: str | None = Field(None, description="The environment variable with the search address's key.")

    @field_validator("search_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value and not re.match(r"https?://[^\s/]+", value):
            raise ValueError("it must be an address that begins with http:// or https://")
        return value


class ProviderSettings(Part):
    """One provider. Keys are best left in the environment; `api_key` works too."""

    base_url: str | None = Field(None, description="Another address than the provider's own, such as a local server.")
    key_env: str | None = Field(None, description="The environment variable that holds the key.")
    api_key: SecretStr | None = Field(None, description="The key itself; keep the file readable only by you.")

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value and not re.match(r"https?://[^\s/]+", value):
            raise ValueError("it must be an address that begins with http:// or https://")
        return value


class ProvidersSettings(Part):
    """The providers and local servers."""

    openai: ProviderSettings = ProviderSettings()
    anthropic: ProviderSettings = ProviderSettings()
    google: ProviderSettings = ProviderSettings()
    openrouter: ProviderSettings = ProviderSettings()
    ollama: ProviderSettings = ProviderSettings()
    llamacpp: ProviderSettings = ProviderSettings()
    lmstudio: ProviderSettings = ProviderSettings()
    vllm: ProviderSettings = ProviderSettings()

    def given_keys(self) -> list[str]:
        """The keys written in the file, to be hidden wherever they come up."""
        parts = (getattr(self, name) for name in SERVERS)
        return [part.api_key.get_secret_value() for part in parts if part.api_key is not None]


class RoutineSettings(Part):
    """A prompt that runs on a schedule, in a chat of its own: `[routines.NAME]`."""

    schedule: str = Field("", description="Five cron words in local time, such as 0 9 * * 1-5.")
    prompt: str = Field("", description="What is to be done, in your own words.")
    folder: str = Field("", description="Its work folder. Empty: that of new chats.")
    mode: Mode = Field("auto", description="plan, ask, auto or full; nobody is there to answer questions.")
    model: str = Field("", description="Its model. Empty: that of new chats.")
    on: bool = Field(True, description="Whether it runs.")


class Settings(Part):
    """All settings, with their defaults. Precedence: `--set`, the environment (SHOAL_MODEL), settings.toml."""

    version: int = Field(SETTINGS_VERSION, description="Of this file's form; leave it.")
    model: str = Field(
        "offline", description="The model of new chats: offline, openai:NAME, anthropic:NAME, google:NAME."
    )
    mode: Mode = Field("auto", description="What a new chat's assistant may do unasked: plan, ask, auto or full.")
    theme: str = Field("", description="A theme's name; F10 lists them. Empty: Shoal's own.")
    mouse: bool = Field(True, description="Whether the mouse works at start; F9 switches it.")
    folder: str = Field("", description="The work folder of new chats. Empty: the folder Shoal is started in.")
    plan: Literal["free", "pro"] = Field("free", description="free, or pro, which the explorer needs.")
    history: HistorySettings = HistorySettings()
    explorer: ExplorerSettings = ExplorerSettings()
    providers: ProvidersSettings = ProvidersSettings()
    commands: CommandSettings = CommandSettings()
    web: WebSettings = WebSettings()
    guard: GuardSettings = GuardSettings()
    routines: dict[str, RoutineSettings] = Field({}, description="Prompts on a schedule: [routines.NAME].")
    keys: dict[str, str] = Field({}, description='Keys by what they do: [keys] "search.open" = "ctrl+t"; F1 lists all.')

    @field_validator("model")
    @classmethod
    def _model(cls, value: str) -> str:
        if model_problem(value) is not None:
            raise ValueError("a model is written offline, openai:NAME, anthropic:NAME or google:NAME")
        return value

    @field_validator("keys", mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        return dict(_leaves(value)) if isinstance(value, Mapping) else value


def model_problem(model: str) -> str | None:
    """Why this can't be a model's name, in one sentence; None when it can (whether the provider has it isn't asked)."""
    kind, _, name = model.partition(":")
    if model == "offline" or (kind in MODELS and name.strip()):
        return None
    written = file.word(model)
    if kind in MODELS:
        return f"“{written}” lacks the model's name: write {kind}:NAME."
    return f"“{written}” isn't a model's name: write offline, openai:NAME, anthropic:NAME or google:NAME."


SAFER: Mapping[str, Any] = {
    "mode": "ask",
    "explorer.consent.explore_chat_history": "ask",
}  # what holds instead of a value that isn't known (fault C03)


def load(
    home: Home, overrides: Iterable[str] = (), environ: Mapping[str, str] | None = None
) -> tuple[Settings, list[str]]:
    """The settings, and what was wrong with the file or environment in sentences; never fails for those.

    `overrides` are `key=value` words of the command line: a wrong one raises SettingsError.
    """
    environ = os.environ if environ is None else environ
    problems: list[str] = []
    text = file.read(home.settings, problems)
    data, lines = file.parse(text, problems)
    newer = isinstance(data.get("version"), int) and data["version"] > SETTINGS_VERSION
    if newer:
        data["version"] = SETTINGS_VERSION
        problems.append("settings.toml was written by a newer Shoal: what is known here is used, and it isn't changed.")
    settings, data = _fit(data, lines, problems, quiet_unknown=newer)
    if model := environ.get("SHOAL_MODEL"):
        try:
            settings = Settings.model_validate(data | {"model": model})
            data["model"] = model
        except ValidationError:
            problems.append(
                f"SHOAL_MODEL: “{file.word(model)}” isn't a model's name, so {settings.model} is used; "
                "write offline, openai:NAME, anthropic:NAME or google:NAME."
            )
    for word in overrides:
        settings, data = _override(data, word)
    return settings, problems


def save(home: Home, changes: Mapping[str, Any]) -> None:
    """Write dotted keys into settings.toml (None removes one), with the person's comments kept; whole file or nothing.

    Raises SettingsError when the file can't be written, is broken, or was written by a newer Shoal.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    problems: list[str] = []
    text = file.read(home.settings, problems)
    if problems:
        raise SettingsError(problems[0])
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise SettingsError("settings.toml has a mistake in it, so nothing was changed; mend it first.") from error
    version = document.get("version", SETTINGS_VERSION)
    if isinstance(version, int) and version > SETTINGS_VERSION:
        raise SettingsError("settings.toml was written by a newer Shoal, so it isn't changed here.")
    for key, value in changes.items():
        _put(document, list(file.path_of(key)), value)
    try:
        Settings.model_validate(document.unwrap())
    except ValidationError as error:
        if any(_dotted(e) in changes for e in error.errors()):
            raise SettingsError(_refusal(next(e for e in error.errors() if _dotted(e) in changes))) from error
    file.write(home, tomlkit.dumps(document))


def means(description: str, engine: str | None) -> str:
    """A setting's words, with the engine that was chosen named in them."""
    return description.replace("{engine}", engine or "the engine")


def documented(
    model: type[BaseModel] = Settings, prefix: str = "", engine: str | None = None
) -> Iterator[tuple[str, Any, str]]:
    """Every setting: its dotted key, its default, and what it means."""
    for name, info in model.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, Part):
            yield from documented(kind, f"{prefix}{name}.", engine)
        else:
            yield prefix + name, info.default, means(info.description or "", engine)


def _fit(
    data: dict[str, Any], lines: Mapping[str, int], problems: list[str], *, quiet_unknown: bool
) -> tuple[Settings, dict[str, Any]]:
    """The settings of what fits; each key that doesn't is taken out of `data` with a sentence."""
    while True:
        try:
            return Settings.model_validate(data), data
        except ValidationError as error:
            for problem in error.errors():
                loc = [str(part) for part in problem["loc"]]
                unknown = problem["type"] == "extra_forbidden"
                kept = _take_out(data, loc)
                dotted = ".".join(kept)
                if dotted in SAFER:
                    _put(data, kept, SAFER[dotted])
                if not (unknown and quiet_unknown) and len(problems) < SETTINGS_PROBLEMS:
                    line = lines.get(dotted) or lines.get(".".join(loc))
                    problems.append(
                        _sentence(problem, f"settings.toml, line {line}" if line else "settings.toml", dotted)
                    )


def _take_out(data: dict[str, Any], loc: list[str]) -> list[str]:
    """Remove the value at `loc` (or the nearest thing above that is there); answers the path that was removed."""
    at: Any = data
    for depth, part in enumerate(loc):
        below = at.get(part) if isinstance(at, dict) else None
        if not isinstance(below, dict) or depth == len(loc) - 1:
            at.pop(part, None)
            return loc[: depth + 1]
        at = below
    return loc


def _sentence(problem: Any, where: str, dotted: str | None = None) -> str:
    key = file.word(dotted if dotted is not None else ".".join(str(p) for p in problem["loc"]))
    if problem["type"] == "extra_forbidden":
        return f"{where}: there is no setting `{key}`; it isn't used."
    if key == "mode":
        return f"{where}: `mode` is one of {', '.join(get_args(Mode))}; ask is used."
    why = str(problem["msg"]).removeprefix("Value error, ")
    instead = f"{SAFER[key]} is used" if key in SAFER else "its default holds"
    return f"{where}: `{key}` can't be used ({why[:1].lower()}{why[1:]}); {instead}."


def _dotted(problem: Any) -> str:
    return ".".join(map(str, problem["loc"]))


def _refusal(problem: Any) -> str:
    """Why a change isn't made; what held before holds on."""
    why = str(problem["msg"]).removeprefix("Value error, ")
    return f"`{file.word(_dotted(problem))}` stays as it was: {why[:1].lower()}{why[1:]}."


def _override(data: dict[str, Any], word: str) -> tuple[Settings, dict[str, Any]]:
    key, equals, raw = word.partition("=")
    if not equals or not key.strip():
        raise SettingsError(f"--set {file.word(word)}: write it as key=value, such as --set model=offline.")
    try:
        value = tomllib.loads(f"v = {raw}")["v"]
    except tomllib.TOMLDecodeError:
        value = raw
    changed = _copy(data)
    _put(changed, ["keys", key.strip()[5:]] if key.startswith("keys.") else list(file.path_of(key)), value)
    for candidate in (value, raw):  # `--set model=5` may mean the text "5"
        _put(changed, ["keys", key.strip()[5:]] if key.startswith("keys.") else list(file.path_of(key)), candidate)
        try:
            return Settings.model_validate(changed), changed
        except ValidationError as error:
            problem = error.errors()[0]
    if problem["type"] == "extra_forbidden":
        raise SettingsError(f"--set: there is no setting {file.word(key)}; `shoal doctor --settings` lists them all.")
    why = str(problem["msg"]).removeprefix("Value error, ")
    raise SettingsError(f"--set {file.word(key)}: {why}.")


# -- little things


def _leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, below in value.items():
        if isinstance(below, Mapping):
            yield from _leaves(below, f"{prefix}{name}.")
        else:
            yield prefix + name, below


def _copy(data: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _copy(v) if isinstance(v, Mapping) else v for k, v in data.items()}


def _put(data: Any, path: list[str], value: Any) -> None:
    for part in path[:-1]:
        if not isinstance(data.get(part), Mapping):
            data[part] = {}
        data = data[part]
    if value is None:
        data.pop(path[-1], None)
    else:
        data[path[-1]] = value


__all__ = ["MODELS", "SERVERS", "Settings", "SettingsError", "documented", "load", "model_problem", "save"]
