"""Settings: faults C01 to C07, precedence, and that the person's file is never spoiled."""

from __future__ import annotations

import errno
import os
import threading
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from app.paths import Home
from app.settings import Settings, SettingsError, documented, load, save


def home_with(tmp_path: Path, text: str | bytes | None) -> Home:
    home = Home(tmp_path)
    if text is not None:
        home.settings.write_bytes(text if isinstance(text, bytes) else text.encode())
    return home


def read(tmp_path: Path, text: str | bytes | None, *overrides: str, **environ: str) -> tuple[Settings, list[str]]:
    return load(home_with(tmp_path, text), overrides, environ)


def test_no_file_and_an_empty_file_give_the_defaults_without_a_word(tmp_path: Path) -> None:
    assert read(tmp_path, None) == (Settings(), [])
    assert read(tmp_path, b"") == (Settings(), [])


def test_a_folder_at_its_place_starts_with_defaults_and_says_so_once(tmp_path: Path) -> None:
    Home(tmp_path).settings.mkdir()
    settings, problems = load(Home(tmp_path), (), {})
    assert settings == Settings()
    assert len(problems) == 1 and "folder" in problems[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_starts_with_defaults_and_says_so(tmp_path: Path) -> None:
    home = home_with(tmp_path, 'mode = "plan"')
    home.settings.chmod(0)
    settings, problems = load(home, (), {})
    assert settings.mode == "auto" and "permission" in problems[0].lower()


def test_a_folder_that_cannot_be_written_says_so_when_saving(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SettingsError, match=r"couldn't be (saved|read)"):
        save(Home(tmp_path / "file"), {"mode": "plan"})


def test_a_syntax_error_names_file_line_and_key_and_the_good_keys_hold(tmp_path: Path) -> None:
    text = 'mode = "plan"\nmodel = "offline\n[history]\nsurface = "off"\n'
    settings, problems = read(tmp_path, text)
    assert (settings.mode, settings.history.surface) == ("plan", "off")
    assert len(problems) == 1
    assert all(word in problems[0] for word in ("settings.toml", "line 2", "`model`"))
    assert Home(tmp_path).settings.read_text() == text


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("mouse = 7.5", "mouse"),
        ("colour = 'red'", "colour"),
        ("[history]\nsurface = 'everything'", "history.surface"),
        ("[providers.openai]\nbase_url = 'localhost:8080'", "providers.openai.base_url"),
        ("[providers.nobody]\nbase_url = 'http://x'", "providers.nobody"),
        ("history = 5", "history"),
        ("[explorer.consent]\nread_chat = 'perhaps'", "explorer.consent.read_chat"),
    ],
)
def test_a_wrong_value_or_unknown_key_is_named_with_its_line_and_the_rest_holds(
    tmp_path: Path, line: str, key: str
) -> None:
    text = f"plan = 'pro'\n\n{line}\n"
    settings, problems = read(tmp_path, text)
    assert settings.plan == "pro"
    assert len(problems) == 1
    assert f"`{key}`" in problems[0] and "line " in problems[0] and "settings.toml" in problems[0]
    assert Home(tmp_path).settings.read_text() == text


def test_an_unknown_mode_becomes_ask_and_an_unknown_model_the_offline_one(tmp_path: Path) -> None:
    settings, problems = read(tmp_path, "mode = 'yolo'\nmodel = 'wonder:9'\n")
    assert (settings.mode, settings.model) == ("ask", "offline")
    assert len(problems) == 2


def test_an_unknown_consent_becomes_ask(tmp_path: Path) -> None:
    settings, _ = read(tmp_path, "[explorer.consent]\nexplore_chat_history = 'yes'\n")
    assert settings.explorer.consent.explore_chat_history == "ask"


def test_bom_and_crlf_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbfmode = 'plan'\r\nplan = 'pro'\r\n")[0].mode == "plan"


@pytest.mark.parametrize(("raw", "words"), [(b"mode = '\xff\xfe'", "UTF-8"), (b"#" * (10 * 1024 * 1024), "1 MB")])
def test_bytes_that_are_no_settings_are_refused_in_words(tmp_path: Path, raw: bytes, words: str) -> None:
    settings, problems = read(tmp_path, raw)
    assert settings == Settings() and len(problems) == 1 and words in problems[0]


def test_a_newer_file_is_read_and_never_rewritten(tmp_path: Path) -> None:
    text = "version = 99\nmode = 'plan'\nhologram = true\n"
    settings, problems = read(tmp_path, text)
    assert settings.mode == "plan" and len(problems) == 1 and "newer" in problems[0]
    with pytest.raises(SettingsError, match="newer"):
        save(Home(tmp_path), {"mode": "auto"})
    assert Home(tmp_path).settings.read_text() == text


def test_saving_keeps_comments_and_what_another_instance_wrote(tmp_path: Path) -> None:
    home = home_with(tmp_path, "# mine\nmode = 'plan'  # careful\n")
    save(home, {"history.surface": "off"})
    save(home, {"mode": "auto", "keys": {"search.open": "ctrl+t"}})
    text = home.settings.read_text()
    assert "# mine" in text and "# careful" in text
    settings, problems = load(home, (), {})
    assert (settings.mode, settings.history.surface, settings.keys) == ("auto", "off", {"search.open": "ctrl+t"})
    assert not problems
    save(home, {"mode": None})
    assert "mode" not in tomllib.loads(home.settings.read_text())
    assert [p.name for p in tmp_path.iterdir()] == ["settings.toml"]
    assert home.settings.stat().st_mode & 0o777 == 0o600


