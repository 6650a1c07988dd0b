"""Makes torchvision importable for every test here, where its compiled operators don't fit the installed torch."""

import tests.zoo  # noqa: F401
