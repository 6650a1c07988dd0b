"""How a file is imported that can't be imported as it stands: with stand-ins, or its definitions alone."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from pathlib import Path

import pytest

from fx_lsp.agent.messages import Limits, Report
from tests.agent.client import Client, text_at
from tests.agent.conftest import Connect

pytestmark = pytest.mark.asyncio(loop_scope="session")

NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x):
        return self.layer(x)
"""


def noticed(report: Report) -> list[tuple[str, str]]:
    """What the import was short of: each notice's kind and the source that it points to."""
    return [(notice.kind, text_at(notice.chain[-1])) for notice in report.notices]


async def traced(client: Client, text: str, expression: str = "Net()") -> Report:
    return (await client.trace(client.write("net.py", text), expression)).only


@pytest.mark.parametrize(
    "use",
    [
        "import nowhere",
        "import nowhere.below as there\nfrom nowhere import other, more",
        "from nowhere import *",
        "import nowhere\n@nowhere.register(name='net')\nclass Other: pass\nnowhere.cfg['a'].b = 3",
        "import nowhere\nclass Other(nowhere.Base, nowhere.Mixin, config=3): pass",
        "import nowhere\nwith nowhere.scope() as s:\n    for item in s: pass\nx = -s[0] + 2 > s.y ** 2 if s else 3",
        "import nowhere\nfrom typing import Optional\ndef f(x: Optional[nowhere.T] = None) -> nowhere.A | None: ...",
        "import nowhere\nassert not isinstance(3, nowhere.A) and not issubclass(int, nowhere.A)",
        "import nowhere\nn = [1, 2][nowhere.at :], int(nowhere.n), float(nowhere.n), 3 in nowhere.l, len(nowhere.l)",
    ],
)
async def test_a_missing_package_gets_a_stand_in(client: Client, use: str) -> None:
    report = await traced(client, f"{use}\n{NET}")
    assert (report.outcome, report.failures) == ("traced", ())
    assert noticed(report) == [("missing-package", use.split("\n")[0])]


@pytest.mark.parametrize("package", ["torch.fx", "fxcore"])
async def test_what_an_attempt_wrapped_and_did_not_define_is_forgotten(client: Client, package: str) -> None:
    wrapped = f"""
import {package}
{package}.wrap("scaled")
import nowhere

def scaled(x):
    return x if x.sum() > 0 else -x

def model(x):
    return scaled(x)
"""
    assert (await traced(client, wrapped, "model")).outcome == "traced"