def test_saving_a_wrong_value_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    home = home_with(tmp_path, "mode = 'plan'\n")
    with pytest.raises(SettingsError):
        save(home, {"mode": "yolo"})
    assert home.settings.read_text() == "mode = 'plan'\n"


def test_a_broken_file_is_never_overwritten_by_saving(tmp_path: Path) -> None:
    home = home_with(tmp_path, "mode = 'plan\n")
    with pytest.raises(SettingsError, match="mistake"):
        save(home, {"plan": "pro"})
    assert home.settings.read_text() == "mode = 'plan\n"


def test_a_change_that_cannot_be_made_says_that_the_old_value_stays(tmp_path: Path) -> None:
    home = home_with(tmp_path, "model = 'openai:mine'\nmodle = 'x'\n")
    before = home.settings.read_text()
    for changes in ({"model": "wonder:9"}, {"theme": "x", "mode": "yolo"}):
        with pytest.raises(SettingsError, match=rf"^`{list(changes)[-1]}` stays as it was: ") as error:
            save(home, changes)
        assert "default" not in str(error.value)
    assert home.settings.read_text() == before


def test_saved_by_several_at_once_the_file_is_always_whole(tmp_path: Path) -> None:
    home = home_with(tmp_path, "# mine\nmode = 'plan'\n")
    stop = threading.Event()
    seen: list[str] = []

    def read_on() -> None:
        while not stop.is_set():
            seen.extend(load(home, (), {})[1])

    reader = threading.Thread(target=read_on)
    reader.start()
    savers = [
        threading.Thread(target=lambda n=n: [save(home, {"theme": f"t{n}-{k}"}) for k in range(15)]) for n in range(4)
    ]
    for saver in savers:
        saver.start()
    for saver in savers:
        saver.join()
    stop.set()
    reader.join()
    settings, problems = load(home, (), {})
    assert not problems and not seen
    assert settings.mode == "plan" and settings.theme.endswith("-14") and "# mine" in home.settings.read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["settings.toml"]


def test_a_full_disk_while_saving_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = home_with(tmp_path, "mode = 'plan'\n")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SettingsError, match="No space left"):
        save(home, {"mode": "auto"})
    assert home.settings.read_text() == "mode = 'plan'\n" and [p.name for p in tmp_path.iterdir()] == ["settings.toml"]


def test_a_key_in_a_file_others_can_read_works_is_said_once_and_never_shown(tmp_path: Path) -> None:
    value = "made-up-" + "value-1234"
    home = home_with(tmp_path, f"[providers.openai]\napi_key = '{value}'\n")
    home.settings.chmod(0o644)
    settings, problems = load(home, (), {})
    assert settings.providers.openai.api_key and settings.providers.openai.api_key.get_secret_value() == value
    assert len(problems) == 1 and "chmod 600" in problems[0]
    assert value not in repr(settings) + str(problems) + settings.model_dump_json()
    home.settings.chmod(0o600)
    assert load(home, (), {})[1] == []


def test_a_file_in_the_work_folder_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "settings.toml").write_text("mode = 'full'")
    monkeypatch.chdir(work)
    assert load(Home(tmp_path / "home"), (), {})[0].mode == "auto"


def test_the_command_line_comes_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    text = "model = 'openai:a'\n"
    assert read(tmp_path, text)[0].model == "openai:a"
    assert read(tmp_path, text, SHOAL_MODEL="openai:b")[0].model == "openai:b"
    assert read(tmp_path, text, "model=openai:c", SHOAL_MODEL="openai:b")[0].model == "openai:c"


def test_a_wrong_model_in_the_environment_is_said_and_the_file_holds(tmp_path: Path) -> None:
    settings, problems = read(tmp_path, None, SHOAL_MODEL="gibberish")
    assert settings.model == "offline" and "SHOAL_MODEL" in problems[0]


def test_every_setting_can_be_given_on_the_command_line(tmp_path: Path) -> None:
    given_ = [
        "mode=plan",
        "mouse=false",
        "history.surface=explorer",
        "plan=pro",
        "explorer.engine=offline",
        'explorer.free_models=["openai:a"]',
        "explorer.consent.read_chat=never",
        "providers.openai.base_url=http://127.0.0.1:1",
        "keys.search.open=ctrl+t",
    ]
    settings, _ = read(tmp_path, None, *given_)
    assert settings.mouse is False and settings.explorer.free_models == ("openai:a",)
    assert settings.explorer.consent.read_chat == "never" and settings.keys == {"search.open": "ctrl+t"}


@pytest.mark.parametrize("word", ["mode", "=x", "mode=yolo", "nothing=1", "history.surface=all", "keys=5"])
def test_a_wrong_word_of_the_command_line_is_refused_in_one_sentence(tmp_path: Path, word: str) -> None:
    with pytest.raises(SettingsError) as error:
        read(tmp_path, None, word)
    assert "\n" not in str(error.value)


def test_every_setting_is_documented() -> None:
    for key, _default, words in documented():
        assert words.endswith("."), key


@examples(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=200), st.text("ab=[]'\".\n#{}, mode1plan", max_size=120).map(str.encode)))
def test_no_bytes_stop_the_start(tmp_path: Path, raw: bytes) -> None:
    settings, problems = read(tmp_path, raw)
    assert isinstance(settings, Settings) and all("\n" not in p and "\x1b" not in p for p in problems)
