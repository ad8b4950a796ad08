"""`shoal explore`: the same runner, in a chat of its own, with one sentence where it can't."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def shoal(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("SHOAL_")} | {"SHOAL_HOME": str(home)}
    run = [sys.executable, str(ROOT / "shoal.py"), *words]
    return subprocess.run(run, env=env, capture_output=True, text=True, timeout=60, check=False, cwd=home.parent)


PRO = ("--set", 'plan="pro"', "--set", 'explorer.engine="offline"')


def seeded(tmp_path: Path) -> tuple[Path, Path]:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    shoal(home, "--set", f"folder={work}", "ask", "for the login we decided on server sessions HERON-9")
    return home, work


def test_it_prints_what_it_found_with_its_source(tmp_path: Path) -> None:
    home, work = seeded(tmp_path)
    done = shoal(home, *PRO, "explore", "what about the login sessions?", "--project", str(work))
    assert done.returncode == 0 and "HERON-9" in done.stdout and "confidence" in done.stdout, done
    done = shoal(home, *PRO, "explore", "login sessions", "--project", str(work), "--json")
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["findings"] and report["archival_content"] is True
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = shoal(home, *PRO, "explore", "login sessions", "--project", str(elsewhere), "--json")
    assert json.loads(done.stdout)["outcome"] == "no_match" and "HERON" not in done.stdout


def test_what_it_needs_is_said_in_one_sentence(tmp_path: Path) -> None:
    home, work = seeded(tmp_path)
    for words, said in (
        (("explore", "login"), 'plan = "pro"'),
        (("--set", 'plan="pro"', "explore", "login"), "needs an engine"),
        ((*PRO, "explore", "x", "--project", str(work / "none")), "is not a folder"),
        ((*PRO, "explore", "x" * 501), "at most 500"),
    ):
        done = shoal(home, *words)
        assert done.returncode in (1, 2) and said in done.stderr and "Traceback" not in done.stderr, done


def test_headless_applies_every_check_of_the_chat(tmp_path: Path) -> None:
    home = tmp_path / "home"
    lines = ['{"do":"new","ref":"1"}', '{"do":"explore","ref":"2","chat":"c_x","query":"login","given":true}']
    env = {k: v for k, v in os.environ.items() if not k.startswith("SHOAL_")} | {"SHOAL_HOME": str(home)}
    run = [sys.executable, str(ROOT / "shoal.py"), *PRO, "headless"]
    done = subprocess.run(run, input="\n".join(lines), env=env, capture_output=True, text=True, timeout=60, check=False)
    answers = {a["ref"]: a for a in map(json.loads, done.stdout.splitlines()) if "ref" in a}
    assert answers["2"]["error"]["code"] == "bad-command"  # there is no way around the checks
    chat = answers["1"]["ok"]["chat"]
    ask = json.dumps({"do": "explore", "ref": "3", "chat": chat, "query": "login"})
    done = subprocess.run(run, input=ask, env=env, capture_output=True, text=True, timeout=60, check=False)
    (answer,) = [a for a in map(json.loads, done.stdout.splitlines()) if a.get("ref") == "3"]
    assert answer["error"]["code"] == "not-allowed"  # the surface is direct


def test_doctor_tells_the_sandbox_the_routines_and_the_explorers_runs_in_words(tmp_path: Path) -> None:
    home, work = seeded(tmp_path)
    shoal(home, *PRO, "explore", "login sessions", "--project", str(work))
    routine = (
        '[routines.Morning]\nschedule = "0 9 * * *"\nprompt = "x"\n\n[routines.Odd]\nschedule = "soon"\nprompt = "x"\n'
    )
    (home / "settings.toml").write_text(routine)
    told = shoal(home, "doctor").stdout
    assert "sandbox" in told and "Morning · next 20" in told and "“Odd” isn't five cron words" in told
    assert "1 run (1 complete)" in told or "1 run (1 partial)" in told
    assert " kB to the engine" in told and "MB · 0 lines waiting · " in told and "made anew in " in told
    report = json.loads(shoal(home, "doctor", "--json").stdout)
    assert report["index"]["explorer"]["runs"] == 1 and "login" not in json.dumps(report["index"])
    explorer, index = report["index"]["explorer"], report["index"]
    assert explorer["calls"] > 0 and explorer["bytes"] > 0 and explorer["report_bytes"] > 0
    assert set(explorer) >= {"steps", "outcomes", "confidence", "indexing", "capped", "truncated", "seconds_p95"}
    assert index["bytes"] > 0 and index["waiting"] == 0 and index["pace"]["built"] > 0
    assert set(index["pace"]) == {"drains", "last", "longest", "queue", "built"}
