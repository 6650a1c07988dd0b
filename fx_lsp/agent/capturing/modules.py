"""What to import before the first capture."""

MODULES = ("torch.export", "torch._dynamo", "torch._dynamo.backends.debugging")
"""torch imports these for the first capture, which takes more than a second."""
