"""What holds for all tests here."""

from tests.screens.fakes import closed_stores  # noqa: F401 - a fixture
