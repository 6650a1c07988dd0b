"""Asks whether a package is there, which is not, and does without it."""
# Imports: traced
# Finds: failed control-flow
# Versions: traced

import importlib.metadata
import importlib.util

from torch import nn

try:
    import attention_that_is_missing
except ImportError:
    attention_that_is_missing = None

try:
    version = importlib.metadata.version("attention_that_is_missing")
except importlib.metadata.PackageNotFoundError:
    version = None

is_found = importlib.util.find_spec("attention_that_is_missing") is not None


class Imports(nn.Module):
    def forward(self, x):
        if attention_that_is_missing is not None:
            return attention_that_is_missing.attend(x)
        return x + 1


class Finds(nn.Module):
    def forward(self, x):
        if is_found:
            return x
        return x if x.sum() > 0 else -x


class Versions(nn.Module):
    def forward(self, x):
        return x if version is None else attention_that_is_missing.attend(x)