UNKNOWN = {
    "a function called on a traced value": "def model(x):\n    return nowhere.f(x)",
    "a base that has the forward": "class A(nowhere.Module):\n    pass",
    "a base that has something": """
class A(nowhere.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, self.width)

    def forward(self, x):
        return self.layer(x)
""",
    "a base that has all the parts": "class A(nowhere.Module):\n    def forward(self, x):\n        return x",
    "a base whose forward is called": """
class A(nowhere.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return super().forward(self.layer(x))
""",
    "a decorator on forward": "class A(Net):\n    @nowhere.checked\n    def forward(self, x):\n        return x",
    "a function that forward is passed to": """
class A(Net):
    def forward(self, x):
        return x
    forward = nowhere.changed(forward)
""",
    "a decorator on a forward that fails": """
class A(Net):
    @nowhere.auto_fp16()
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x
""",
    "what a context manager returns": """
class A(Net):
    def forward(self, x):
        with nowhere.scaled(x) as scale:
            return self.layer(x) + scale
""",
    "a failure within a context manager": """
class A(Net):
    def forward(self, x):
        with nowhere.timed("net"):
            return x if x.sum() > 0 else -x
""",
    "a decorator that writes the constructor": """
@nowhere.define(eq=False)
class A(Net):
    width: int = nowhere.field(default=3)

    def __post_init__(self):
        super().__init__(self.width)

    def forward(self, x):
        return super().forward(x)
""",
    "a size": "class A(Net):\n    def __init__(self):\n        super().__init__(nowhere.width)",
    "a size that is returned": "class A(Net):\n    def __init__(self):\n        super().__init__(nowhere.width())",
    "a switch": "class A(Net):\n    def __init__(self):\n        super().__init__(3 if nowhere.small else 4)",
    "a value that is compared": """
class A(Net):
    def __init__(self):
        super().__init__(3 if nowhere.size() == "small" else 4)
""",
    "a size that a method returns": """
class A(Net):
    def __init__(self):
        super().__init__(nowhere.Size.get())
""",
    "a name that decides": """
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_name, norm = nowhere.build_norm({"type": "BN"}, 3)
        self.add_module(self.norm_name, norm)
        self.layer = nn.Linear(3, 4 if self.norm_name == "bn" else 1)

    def forward(self, x):
        return self.layer(getattr(self, self.norm_name)(x))
""",
    "a name that is written into a text": """
class A(nn.Module):
    def __init__(self):
        super().__init__()
        name, norm = nowhere.build_norm({"type": "BN"}, 3)
        self.add_module(name, norm)
        self.layer = nn.Linear(3, 4 if f"{name}".startswith("bn") else 1)

    def forward(self, x):
        return self.layer(x)
""",
    "a name that decides in a subclass": """
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_name, norm = nowhere.build_norm({"type": "BN"}, 3)
        self.add_module(self.norm_name, norm)

class A(Base):
    def forward(self, x):
        if self.norm_name.startswith("bn"):
            return getattr(self, self.norm_name)(x)
        return x if x.sum() > 0 else -x
""",
    "an attribute of another name": """
class A(nn.Module):
    def __init__(self):
        super().__init__()
        name, norm = nowhere.build_norm({"type": "BN"}, 3)
        self.add_module(name, norm)

    def forward(self, x):
        return self.bn1(x)
""",
    "the names of submodules": """
class A(nn.Module):
    def __init__(self):
        super().__init__()
        name, norm = nowhere.build_norm({"type": "BN"}, 3)
        self.add_module(name, norm)

    def forward(self, x):
        for name, part in self.named_children():
            if name != "bn":
                raise ValueError(name)
            x = part(x)
        return x
""",
    "the parts of a module that a function returns": """
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nowhere.build_layers(3))

    def forward(self, x):
        return self.layers[1](self.layers[0](x))
""",
    "a size among several values": """
class A(Net):
    def __init__(self):
        width, _ = nowhere.sizes()
        super().__init__(width)
""",
    "an argument of torch": """
class A(Net):
    def __init__(self):
        super().__init__()
        self.scale = torch.log(nowhere.scale())
""",
    "an attribute that a method may have set": """
class A(Net):
    def __init__(self):
        cfg = nowhere.config.create()
        cfg.width = 3
        cfg.merge_from_file("net.yaml")
        super().__init__(cfg.width)
""",
    "an attribute of a module": """
class A(Net):
    def __init__(self):
        super().__init__(nowhere.Block(3).width)
""",
    "the items that a module returns": """
class A(Net):
    def __init__(self):
        super().__init__()
        self.block = nowhere.Block(3)

    def forward(self, x):
        for part in self.block(x):
            x = x + part
        return x
""",
    "a size that is counted in a missing module's weight": """
class A(Net):
    def __init__(self):
        super().__init__()
        self.part = nowhere.Part(3, 4)
        self.layer = nn.Linear(nn.init._calculate_fan_in_and_fan_out(self.part.weight)[0], 3)
""",
    "whether a missing module has parameters": """
class A(Net):
    def __init__(self):
        super().__init__()
        self.is_plain = not isinstance(nowhere.Part(3, 4).weight, nn.Parameter)

    def forward(self, x):
        return (x if x.sum() > 0 else -x) if self.is_plain else x
""",
    "an argument": "class A(Net):\n    def forward(self, x):\n        return x.new_tensor([x, nowhere.rows])",
    "an imported one": "from nowhere import rows\nclass A(Net):\n    def forward(self, x):\n        return x.add(rows)",
    "a value": "width = nowhere.width\nclass A(Net):\n    def forward(self, x):\n        return x.view(width)",
}
"""What nothing is known of where the package ``nowhere`` is missing."""


@pytest.mark.parametrize("definition", UNKNOWN.values(), ids=UNKNOWN)
async def test_what_a_stand_in_decides_is_not_known(client: Client, definition: str) -> None:
    expression = "A()" if "class A" in definition else "model"
    report = await traced(client, f"import torch\nimport nowhere\n{NET}\n{definition}\n", expression)
    assert (report.outcome, report.failures) == ("unchecked", ())
    assert "`nowhere" in report.reason or "missing package" in report.reason


