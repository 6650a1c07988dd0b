"""Random edits of a small workspace: bodies, signatures, decorators, nested functions, class bodies, statements of the
module, directives, and another file."""

import random
from dataclasses import dataclass, field

HELPER = """\
from torch import nn

{constant}


def scaled(x):
    {scaled}


class Shared(nn.Module):
    def forward(self, x):
        {shared}
"""

MODEL = """\
import torch
import torch.nn as nn
from torch.nn import functional as F

from helper import WIDTH, Shared, scaled

{module}


def spread(x, by=2):
    {spread}


def chosen():
    return {chosen}


class Alone(nn.Module):
    {alone_class}

    def forward(self, x):
        {alone}


{directive}
class Part(nn.Module):
    def __init__(self, {part_signature}):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        {part}


{decorator}
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        {whole_init}

    {method_decorator}
    def double(self, x):
        {double}

    def forward(self, x{whole_signature}):
        {whole}


class Nested(nn.Module):
    kind = {nested_kind}

    def forward(self, x):
        def inner(value):
            {inner}

        {nested}


class Derived({base}):
    def forward(self, x):
        {derived}
"""

CHOICES: dict[str, tuple[str, ...]] = {
    "constant": ("WIDTH = 4", "WIDTH = 8", "WIDTH = 4\nprint(WIDTH)"),
    "scaled": ("return x * 2", "return x * len(x)", "return x * int(x)"),
    "shared": ("return x + 1", "return x + len(x)", "assert x.sum() > 0\n        return x"),
    "module": (
        "",
        "LIMIT = 3",
        "TABLE = {'part': nn.ReLU}",
        "print(WIDTH)",
        "class Late: pass",
        "nn.Module.extra = 1",
        "torch.manual_seed(3)",
        "import does_not_exist_anywhere",
    ),
    "spread": ("return x * by", "return x / len(x)", "if x.sum() > by:\n        return x\n    return -x"),
    "chosen": ("Part(WIDTH)", "nn.Identity()", "Alone()", "getattr(nn, 'ReLU')()"),
    "alone_class": ("", "scale = 2", "scale = spread(3)", "table = [chosen]", "shared = Shared()"),
    "alone": (
        "return x + 1",
        "return x / len(x)",
        "return spread(x)",
        "if x.sum() > 0:\n            return x\n        return -x",
        "return (x,",
        "return scaled(x)",
        "return x.cuda()",
    ),
    "directive": ("", "# fx: skip", "# fx: trace(8)", "# fx: trace(width=4)", "# nothing"),
    "part_signature": ("width", "width=4", "width: int, bias=True", "width, *, kind=Alone"),
    "part": ("return self.linear(x)", "return self.linear(x) / len(x)", "return x if x.sum() > 0 else self.linear(x)"),
    "decorator": ("", "@torch.no_grad", "@(lambda cls: cls)"),
    "whole_init": (
        "self.part = Part(WIDTH)",
        "self.part = chosen()",
        "self.part = Shared()",
        "self.part = nn.Sequential(Alone(), Nested())",
        "self.part = Part(missing)",
    ),
    "method_decorator": ("", "@torch.no_grad()", "@staticmethod", "@property"),
    "double": ("return x * 2", "return x * len(x)", "return spread(x, by=3)"),
    "whole_signature": ("", ", scale=1", ", mask=None", ", *rest"),
    "whole": (
        "return self.part(x)",
        "return self.double(self.part(x))",
        "y = self.part(x)\n        return y if y.sum() > 0 else -y  # fx: ignore",
        "return self.part(x) / len(x) + int(x)",
    ),
    "nested_kind": ("'Alone'", "1", "lambda: Alone()", "chosen"),
    "inner": ("return value", "return value / len(value)", "return super().training"),
    "nested": ("return inner(x)", "return x", "return spread(inner(x))", "return [inner(x) for _ in range(2)][0]"),
    "base": ("nn.Module", "Alone", "Nested", "Shared"),
    "derived": ("return super().forward(x)", "return x", "return bool(x.sum())"),
}
"""By the name of a gap in a text: what may stand there."""


BODIES = ("alone", "part", "double", "spread", "whole", "inner", "nested", "derived", "scaled", "shared")
"""The gaps that are bodies of functions."""


@dataclass
class RandomEdits:
    """Two files, of which every edit changes one; the same seed makes the same edits."""

    seed: int
    chosen: dict[str, str] = field(default_factory=lambda: {gap: choices[0] for gap, choices in CHOICES.items()})
    blank: dict[str, int] = field(default_factory=dict)
    """How many lines more there are in each gap."""

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    @property
    def texts(self) -> dict[str, str]:
        """By file name, the text of now."""
        filled = {gap: text + "\n    # more" * self.blank.get(gap, 0) for gap, text in self.chosen.items()}
        return {"model.py": MODEL.format(**filled), "helper.py": HELPER.format(**filled)}

    def edit(self) -> str:
        """Put something else into one gap, or add lines to it; return which."""
        gap = self._random.choice(BODIES if self._random.random() < 0.6 else [*CHOICES])
        if gap in BODIES and self._random.random() < 0.2:
            self.blank[gap] = self._random.randrange(3)
        elif gap not in BODIES and self._random.random() < 0.6:
            self.chosen[gap] = CHOICES[gap][0]  # after most of the others, nothing is known for certain
        else:
            self.chosen[gap] = self._random.choice(CHOICES[gap])
        return f"{gap}: {self.chosen[gap]!r} and {self.blank.get(gap, 0)} lines"
