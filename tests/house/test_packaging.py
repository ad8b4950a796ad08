"""The wheel owns one import name and carries the three floors inside it."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_wheel_owns_one_name_and_starts(tmp_path: Path) -> None:
    build = (
        "import sys; from hatchling.builders.wheel import WheelBuilder;"
        "print(next(WheelBuilder(sys.argv[1]).build(directory=sys.argv[2], versions=['standard'])))"
    )
    out = subprocess.run(
        [sys.executable, "-c", build, str(ROOT), str(tmp_path)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    wheel = zipfile.ZipFile(out.stdout.strip().splitlines()[-1])
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"shoal"}
    names = set(wheel.namelist())
    assert {"shoal/__init__.py", "shoal/app/cli/__init__.py", "shoal/store/log.py", "shoal/widgets/row.py"} <= names
    assert not any("tests/" in n or "__pycache__" in n for n in names)
    wheel.extractall(tmp_path / "site")
    ran = subprocess.run(
        [sys.executable, "-c", "import shoal, sys; sys.exit(shoal.main(['--version']))"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin", "SHOAL_HOME": str(tmp_path / "home")},
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip()
