"""Ways in that were found by attacking the guard: each stays shut."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from app.guard.judge import Question, Situation, judge
from app.ports import CallFacts
from app.tools.shell.sandbox import Sandbox
from store.events import TaintSource

PAGE = TaintSource(kind="web", label="a.example")


@pytest.mark.parametrize("name", ["sub/HEAD", "mise.toml", "sub/.tool-versions", ".dir-locals.el", "pytest.ini"])
def test_a_file_that_makes_other_programs_run_something_asks_once_a_page_was_read(name):
    facts = CallFacts("write_file", "files", "write", paths=(f"/w/{name}",), folder="/w", place=f"/w/{name}")
    assert isinstance(judge(facts, Situation("auto", (PAGE,), folder="/w")), Question)


@pytest.mark.skipif(shutil.which("git") is None, reason="git isn't here")
def test_a_folder_dressed_up_as_a_bare_repository_makes_git_run_nothing(tmp_path):
    trap = tmp_path / "sub"
    (trap / "objects").mkdir(parents=True)
    (trap / "refs").mkdir()
    (trap / "HEAD").write_text("ref: refs/heads/main\n")
    (trap / "config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {tmp_path}\n"
        f'\tfsmonitor = "touch {tmp_path}/ran; false"\n'
    )
    env = dict(Sandbox(home=tmp_path)._env())
    subprocess.run(["git", "-C", str(trap), "status"], env=env, capture_output=True, check=False)
    assert not (tmp_path / "ran").exists()
    unguarded = {k: v for k, v in env.items() if not k.startswith("GIT_CONFIG")}
    subprocess.run(["git", "-C", str(trap), "status"], env=unguarded, capture_output=True, check=False)
    assert (tmp_path / "ran").exists()  # it is a trap
