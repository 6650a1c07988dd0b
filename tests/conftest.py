"""What all tests share: they leave the user's cache alone."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of these tests' own, for every process that they start."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["FX_LSP_CACHE"] = str(folder)
    yield folder
    del os.environ["FX_LSP_CACHE"]