KNOWN = {
    "a class decorator": ("@nowhere.register()\nclass A(Net): pass", ""),
    "a class decorator without arguments": ("@nowhere.register\nclass A(Net): pass", ""),
    "a class decorator of a registry that the program makes": (
        "MODELS = nowhere.Registry('models')\n@MODELS.register_module()\nclass A(Net): pass",
        "",
    ),
    "a class decorator of a registry of the program's own class": (
        """
class Builder(nowhere.Registry):
    pass

MODELS = Builder('models')
@MODELS.register_module()
class A(Net): pass
""",
        "",
    ),
    "a class that a registry is given": ("class A(Net): pass\nA = nowhere.models.register_module(A)", ""),
    "a decorator on a method that is not called": (
        "class A(Net):\n    @nowhere.cached\n    def extra(self): pass",
        "",
    ),
    "a context manager": (
        """
class A(Net):
    def forward(self, x):
        with nowhere.timed("net") as timer:
            return self.layer(x)
""",
        "if `nowhere.timed()` (missing) does not change what the code that it wraps does",
    ),
    "a class of context managers": (
        """
class A(Net):
    def forward(self, x):
        with nowhere.zero.GatheredParameters(modifier_rank=0):
            return self.layer(x)
""",
        "if `nowhere.zero.GatheredParameters()` (missing) does not change what the code that it wraps does",
    ),
    "a function called for its effect": (
        "class A(Net):\n    def __init__(self):\n        super().__init__()\n        nowhere.init_(self.layer.weight)",
        "",
    ),
    "a missing module whose weights are initialized": (
        """
import torch

class A(Net):
    def __init__(self):
        super().__init__()
        self.conv = nowhere.Conv2d(3, 3)
        nn.init.xavier_uniform_(self.conv.weight, gain=2)
        nn.init.kaiming_normal_(self.conv.weight, mode="fan_out")
        torch.nn.init.trunc_normal_(self.conv.weight, std=0.02)
        self.conv.weight.data.mul_(0.5)
        with torch.no_grad():
            self.conv.weight.copy_(self.layer.weight[:1, :1])
        if self.conv.bias is not None:
            nn.init.zeros_(self.conv.bias)

    def forward(self, x):
        return self.conv(self.layer(x))
""",
        "up to `nowhere.Conv2d` (missing, so not looked into)",
    ),
    "a method called for its effect": (
        """
class A(Net):
    def __init__(self):
        super().__init__()
        nowhere.get_logger("net").info("made")

    def forward(self, x):
        nowhere.logger.debug("called")
        return self.layer(x)
""",
        "",
    ),
    "an attribute that the program has set": (
        """
class A(Net):
    def __init__(self):
        cfg = nowhere.Config.create()
        cfg.width = 5
        super().__init__(cfg.width)
""",
        "",
    ),
    "a value that only methods use": (
        """
class A(Net):
    def __init__(self):
        super().__init__()
        self.tokenizer = nowhere.Tokenizer.from_pretrained("small")
        self.tokenizer.add_special_tokens({"bos_token": "[DEC]"})
""",
        "",
    ),
    "a base of settings": (
        """
import dataclasses

@dataclasses.dataclass
class NetConfig(nowhere.Settings):
    width: int = 4

class A(Net):
    def __init__(self):
        self.config = NetConfig()
        super().__init__(self.config.width)
""",
        "",
    ),
    "a base that does nothing": (
        """
class A(nowhere.Module):
    def __init__(self):
        super().__init__(init_cfg=None)
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x)
""",
        "if `nowhere.Module` (missing) does no more than nn.Module",
    ),
    "a base of a module without parts": (
        """
class A(nowhere.BaseModule):
    def __init__(self, scale=2):
        super().__init__(init_cfg=None)
        self.scale = scale

    def forward(self, x):
        return x * self.scale
""",
        "if `nowhere.BaseModule` (missing) does no more than nn.Module",
    ),
    "a parameter and a buffer beside a base": (
        """
import torch

class A(nowhere.BaseModule):
    def __init__(self):
        super().__init__(init_cfg=None)
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("shift", torch.ones(3))
        self.add_module("layer", nn.Linear(3, 3))

    def forward(self, x):
        return self.layer(x) * self.scale + self.shift
""",
        "if `nowhere.BaseModule` (missing) does no more than nn.Module",
    ),
    "the device of a base": (
        """
class A(nowhere.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x.to(self.device, self.dtype))
""",
        "if `nowhere.Module` (missing) does no more than nn.Module",
    ),
    "a submodule": (
        """
class A(Net):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(nowhere.Block(3), nn.ReLU())

    def forward(self, x):
        return self.blocks(x)
""",
        "up to `nowhere.Block` (missing, so not looked into)",
    ),
    "a submodule that a function returns with its name": (
        """
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1_name, norm1 = nowhere.build_norm({"type": "BN"}, 3, postfix=1)
        self.norm2_name, norm2 = nowhere.build_norm({"type": "BN"}, 3, postfix=2)
        self.add_module(self.norm1_name, norm1)
        self.add_module(self.norm2_name, norm2)

    @property
    def norm1(self):
        return getattr(self, self.norm1_name)

    def forward(self, x):
        return getattr(self, self.norm2_name)(self.norm1(x))
""",
        "up to `nowhere.build_norm()[1]` (missing, so not looked into)",
    ),
    "a submodule whose copies are known by the same name": (
        """
import copy

class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.key, norm = nowhere.build_norm({"type": "BN"}, 3)
        block = nn.Module()
        block.add_module(self.key, norm)
        self.blocks = nn.ModuleList([copy.deepcopy(block) for _ in range(2)])

    def forward(self, x):
        for block in self.blocks:
            x = getattr(block, self.key)(x)
        return x
""",
        "up to `nowhere.build_norm()[1]` (missing, so not looked into)",
    ),
    "a submodule in a list, which a function returns": (
        """
class A(Net):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(nowhere.build_conv(3), nowhere.build_norm("BN")[1])

    def forward(self, x):
        return self.blocks(x)
""",
        "up to `nowhere.build_conv()`, `nowhere.build_norm()[1]` (missing, so not looked into)",
    ),
}
"""What can be traced without the package, and under which condition."""


