"""Makes torchvision importable for every test here, where its compiled operators don't fit the installed torch."""

import pytest

import tests.zoo  # noqa: F401
from tests.core.versions import why_not


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect tests to fail where the installed torch or Python does otherwise than it does now."""
    for item in items:
        reason = why_not(item.nodeid)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=False))
