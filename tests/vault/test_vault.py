"""The vault: values kept out of everything, handed to one command (conch-behaviour §2.13)."""

from __future__ import annotations

import json
import logging
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.guard import vault as vault_room
from app.guard import vault_places as v
from app.guard.redactor import Redactor
from app.guard.vault import HandedOut, Vault, VaultState
from app.guard.vault_places import FileBackend, KeyringBackend, VaultLocked, VaultProblem

VALUE = "quite-Ordinary/words+77"


def made(folder: Path, redactor: Redactor | None = None, **environ: str) -> Vault:
    return Vault(folder / "vault", redactor or Redactor(), {"SHOAL_VAULT": "file", **environ})


class Ring:
    """A keyring with the real interface."""

    priority = 5

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.broken = False

    def get_password(self, service: str, name: str) -> str | None:
        if self.broken:
            raise RuntimeError("locked")
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, value: str) -> None:
        self.kept[(service, name)] = value

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[(service, name)]


async def test_a_value_comes_back_in_another_run_and_lies_nowhere_in_the_open(tmp_path: Path) -> None:
    await made(tmp_path).put("Deploy key", VALUE)
    assert await made(tmp_path).names() == ["Deploy key"]
    assert await made(tmp_path).get("deploy  KEY") == VALUE
    assert await made(tmp_path).get("other") is None
    for path in (tmp_path / "vault").iterdir():
        assert VALUE not in path.read_text() and "Deploy" not in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "vault").stat().st_mode) == 0o700


async def test_with_a_passphrase_there_is_no_key_file_and_another_passphrase_opens_nothing(tmp_path: Path) -> None:
    await made(tmp_path, SHOAL_VAULT_PASSPHRASE="one two").put("k", VALUE)
    assert [p.name for p in (tmp_path / "vault").iterdir()] == ["vault.json"]
    assert await made(tmp_path, SHOAL_VAULT_PASSPHRASE="one two").get("k") == VALUE
    with pytest.raises(VaultProblem, match="another one"):
        await made(tmp_path, SHOAL_VAULT_PASSPHRASE="three").get("k")
    with pytest.raises(VaultProblem, match="SHOAL_VAULT_PASSPHRASE"):
        await made(tmp_path).names()
    asked = Vault(tmp_path / "vault", Redactor(), {"SHOAL_VAULT": "file"}, ask=lambda: "one two")
    assert await asked.get("k") == VALUE


async def test_a_passphrase_given_later_takes_the_place_of_the_key_file(tmp_path: Path) -> None:
    await made(tmp_path).put("k", VALUE)
    await made(tmp_path, SHOAL_VAULT_PASSPHRASE="one two").put("second", "another-value")
    assert [p.name for p in (tmp_path / "vault").iterdir()] == ["vault.json"]
    assert await made(tmp_path, SHOAL_VAULT_PASSPHRASE="one two").names() == ["k", "second"]


@pytest.mark.parametrize("body", ["", "{", "[]", '{"key":"file","data":"x"}', '{"key":"scrypt","n":9,"salt":"AA=="}'])
async def test_a_broken_file_is_said_in_words(tmp_path: Path, body: str) -> None:
    await made(tmp_path).put("k", VALUE)
    (tmp_path / "vault" / "vault.json").write_text(body)
    vault = made(tmp_path, SHOAL_VAULT_PASSPHRASE="x")
    if body == "[]":
        assert await vault.names() == []
        return
    with pytest.raises(VaultProblem) as problem:
        await vault.names()
    assert str(problem.value).endswith(".") and str(tmp_path) not in str(problem.value)
    await vault.start()  # nothing is raised at the program's start


async def test_a_folder_that_cant_be_written_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "vault").write_text("in the way")
    with pytest.raises(VaultProblem, match=r"couldn't be (read|written)"):
        await made(tmp_path).put("k", VALUE)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("k", "short", "fewer than"),
        ("  ", VALUE, "name"),
        ("…", VALUE, "name"),
        ("k", "a" * 10_001, "at most"),
        ("k", "with\0zero", "zero byte"),
    ],
)
async def test_what_cant_be_kept_is_refused_without_repeating_it(
    tmp_path: Path, name: str, value: str, why: str
) -> None:
    with pytest.raises(VaultProblem, match=why) as problem:
        await made(tmp_path).put(name, value)
    assert value not in str(problem.value) and not (tmp_path / "vault").exists()