@pytest.mark.parametrize(("definition", "condition"), KNOWN.values(), ids=KNOWN)
async def test_what_no_stand_in_decides_is_traced(client: Client, definition: str, condition: str) -> None:
    report = await traced(client, f"import nowhere\n{NET}\n{definition}\n", "A()")
    assert (report.outcome, report.reason) == ("traced", condition)


async def test_a_missing_package_is_not_found_when_the_program_asks(client: Client) -> None:
    asks = "import importlib.util\nimport nowhere\nhas_it = importlib.util.find_spec('nowhere') is not None\n"
    report = await traced(client, f"{asks}\ndef model(x):\n    return nowhere.f(x) if has_it else x.cos()\n", "model")
    assert (report.outcome, "cos" in report.code) == ("traced", True)


async def test_a_failure_beside_a_missing_module_is_reported(client: Client) -> None:
    text = """
import nowhere
from torch import nn

class A(nowhere.Base):
    def __init__(self):
        super().__init__()
        self.block = nowhere.Block(3)

    def forward(self, x):
        x = self.block(x)
        if x.sum() > 0:
            return x
        return -x
"""
    report = await traced(client, text, "A()")
    assert (report.outcome, [failure.kind for failure in report.failures]) == ("failed", ["control-flow"])


NAMELESS = """
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer(3)

    def forward(self, x):
        return shrunk(self.layer(x))
"""
"""A class that uses two names that its file does not define."""


async def test_a_name_may_come_from_a_missing_package_of_which_everything_is_imported(client: Client) -> None:
    report = await traced(client, f"from nowhere import *\n{NET}\n{NAMELESS}", "A()")
    assert (report.outcome, report.reason) == ("unchecked", "it calls `nowhere.shrunk`, which is missing")
    client.write("others.py", "from nowhere import *\n")
    report = await traced(client, f"from others import *\n{NET}\n{NAMELESS}", "A()")
    assert (report.outcome, report.reason) == ("unchecked", "it depends on `nowhere`, which is missing")


async def test_an_undefined_name_is_a_failure_whatever_is_missing(client: Client) -> None:
    text = f"import nowhere\n{NET}\nclass A(nowhere.Base):\n    def forward(self, x):\n"
    report = await traced(client, f"{text}        return fused(nowhere.split(x))\n", "A()")
    assert report.outcome == "unchecked"  # there is nothing in it but its base
    text += "        return fused(nowhere.split(self.layer(x)))\n    def __init__(self):\n"
    text += "        super().__init__()\n        self.layer = nn.Linear(3, 3)\n"
    report = await traced(client, text, "A()")
    assert (report.outcome, [failure.kind for failure in report.failures]) == ("failed", ["exception"])


async def test_what_an_installed_package_has_moved_is_found(client: Client) -> None:
    text = f"from torch.nn.linear import Identity, Linear\n{NET}\nclass A(Net):\n    def __init__(self):\n"
    text += "        super().__init__()\n        self.layer = Linear(3, 4).requires_grad_(False)\n"
    report = await traced(client, text + "        assert self.layer.out_features == 4\n", "A()")
    assert (report.outcome, report.reason) == ("traced", "")
    assert noticed(report) == [("import", "from torch.nn.linear import Identity, Linear")]


async def test_a_guarded_import_takes_its_fallback_without_the_package(client: Client) -> None:
    text = "try:\n    import nowhere\nexcept ImportError:\n    nowhere = None\n"
    report = await traced(client, f"{text}\ndef model(x):\n    return x if nowhere is None else nowhere(x)\n", "model")
    assert (report.outcome, report.notices) == ("traced", ())


