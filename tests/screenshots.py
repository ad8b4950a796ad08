"""`python -m tests.screenshots [NAME …]`: the looks as SVG and PNG in `screenshots/`."""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from tests.screens import scenes

FOLDER = Path(__file__).resolve().parents[1] / "screenshots"
FONT = "DejaVu Sans Mono"
WIDTH = 1600


async def shoot(name: str, scene: scenes.Scene) -> str:
    """The scene as SVG with a font that is on most machines."""
    with tempfile.TemporaryDirectory() as root:
        app = scenes.app_of(scene, Path(root))
        async with app.run_test(size=scene.size) as pilot:
            await scenes.play(scene, pilot)
            svg = app.export_screenshot(title="Shoal")
    svg = re.sub(r"@font-face\s*\{[^}]*\}", "", svg).replace("Fira Code", FONT)
    return re.sub(r"terminal-\d+", f"shoal-{name}", svg)


def png(svg: str) -> bytes:
    """The SVG as a PNG."""
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, width=WIDTH))


def main(names: list[str]) -> int:
    """Write the pictures that were asked for, or all the README shows."""
    scenes.fixed_time()
    FOLDER.mkdir(exist_ok=True)
    for name in names or scenes.SHOWN:
        svg = asyncio.run(shoot(name, scenes.SCENES[name]))
        (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
        (FOLDER / f"{name}.png").write_bytes(png(svg))
        print(f"screenshots/{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
