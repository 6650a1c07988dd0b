"""Makes torchvision importable for every test here, where its compiled operators don't fit the installed torch."""

import importlib.util

if importlib.util.find_spec("torchvision") is not None:
    import tests.zoo  # noqa: F401
