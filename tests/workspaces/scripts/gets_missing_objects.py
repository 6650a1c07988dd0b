"""Objects that a missing package's tables and functions return, and methods of a missing base class."""
# FromTable: traced on a condition
# FromFactory: traced on a condition
# FromFactoryOfOwnModule: unchecked
# MethodOfObject: unchecked
# FactoryFails: failed control-flow
# FromFactoryWithName: traced on a condition
# InSequence: traced on a condition
# CountsResults: unchecked
# Initialized: traced on a condition
# HasFlag: unchecked
# HasMethod: unchecked
# Logs: traced
# Reads: unchecked
# Tokenizes: unchecked
# import: missing-package

from torch import nn
from models_that_are_missing import (
    ACTIVATIONS,
    Pretrained,
    WordTokenizer,
    build_norm,
    checkpointed,
    first_rank_only,
    open_reader,
)

log = first_rank_only(print)


class FromTable(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.act = ACTIVATIONS["gelu"]

    def forward(self, x):
        return self.act(self.layer(x))


class FromFactory(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.norm = build_norm({"type": "LN"}, width)

    def forward(self, x):
        return self.norm(self.layer(x))


class FromFactoryOfOwnModule(nn.Module):
    """What is returned may run the layer, which nothing has looked into."""

    def __init__(self, width=4):
        super().__init__()
        self.layer = checkpointed(FromTable(width))

    def forward(self, x):
        return self.layer(x)


class MethodOfObject(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.norm = build_norm({"type": "LN"}, width)

    def forward(self, x):
        return self.norm.apply_to(x)


class FactoryFails(FromFactory):
    def forward(self, x):
        y = super().forward(x)
        if x.sum() > 0:
            y = y + 1
        return y


class FromFactoryWithName(nn.Module):
    """The function returns the module with the name that it is to be known by."""

    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.norm_name, norm = build_norm({"type": "LN"}, width)
        self.add_module(self.norm_name, norm)

    def forward(self, x):
        return getattr(self, self.norm_name)(self.layer(x))


class InSequence(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), build_norm({"type": "LN"}, width)[1])

    def forward(self, x):
        return self.layers(x)


class CountsResults(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layers = nn.Sequential(*build_norm({"type": "LN"}, width))

    def forward(self, x):
        return self.layers(x)


class Initialized(Pretrained):
    """Its base's method is called for its effect on the weights."""

    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, width)
        self.initialize_weights()

    def forward(self, x):
        return self.layer(x)


class HasFlag(Initialized):
    def forward(self, x):
        return self.layer(x) if self.is_deep else x


class HasMethod(Initialized):
    def forward(self, x):
        return self.layer(self.normalized(x))


class Logs(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        log("building", width)
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return self.layer(x)


class Reads(Logs):
    """Nothing ends this loop, since the reader is missing."""

    def __init__(self, width=4):
        super().__init__(width)
        reader = open_reader()
        while reader.next():
            self.rows = getattr(self, "rows", 0) + 1


class Tokenizes(nn.Module):
    """What is made of a text is computed by no module."""

    def __init__(self):
        super().__init__()
        self.tokenizer = WordTokenizer.from_pretrained("words")
        self.embed = nn.Embedding(100, 4)

    def forward(self, text):
        return self.embed(self.tokenizer(text))