@pytest.mark.skipif(sys.version_info < (3, 11), reason="only later versions tell what a handler covers")
async def test_a_folder_without_an_init_file_is_imported_again_with_the_packages_around_it(client: Client) -> None:
    client.write("pkg/__init__.py", "")
    client.write(
        "pkg/nets/__init__.py", "from .inner.ops import f\ntry:\n    import nowhere\nexcept OSError:\n    pass\n"
    )
    client.write("pkg/nets/inner/ops.py", "def f(x):\n    return x.cos()\n")
    text = "from .ops import f\nfrom pkg.nets.inner.other import g\n\ndef model(x):\n    return g(f(x))\n"
    client.write("pkg/nets/inner/other.py", "def g(x):\n    return x.sin()\n")
    report = (await client.trace(client.write("pkg/nets/inner/net.py", text), "model")).only
    assert (report.outcome, noticed(report)) == ("traced", [("missing-package", "import nowhere")])


async def test_missing_packages_do_not_have_all_modules_imported_again(client: Client) -> None:
    client.write("first.py", "import torch\ntorch.tally = getattr(torch, 'tally', 0) + 1\n")
    client.write("second.py", "import nowhere.near\nfrom nothing import much\n")
    file = client.write(
        "net.py",
        """
        import first
        import second
        import torch
        from naught import none

        def model(x):
            return x + torch.tally
        """,
    )
    report = (await client.trace(file, "model")).only
    assert "x + 1" in report.code
    assert noticed(report) == [
        ("missing-package", "import nowhere.near"),
        ("missing-package", "from nothing import much"),
        ("missing-package", "from naught import none"),
    ]


async def test_a_module_that_is_loaded_on_first_use_is_not_loaded_by_the_next_attempt(client: Client) -> None:
    client.write(
        "lazy.py",
        """
        import sys
        from types import ModuleType

        class Lazy(ModuleType):
            def __getattr__(self, name):
                raise ImportError(f"{name} needs a package")

        sys.modules["lazy.kernels"] = Lazy("lazy.kernels")
        """,
    )
    text = "import lazy\nfrom torch.nn import Convolution\n\ndef model(x):\n    return x.cos()\n"
    report = await traced(client, text, "model")
    assert noticed(report) == [("import", "from torch.nn import Convolution")]


async def test_a_guard_around_another_module_takes_its_fallback_without_the_package(client: Client) -> None:
    client.write("kernels.py", "import nowhere\n\ndef f(x):\n    return len(x)\n")
    text = """
    try:
        from kernels import f
    except ImportError:
        def f(x):
            return x.cos()

    def model(x):
        return f(x)
    """
    report = await traced(client, textwrap.dedent(text), "model")
    assert ("cos" in report.code, report.notices) == (True, ())


@pytest.mark.parametrize("order", [("asks", "needs"), ("needs", "asks")])
async def test_a_package_is_there_for_all_modules_or_for_none(client: Client, order: tuple[str, str]) -> None:
    client.write("asks.py", "try:\n    import nowhere\nexcept ImportError:\n    nowhere = None\n")
    client.write("needs.py", "import nowhere\n")
    text = "import {}\nimport {}\n\ndef model(x):\n    return x.cos() if asks.nowhere is None else x.sin()\n"
    assert "sin" in (await traced(client, text.format(*order), "model")).code


async def test_an_installed_package_that_lacks_a_name_or_a_module(client: Client) -> None:
    text = "from torch.nn import Convolution\nimport torch.nn.blocks\n"
    report = await traced(client, text + NET)
    assert report.outcome == "traced"
    lines = text.splitlines()
    assert noticed(report) == [("import", lines[0]), ("import", lines[1])]
    assert (await traced(client, f"{text}{NET}\ndef f(x):\n    return Convolution(x)\n", "f")).outcome == "unchecked"


async def test_what_an_installed_package_had_in_an_earlier_version_may_be_known(client: Client, tmp_path: Path) -> None:
    (tmp_path / "mmcv.py").write_text("__version__ = '2.0'\n")
    text = f"import sys\nsys.path.append({str(tmp_path)!r})\nfrom mmcv import to_2tuple\n"
    model = "def model(x):\n    return x.repeat(to_2tuple(3))\n"
    assert "repeat((3, 3))" in (await traced(client, text + model, "model")).code


@pytest.mark.skipif(importlib.util.find_spec("tensorboard") is not None, reason="TensorBoard is installed")
async def test_a_module_that_fails_leaves_the_rest_of_its_package(client: Client) -> None:
    """Without TensorBoard, `torch.utils.tensorboard` can't be imported; torch imports other modules later."""
    text = NET.replace("1)", "1)\n        torch.nn.init.orthogonal_(self.layer.weight)")
    report = await traced(client, f"import torch\nfrom torch.utils.tensorboard import SummaryWriter\n{text}")
    assert set(noticed(report)) == {("missing-package", "from torch.utils.tensorboard import SummaryWriter")}
    assert (report.outcome, report.failures) == ("traced", ())


