"""Reads a submodule of a package that it does not import: one of the packages that are missing imports it."""
# Versioned: traced
# import: missing-package

import frames_that_are_missing
import wsgiref
from torch import nn


def adds(environment):
    wsgiref.headers.Headers()
    return True


class Versioned(nn.Module):
    def forward(self, x):
        return self.shifted(x)

    def shifted(self, x, adds=adds({})):
        return x + 1 if adds else x - 1