async def test_every_kept_value_is_known_to_the_redactor_at_once_and_at_the_next_start(tmp_path: Path) -> None:
    redactor = Redactor()
    await made(tmp_path, redactor).put("k", VALUE)
    assert VALUE not in redactor.clean(f"it is {VALUE}")
    again = Redactor()
    await made(tmp_path, again).start()
    assert VALUE not in again.clean(f"it is {VALUE}")


async def test_one_name_holds_one_value_and_can_be_removed(tmp_path: Path) -> None:
    vault = made(tmp_path)
    await vault.put("Key", VALUE)
    await vault.put("key", "another-value")
    assert await vault.names() == ["Key"] and await vault.get("Key") == "another-value"
    assert await vault.remove("KEY") and not await vault.remove("KEY")
    assert await made(tmp_path).names() == []


async def test_a_keyring_holds_the_values_and_the_file_only_their_names(tmp_path: Path) -> None:
    ring = Ring()
    vault = Vault(tmp_path / "vault", Redactor(), {}, find_keyring=lambda: ring)
    await vault.put("k", VALUE)
    kept = json.loads((tmp_path / "vault" / "names.json").read_text())
    assert kept["names"] == ["k"] and VALUE not in str(kept) and list(ring.kept.values()) == [VALUE]
    again = Vault(tmp_path / "vault", Redactor(), {}, find_keyring=lambda: ring)
    assert await again.get("k") == VALUE
    ring.broken = True
    with pytest.raises(VaultProblem, match="doesn't answer"):
        await again.get("k")
    gone = Vault(tmp_path / "vault", Redactor(), {}, find_keyring=lambda: None)
    with pytest.raises(VaultProblem, match="doesn't answer"):
        await gone.put("second", VALUE)  # never quietly somewhere else


async def test_a_keyring_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault_room, "VAULT_SECONDS", 0.05)

    def never() -> Any:
        import time

        time.sleep(0.3)
        return None

    vault = Vault(tmp_path / "vault", Redactor(), {}, find_keyring=never)
    with pytest.raises(VaultProblem, match="doesn't answer"):
        await vault.put("k", VALUE)


def test_only_the_systems_own_keyrings_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring.backend

    class Plain(Ring):
        pass

    class Real(Ring):
        pass

    class Broken(Ring):
        @property
        def priority(self) -> float:  # type: ignore[override]
            raise RuntimeError("no bus")

    Plain.__module__ = "keyrings.alt.file"
    Real.__module__ = "keyring.backends.SecretService"
    Broken.__module__ = "keyring.backends.kwallet"
    real = Real()
    monkeypatch.setattr(keyring.backend, "get_all_keyring", lambda: [Plain(), Broken(), real])
    assert v.real_keyring() is real
    monkeypatch.setattr(keyring.backend, "get_all_keyring", lambda: [Plain(), Broken()])
    assert v.real_keyring() is None


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = "import sys, app.tools.passwords; print([m for m in ('keyring', 'cryptography') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_a_home_without_a_vault_costs_nothing(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault", Redactor(), {}, find_keyring=lambda: 1 / 0)
    await vault.start()
    assert await vault.names() == [] and await vault.get("k") is None and not (tmp_path / "vault").exists()


def test_what_is_handed_out_is_for_one_command_of_one_turn() -> None:
    handed = HandedOut()
    handed.hand("c", "r1", "A", "1")
    handed.hand("c", "r1", "B", "2")
    assert handed.take("d", "r1") == {} and handed.take("c", "r1") == {"A": "1", "B": "2"}
    assert handed.take("c", "r1") == {}
    handed.hand("c", "r1", "A", "1")
    handed.hand("c", "r2", "B", "2")
    assert handed.take("c", "r2") == {"B": "2"}
    handed.hand("c", "r2", "A", "1")
    assert handed.take("c", "r3") == {}


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=60), max_size=5))
def test_any_text_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, values: dict[str, str]) -> None:
    folder = tmp_path_factory.mktemp("v")
    backend = FileBackend(folder, None, lambda: None)
    for name, value in values.items():
        backend.put(name, value)
    again = FileBackend(folder, None, lambda: None)
    assert {n: again.get(n) for n in again.names()} == values