async def test_a_module_missing_from_the_workspace_is_an_error(client: Client) -> None:
    client.write("blocks.py", "class Block: pass\n")
    report = await traced(client, f"from blocks import Blok\n{NET}")
    assert report.outcome == "traced"
    assert noticed(report) == [("import", "from blocks import Blok")]
    assert (
        await traced(client, f"from blocks import Blok\n{NET}\ndef f(x):\n    return Blok(x)", "f")
    ).outcome == "unchecked"


@pytest.mark.parametrize(
    ("work", "kind"),
    [
        ("while True:\n    pass", "definitions-only"),
        ("import sys\nsys.exit(3)", "definitions-only"),
        ("name = input('who? ')", "definitions-only"),
        ("for i in range(3):\n    loss = Net()(data).sum()\n    loss.backward()", "definitions-only"),
        ("data = load(root='data', download=True)", "definitions-only"),
        ("raise SystemExit", "definitions-only"),
        ("data = open('no such file').read()", "import"),
    ],
)
async def test_a_script_is_traced_without_its_work(client: Client, work: str, kind: str) -> None:
    after = "\nclass After(Net):\n    pass\n"
    report = await traced(client, f"{NET}\n{work}\n{after}", "After()")
    assert (report.outcome, report.failures) == ("traced", ())
    assert [found for found, _ in noticed(report)] == [kind]


async def test_names_left_out_of_a_script_are_undefined(client: Client) -> None:
    script = f"{NET}\nfor width in (3, 4):\n    Net(width)(data).backward()\n\ndef f(x):\n    return x.view(width)\n"
    report = await traced(client, script, "f")
    assert (report.outcome, report.reason) == ("unchecked", "it depends on `width`, which is missing")


async def test_a_command_line_is_empty(client: Client) -> None:
    script = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--width", type=int, default=5)
args = parser.parse_args()
"""
    report = await traced(client, script + NET, "Net(args.width)")
    assert (report.outcome, report.notices) == ("traced", ())
    assert (await traced(client, script + NET, "Net(args.data)")).outcome == "unchecked"


async def test_a_module_of_a_surrounding_folder_is_found(client: Client) -> None:
    client.write("project/models/blocks.py", "def f(x):\n    return x.tan()\n")
    file = client.write("project/tools/train.py", "from models.blocks import f\n\ndef model(x):\n    return f(x)\n")
    report = (await client.trace(file, "model")).only
    assert (report.outcome, report.notices) == ("traced", ())


async def test_a_folder_of_folders_above_the_file_is_a_package(client: Client) -> None:
    client.write("project/src/nets/blocks.py", "def f(x):\n    return x.tan()\n")
    text = "from src.nets.blocks import f\n\ndef model(x):\n    return f(x)\n"
    report = (await client.trace(client.write("project/src/tasks/train.py", text), "model")).only
    assert (report.outcome, report.notices) == ("traced", ())


async def test_a_folder_of_data_is_not_the_package_of_its_name(client: Client) -> None:
    client.write("project/nowhere/first/convert.py", "")
    text = "from nowhere import load\n\ndef model(x):\n    return x + 1\n"
    report = (await client.trace(client.write("project/tools/train.py", text), "model")).only
    assert (report.outcome, [notice.kind for notice in report.notices]) == ("traced", ["missing-package"])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python accepts such defaults")
async def test_a_dataclass_may_have_a_default_that_earlier_versions_of_python_accepted(client: Client) -> None:
    text = """
from dataclasses import dataclass, field

@dataclass
class Size:
    width: int = 3

@dataclass(frozen=True)
class Sizes:
    outer: Size = Size()
    inner: Size = field(default=Size(4))
"""
    report = await traced(client, f"{text}{NET}", "Net(Sizes().inner.width)")
    assert (report.outcome, [kind for kind, _ in noticed(report)]) == ("traced", ["import"])


async def test_a_relative_path_may_mean_a_folder_beside_the_file(client: Client) -> None:
    client.write("model/parts/sizes.py", "WIDTH = 3\n")
    text = f"import sys\n\nsys.path.append('parts')\nfrom sizes import WIDTH\n{NET}"
    report = (await client.trace(client.write("model/net.py", text), "Net(WIDTH)")).only
    assert (report.outcome, report.notices) == ("traced", ())


async def test_a_relative_path_may_lead_upwards_but_not_out_of_the_workspace(client: Client) -> None:
    sizes = client.write("parts/sizes.py", "def half(x):\n    return x if x.sum() > 0 else x / 2\n")
    client.write("../outside/others.py", "WIDTH = 3\n")
    text = f"""
