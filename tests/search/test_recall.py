"""The recall bars on the development half of the bench, where it lies beside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import recall
from tests.benchmarks.corpus import RECALL_FILE, read_recall


@pytest.mark.timeout(240)
def test_recall_is_over_its_bars(tmp_path: Path) -> None:
    if not RECALL_FILE.exists():
        print("recall isn't measured: its file isn't beside the repository")
        pytest.skip("no recall file")
    file = read_recall()
    store, service = recall.opened(tmp_path, file)
    try:
        found = recall.measure(service, file, recall.cut_hook(), ranked=20)
    finally:
        service.close_sync()
        store.close()
    assert found["chat@8"] >= 0.943
    assert found["line"] >= 0.669
    assert found["line_cut"] >= found["line"] - 0.005
    assert found["mrr"] >= 0.778