async def test_no_log_line_has_a_value(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ring = Ring()
    with caplog.at_level(logging.DEBUG):
        backend = KeyringBackend(tmp_path, ring)
        ring.broken = True
        with pytest.raises(VaultProblem):
            backend.get(VALUE)
        await made(tmp_path).put("k", VALUE)
    assert VALUE not in caplog.text


async def test_a_passphrase_is_set_locked_and_unlocked_again_in_one_run(tmp_path: Path) -> None:
    redactor = Redactor()
    vault = made(tmp_path, redactor)
    assert await vault.state() == VaultState("new")
    await vault.put("k", VALUE)
    assert await vault.state() == VaultState("key-file", False, ("k",))
    await vault.set_passphrase("correct horse")
    assert [p.name for p in (tmp_path / "vault").iterdir()] == ["vault.json"]
    assert await vault.state() == VaultState("passphrase", False, ("k",))
    await vault.lock()
    assert await vault.state() == VaultState("passphrase", True)
    with pytest.raises(VaultLocked):
        await vault.get("k")
    with pytest.raises(VaultLocked, match="isn't the vault's passphrase"):
        await vault.unlock("correct mouse")
    assert (await vault.state()).locked
    await vault.unlock("correct horse")
    assert await vault.get("k") == VALUE


async def test_another_passphrase_takes_the_place_of_the_first(tmp_path: Path) -> None:
    vault = made(tmp_path)
    await vault.set_passphrase("first one")
    await vault.put("k", VALUE)
    await vault.set_passphrase("second one")
    again = made(tmp_path)
    with pytest.raises(VaultLocked):
        await again.unlock("first one")
    await again.unlock("second one")
    assert await again.names() == ["k"]


async def test_unlocking_hides_every_value_from_then_on(tmp_path: Path) -> None:
    await made(tmp_path, SHOAL_VAULT_PASSPHRASE="correct horse").put("k", VALUE)
    redactor = Redactor()
    vault = made(tmp_path, redactor)
    await vault.start()  # locked: nothing is known
    assert VALUE in redactor.clean(f"it is {VALUE}")
    await vault.unlock("correct horse")
    assert VALUE not in redactor.clean(f"it is {VALUE}")
    await vault.lock()
    assert VALUE not in redactor.clean(f"it is {VALUE}")


async def test_a_locked_vault_takes_no_other_passphrase_and_a_short_one_is_refused(tmp_path: Path) -> None:
    await made(tmp_path, SHOAL_VAULT_PASSPHRASE="correct horse").put("k", VALUE)
    vault = made(tmp_path)
    with pytest.raises(VaultLocked):
        await vault.set_passphrase("another one")
    with pytest.raises(VaultProblem, match="8 characters"):
        await vault.set_passphrase("short")


async def test_a_wrong_passphrase_of_the_environment_leaves_it_locked_until_the_right_one(tmp_path: Path) -> None:
    await made(tmp_path, SHOAL_VAULT_PASSPHRASE="correct horse").put("k", VALUE)
    vault = made(tmp_path, SHOAL_VAULT_PASSPHRASE="wrong")
    assert await vault.state() == VaultState("passphrase", True)
    await vault.unlock("correct horse")
    assert await vault.state() == VaultState("passphrase", False, ("k",))


async def test_without_a_passphrase_there_is_nothing_to_lock_and_a_keyring_has_its_own(tmp_path: Path) -> None:
    with pytest.raises(VaultProblem, match="can't be locked"):
        await made(tmp_path).lock()
    ringed = Vault(tmp_path / "ringed", Redactor(), {}, find_keyring=Ring)
    await ringed.put("k", VALUE)
    assert await ringed.state() == VaultState("keyring", False, ("k",))
    for ask in (ringed.lock, lambda: ringed.unlock("correct horse"), lambda: ringed.set_passphrase("correct horse")):
        with pytest.raises(VaultProblem, match="keyring"):
            await ask()