import pathlib
import sys

sys.path += [pathlib.Path("parts"), 3, "../parts", "../../outside"]
import others
from sizes import half
{NET}
"""
    report = (await client.trace(client.write("model/net.py", text), "half")).only
    assert report.failures[0].chain[-1].span.file == sizes
    assert [kind for kind, _ in noticed(report)] == ["missing-package"]


async def test_a_module_of_the_working_directory_is_reported_where_it_is(connect: Connect) -> None:
    client = connect()
    part = client.write("lib/zoo/part.py", "def half(x):\n    return x / len(x)\n")
    client.write("lib/zoo/__init__.py", "")
    text = "import sys\nsys.path.insert(0, './lib')\nfrom zoo.part import half\n\ndef model(x):\n    return half(x)\n"
    file = client.write("net.py", text)
    report = (await client.trace(file, "model")).only
    assert [step.span.file for step in report.failures[0].chain] == [file, part]
    overlay = {part: "def half(x):\n    return x.sin()\n"}
    assert "sin" in (await client.trace(file, "model", overlays=overlay)).only.code


async def test_modules_below_a_failing_package_are_still_imported(client: Client) -> None:
    client.write("zoo/__init__.py", "import os\nos.environ['NO_SUCH_VARIABLE']\n")
    client.write("zoo/inner.py", "def f(x):\n    return x.tan()\n")
    file = client.write("zoo/nets.py", "from .inner import f\n\ndef model(x):\n    return f(x)\n")
    report = (await client.trace(file, "model")).only
    assert report.outcome == "traced"
    assert noticed(report) == [("import", "os.environ['NO_SUCH_VARIABLE']")]


async def test_of_an_imported_module_that_fails_only_what_fails_is_missing(client: Client) -> None:
    client.write("parts.py", f"data = open('no such file').read()\n{NET}\nclass Other(Net):\n    width = len(data)\n")
    file = client.write("net.py", "from parts import Net, Other\n\nclass A(Net):\n    pass\n")
    report = (await client.trace(file, "A()")).only
    assert (report.outcome, report.failures, "layer" in report.code) == ("traced", (), True)
    assert noticed(report) == [("import", "open('no such file')")]


async def test_a_failing_module_of_a_package_still_does_all_else(client: Client) -> None:
    client.write("pkg/__init__.py", "from . import net")
    text = f"{NET}\nwidths = []\nraise_error()\nfor width in (3, 4):\n    widths.append(width)\n"
    report = (await client.trace(client.write("pkg/net.py", text), "Net(widths[-1])")).only
    assert (report.outcome, report.failures) == ("traced", ())
    assert noticed(report) == [("import", "raise_error")]


async def test_a_package_whose_fallback_fails_gets_a_stand_in(client: Client) -> None:
    client.write("pkg/__init__.py", "from .net import Net")
    fallback = "try:\n    from nowhere import a, b\nexcept ImportError:\n    a, b = None\n"
    file = client.write(
        "pkg/net.py", f"{fallback}{NET}\nclass A(Net):\n    def forward(self, x):\n        return a(x)\n"
    )
    report = (await client.trace(file, "Net()")).only
    assert (report.outcome, report.failures) == ("traced", ())
    assert noticed(report) == [("missing-package", "from nowhere import a, b")]
    report = (await client.trace(file, "A()")).only
    assert (report.outcome, report.reason) == ("unchecked", "it calls `nowhere.a`, which is missing")


LACKING = {
    "a module that is generated": ("version.py", "from .version import __version__"),
    "a compiled extension": ("", "from . import _extension"),
    "a compiled extension that a circular import asks for": ("", "from pkg import _extension"),
}


@pytest.mark.parametrize(("absent", "statement"), LACKING.values(), ids=LACKING)
async def test_a_module_that_the_workspaces_own_package_lacks_gets_a_stand_in(
    client: Client, absent: str, statement: str
) -> None:
    client.write("pkg/__init__.py", "from .net import Net")
    file = client.write("pkg/net.py", f"{statement}\n{NET}")
    report = (await client.trace(file, "Net()")).only
    assert (report.outcome, report.failures) == ("traced", ())
    assert noticed(report) == [("import", statement)]


async def test_a_name_that_the_workspaces_own_module_lacks_gets_no_stand_in(client: Client) -> None:
    client.write("pkg/__init__.py", "from .net import Net")
    client.write("pkg/parts.py", "")
    report = (await client.trace(client.write("pkg/net.py", f"from .parts import width\n{NET}"), "Net()")).only
    assert report.outcome == "traced"
    assert noticed(report) == [("import", "from .parts import width")]


async def test_a_script_whose_imports_fail_one_by_one_gets_stand_ins(client: Client) -> None:
    client.write("parts.py", f"import nowhere\n{NET}")
    script = client.write("train.py", "import elsewhere\nfrom parts import Net\nnet = Net()\nnet.fit()\n")
    report = (await client.trace(script, "Net()")).only
    assert report.outcome == "traced"
    assert {kind for kind, _ in noticed(report)} == {"missing-package", "definitions-only"}


async def test_an_imported_file_that_works_for_too_long_is_only_defined(client: Client) -> None:
    client.write("parts.py", f"{NET}\ndef train():\n    while True:\n        sum(range(100))\n\ntrain()\n")
    file = client.write("net.py", "from parts import Net\nnet = Net()\n")
    report = (await client.trace(file, "Net()", limits=Limits(seconds=2))).only
    assert report.outcome == "traced"
    assert noticed(report) == [("definitions-only", "train()")]
    assert report.notices[0].error == "the import took longer than 2 seconds"


SLOW = """\
import time

