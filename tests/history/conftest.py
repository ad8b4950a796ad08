from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.history.past import Past


@pytest.fixture
async def past(tmp_path: Path) -> AsyncIterator[Past]:
    made = Past(tmp_path)
    yield made
    await made.close()
