"""What holds for all tests."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Full-size rows run only in `make soak`."""
    if os.environ.get("SHOAL_SOAK"):
        return
    skip = pytest.mark.skip(reason="full size: make soak")
    for item in items:
        if "soak" in item.keywords:
            item.add_marker(skip)