end = time.process_time() + {seconds}
while time.process_time() < end:
    pass
width = 4
"""


async def test_an_installed_package_may_take_longer_to_import(client: Client, tmp_path: Path) -> None:
    (tmp_path / "installed_elsewhere.py").write_text(SLOW.format(seconds=3))
    path = f"import sys\nsys.path.append({str(tmp_path)!r})\n"
    file = client.write("net.py", f"{path}from installed_elsewhere import width\n{NET}")
    report = (await client.trace(file, "Net()", limits=Limits(seconds=1))).only
    assert (report.outcome, noticed(report)) == ("traced", [])


async def test_a_package_that_is_imported_while_a_model_is_built_may_take_longer(
    client: Client, tmp_path: Path
) -> None:
    (tmp_path / "installed_elsewhere.py").write_text(SLOW.format(seconds=3))
    path = f"import sys\nsys.path.append({str(tmp_path)!r})\n"
    late = "class Late(Net):\n    def __init__(self):\n        super().__init__()\n        import installed_elsewhere\n"
    file = client.write("net.py", f"{path}{NET}\n{late}")
    report = (await client.trace(file, "Late()", limits=Limits(seconds=1))).only
    assert report.outcome == "traced"


async def test_a_package_that_never_ends_ends_the_import(client: Client, tmp_path: Path) -> None:
    (tmp_path / "installed_elsewhere.py").write_text(SLOW.format(seconds=1000))
    path = f"import sys\nsys.path.append({str(tmp_path)!r})\n"
    file = client.write("net.py", f"{path}from installed_elsewhere import width\n{NET}")
    report = (await client.trace(file, "Net()", limits=Limits(seconds=0.5))).only
    assert report.outcome == "timed-out"
    assert report.failures[0].error == "the import took longer than 0.5 seconds"


async def test_a_call_that_imports_for_too_long_is_left_out(client: Client, tmp_path: Path) -> None:
    (tmp_path / "installed_elsewhere.py").write_text(SLOW.format(seconds=1000))
    client.write("parts.py", f"import sys\nsys.path.append({str(tmp_path)!r})\nimport installed_elsewhere\n")
    file = client.write("net.py", f"{NET}\ndef load():\n    import parts\n\nload()\nnet = Net()\n")
    report = (await client.trace(file, "Net()", limits=Limits(seconds=0.5))).only
    assert (report.outcome, noticed(report)) == ("traced", [("definitions-only", "load()")])


async def test_a_definition_that_takes_too_long_is_left_out(client: Client) -> None:
    client.write("parts.py", "def train():\n    while True:\n        sum(range(100))\n\nwidth = train()\n")
    wide = NET.replace("Net", "Wide").replace("return", "return width *")
    file = client.write("net.py", f"from parts import width\n{NET}\n{wide}")
    reports = [*(await client.trace(file, "Net()", "Wide()", limits=Limits(seconds=2))).reports.values()]
    assert [report.outcome for report in reports] == ["traced", "unchecked"]
    assert noticed(reports[0]) == [("definitions-only", "train()")]


async def test_of_two_definitions_that_take_too_long_both_end_the_import(client: Client) -> None:
    text = "def train():\n    while True:\n        sum(range(100))\n\nwidth = train()\ndepth = train()\n"
    report = (await client.trace(client.write("net.py", text + NET), "Net()", limits=Limits(seconds=2))).only
    assert report.outcome == "timed-out"
