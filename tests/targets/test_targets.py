"""What is found in a file's text, and whether what is found can be built in the imported file."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fx_lsp.agent.messages import Recipe, Snippet, Target
from fx_lsp.documents.excerpt import text_at
from fx_lsp.documents.positions import LineIndex
from fx_lsp.targets import find_targets

NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, n=3):
        super().__init__()
        self.n = n
    def forward(self, x):
        return x + self.n
"""


def found(source: str) -> tuple[Target, ...]:
    targets = find_targets("/w/file.py", source)
    assert targets is not None
    return targets


def explicit(source: str) -> list[Target]:
    return [target for target in found(source) if target.intent == "explicit"]


def only(source: str) -> Target:
    (target,) = explicit(source)
    return target


def titles(source: str) -> list[str]:
    return [target.title for target in found(source)]


def shown(target: Target, source: str) -> str:
    return text_at(LineIndex(source), target.span)


def built(target: Target, source: str) -> tuple[Any, Any, Any]:
    """What the recipe yields in the namespace that importing the file leaves: root, concrete_args, tracer."""
    namespace: dict[str, Any] = {"__name__": "file"}
    exec(source, namespace)
    for statement in target.recipe.setup:
        exec(statement.source, namespace)

    def value(snippet: Snippet | None) -> Any:
        return eval(snippet.source, namespace) if snippet else None

    return value(target.recipe.root), value(target.recipe.concrete_args), value(target.recipe.tracer)


class TestCalls:
    @pytest.mark.parametrize(
        ("imports", "call"),
        [
            ("import torch.fx", "torch.fx.symbolic_trace(f)"),
            ("import torch.fx as X", "X.symbolic_trace(f)"),
            ("from torch import fx", "fx.symbolic_trace(f)"),
            ("from torch import fx as X", "X.symbolic_trace(f)"),
            ("from torch.fx import symbolic_trace", "symbolic_trace(f)"),
            ("from torch.fx import symbolic_trace as st", "st(f)"),
            ("from torch.fx import *", "symbolic_trace(f)"),
            ("from torch.fx import *", "Tracer().trace(f)"),
            ("import torch.fx", "torch.fx.Tracer().trace(f)"),
            ("import torch.fx", "torch.fx.GraphModule(f, torch.fx.Tracer().trace(f))"),
            ("from torch import fx", "fx.symbolic_trace(root=f)"),
            ("from torch.fx import Tracer as T", "T().trace(f)"),
            ("import fxcore", "fxcore.symbolic_trace(f)"),
            ("from fxcore import Tracer", "Tracer().trace(root=f)"),
        ],
    )
    def test_is_found_through_every_import(self, imports: str, call: str) -> None:
        target = only(f"{imports}\ndef f(x):\n    return x\n{call}\n")
        assert target.recipe.root == Snippet("f", 4)
        assert target.symbol == "f"
        assert target.recipe.tracer is None

    @pytest.mark.parametrize(
        "line",
        [
            "symbolic_trace(f)",
            "tracer.trace(f)",
            "from other import symbolic_trace; symbolic_trace(f)",
            "import torch.fx; torch.fx.symbolic_trace()",
            "import torch.fx; torch.fx.symbolic_trace(*args)",
            "import torch.fx; torch.fx.Tracer",
            "import torch; torch.jit.trace(f)",
        ],
    )
    def test_other_calls_are_not_targets(self, line: str) -> None:
        assert explicit(f"def f(x):\n    return x\n{line}\n") == []

    def test_span_title_and_concrete_args(self) -> None:
        source = NET + "gm = torch.fx.symbolic_trace(\n    Net(4), concrete_args={\n        'é': 1})\n"
        target = only(source)
        assert shown(target, source) == "torch.fx.symbolic_trace(\n    Net(4), concrete_args={\n        'é': 1})"
        assert target.title == "torch.fx.symbolic_trace(Net(4), concrete_args={'é': 1})"
        assert target.symbol == "Net"
        assert target.recipe.root == Snippet("Net(4)", 11)
        assert target.recipe.concrete_args == Snippet("{\n        'é': 1}", 11)

    def test_columns_are_utf8_bytes(self) -> None:
        source = "from torch.fx import symbolic_trace as st\nf = abs\n'é😋'; st(f)\n"
        target = only(source)
        assert (target.span.line, target.span.col, target.span.end_col) == (3, 10, 15)

    def test_a_root_that_needs_the_brackets_around_it(self) -> None:
        source = NET + "def a():\n    torch.fx.symbolic_trace(\n        Net(1)\n        .eval()\n    )\n"
        root, _, _ = built(only(source), source)
        assert not root.training

    def test_own_tracer_class(self) -> None:
        source = NET + dedent("""\
            class Mine(torch.fx.Tracer):
                pass
            class Yours(Mine):
                def __init__(self, leaf):
                    super().__init__()
                    self.leaf = leaf
            def a():
                leaf = Net
                Yours(leaf).trace(Net(5))
            """)
        target = only(source)
        root, _, tracer = built(target, source)
        assert (root.n, tracer.leaf.__name__) == (5, "Net")

    def test_tracer_held_by_a_name(self) -> None:
        source = NET + "def a():\n    tracer = torch.fx.Tracer((abs,))\n    tracer.trace(Net(6))\n"
        target = only(source)
        assert target.recipe.tracer == Snippet("tracer", 12)
        assert [statement.source for statement in target.recipe.setup] == ["tracer = torch.fx.Tracer((abs,))"]

    def test_plain_tracer_held_by_a_name_is_the_usual_one(self) -> None:
        target = only(NET + "def a():\n    tracer = torch.fx.Tracer()\n    tracer.trace(Net(6))\n")
        assert target.recipe.tracer is None
        assert target.recipe.setup == ()


class TestSetup:
    @pytest.mark.parametrize(
        ("body", "setup"),
        [
            ("st(Net(7))", []),
            ("m = Net(7)\nst(m)", ["m = Net(7)"]),
            ("k = 7\nm: Net = Net(k)\nst(m)", ["k = 7", "m: Net = Net(k)"]),
            ("a, k = 1, 7\nst(Net(k))", ["a, k = 1, 7"]),
            ("m = Net()\nm.n = 7\nm.eval()\nst(m)", ["m = Net()", "m.n = 7", "m.eval()"]),
            ("m = Net(1)\nm = Net(7)\nst(m)", ["m = Net(7)"]),
            ("m = Net(7)\nm = st(m)\nm = 3", ["m = Net(7)"]),
            ("from math import floor\nst(Net(floor(7.5)))", ["from math import floor"]),
            ("with torch.no_grad():\n    m = Net(7)\nst(m)", ["m = Net(7)"]),
            ("m = Net(7)\nif m:\n    for _ in range(2):\n        st(m)", ["m = Net(7)"]),
            ("m = Net(7)\ntry:\n    st(m)\nexcept ValueError:\n    pass", ["m = Net(7)"]),
            ("k = 7\nst([Net(k) for _ in range(1)][0])", ["k = 7"]),
            ("k = 7\nst((lambda x: Net(k))(0))", ["k = 7"]),
        ],
    )
    @pytest.mark.parametrize("head", ["def main():", 'if __name__ == "__main__":'])
    def test_holds_what_importing_does_not_run(self, head: str, body: str, setup: list[str]) -> None:
        source = f"{NET}from torch.fx import symbolic_trace as st\n{head}\n" + _indented(body)
        target = only(source)
        assert [statement.source for statement in target.recipe.setup] == setup
        assert built(target, source)[0].n == 7

    @pytest.mark.parametrize(
        "body",
        [
            "for m in [Net()]:\n    st(m)",
            "[st(m) for m in [Net()]]",
            "list(map(lambda m: st(m), [Net()]))",
            "if torch:\n    m = Net()\nst(m)",
            "try:\n    m = Net()\nexcept ValueError:\n    m = 3\nst(m)",
            "m = Net()\nif torch:\n    m = Net(3)\nst(m)",
            "with open('f') as m:\n    st(m)",
            "if (m := Net()):\n    st(m)",
            "match torch:\n    case m:\n        st(m)",
            "st(m)\nm = Net()",
            "m = Net()\ndel m\nst(m)",
        ],
    )
    def test_a_root_with_an_unknown_value_is_not_a_target(self, body: str) -> None:
        assert explicit(f"{NET}from torch.fx import symbolic_trace as st\ndef main():\n" + _indented(body)) == []

    @pytest.mark.parametrize(
        "context", ["pytest.raises(ValueError)", "self.assertRaisesRegex(E, 'a')", "suppress(E), open(f)"]
    )
    def test_a_call_expected_to_fail_is_ignored(self, context: str) -> None:
        source = f"{NET}def test():\n    with {context}:\n        torch.fx.symbolic_trace(Net())\n"
        assert explicit(source) == []
        assert len(explicit(f"{source}    torch.fx.symbolic_trace(Net())\n")) == 1

    @pytest.mark.parametrize("call", ["st(m)", "st(Net(m))", "st(Net(), m)", "T(m).trace(Net())", "st(self.net)"])
    def test_a_root_that_is_a_parameter_is_not_a_target(self, call: str) -> None:
        source = (
            f"{NET}from torch.fx import symbolic_trace as st, Tracer as T\nclass A:\n  def a(self, m):\n    {call}\n"
        )
        assert explicit(source) == []

    def test_a_class_inside_the_function_keeps_its_lines(self) -> None:
        source = NET + dedent("""\
            def test():
                class Inner(Net):
                    def forward(self, x):
                        return x
                torch.fx.symbolic_trace(Inner())
            """)
        target = only(source)
        assert target.symbol == "test.<locals>.Inner"
        assert target.recipe.setup[0].line == 11
        assert built(target, source)[0].n == 3

    def test_an_enclosing_function_s_names(self) -> None:
        source = NET + "def a():\n    m = Net(7)\n    def b():\n        torch.fx.symbolic_trace(m)\n"
        assert built(only(source), source)[0].n == 7

    def test_a_name_at_module_level_that_is_bound_again_later(self) -> None:
        source = NET + "m = Net(7)\nm = torch.fx.symbolic_trace(m)\n"
        target = only(source)
        assert [statement.source for statement in target.recipe.setup] == ["m = Net(7)"]
        assert target.symbol == "Net"

    def test_a_name_of_the_main_block_overrides_the_imported_one(self) -> None:
        source = NET + 'm = Net(1)\nif __name__ == "__main__":\n    m.n = 7\n    torch.fx.symbolic_trace(m)\n'
        assert built(only(source), source)[0].n == 7


class TestInferred:
    def test_instances_and_classes(self) -> None:
        source = NET + dedent("""\
            class Wide(Net):
                def __init__(self, width, *, deep=False):
                    super().__init__(width)
            class Same(Net):
                pass
            wide = Wide(9).eval()
            """)
        assert titles(source) == ["Net", "Same", "wide"]
        wide = found(source)[-1]
        assert (wide.key, wide.symbol, wide.intent) == ("instance:wide", "Wide", "inferred")
        assert shown(wide, source) == "wide"
        assert built(wide, source)[0].n == 9
        assert shown(found(source)[0], source) == "Net"

    @pytest.mark.parametrize(
        "definition",
        [
            "class A(nn.Module):\n    pass",
            "class A(nn.Module):\n    def forward(self, x):\n        raise NotImplementedError",
            "class A(nn.Module):\n    def forward(self, x):\n        '''Left to others.'''",
            "class A(nn.Module):\n    @abstractmethod\n    def forward(self, x):\n        return x",
            "class A(nn.Module):\n    @abc.abstractmethod\n    def a(self): pass\n    def forward(self, x): return x",
            "class A:\n    def forward(self, x):\n        return x",
            "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x",
            "class A(nn.ModuleList):\n    def __init__(self): pass",
            "if __name__ == '__main__':\n    class A(nn.Module):\n        def forward(self, x):\n            return x",
        ],
    )
    def test_a_class_that_cannot_be_traced_alone(self, definition: str) -> None:
        assert titles(f"import torch\nfrom torch import nn\n{definition}\n") == []

    @pytest.mark.parametrize(
        "definition",
        [
            "class A(LightningModule):\n    def forward(self, x):\n        return x",
            "class A(Other):\n    def __init__(self): pass\n    def forward(self, x):\n        return x",
            "class A(nn.Sequential):\n    def __init__(self): pass",
            "if torch:\n    class A(nn.Module):\n        def forward(self, x):\n            return x",
            "@final\nclass A(nn.Module):\n    def forward(self, x):\n        return x",
        ],
    )
    def test_a_class_that_can(self, definition: str) -> None:
        imports = "import torch\nfrom torch import nn\nfrom lightning import LightningModule\nfrom o import Other\n"
        assert titles(f"{imports}{definition}\n") == ["A"]

    def test_the_class_of_an_instance_is_built_where_the_file_does_not_define_the_instance(self) -> None:
        source = """
            from torch import nn
            class Net(nn.Module):
                def __init__(self, width):
                    super().__init__()
                def forward(self, x):
                    return x
            net = Net(read("width.txt"))
        """
        (target,) = find_targets("/net.py", dedent(source)) or ()
        assert (target.key, target.recipe.root.source, target.recipe.made_up) == ("instance:net", "net", False)
        assert (target.fallbacks[-1].root.source, target.fallbacks[-1].made_up) == ("Net", True)

    def test_the_forward_of_a_class_may_be_one_of_its_other_methods(self) -> None:
        source = """
            from torch import nn
            class Net(nn.Module):
                def apply_all(self, x):
                    return x
                forward = apply_all
        """
        (target,) = find_targets("/net.py", dedent(source)) or ()
        assert target.key == "class:Net"

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("net = nn.Sequential(nn.ReLU())", ["net"]),
            ("net = models.ResNet(3)", ["net"]),
            ("net: nn.Module = Imported(3).to('cpu')", ["net"]),
            ("with torch.device('meta'):\n    net = Imported()", ["net"]),
            ("net = Imported()\nnet = 3", []),
            ("net = resnet50()", ["net"]),
            ("teacher = models.resnet50().eval()", ["teacher"]),
            ("teacher = build_model()", ["teacher"]),
            ("model = build()", ["model"]),
            ("teacher = build()", []),
            ("data = a.load()", []),
            ("model = torch.load('x')", []),
            ("network = ipaddress.ip_network('::1')", []),
            ("Model = 3", []),
            ("model = names[0]()", []),
            ("path = Path('x')", []),
            ("weight = torch.Tensor(3)", []),
            ("other = Local()", []),
            ("names = [Imported()]", []),
            ("if __name__ == '__main__':\n    net = Imported()", []),
            ("def main():\n    net = Imported()", []),
        ],
    )
    def test_an_instance_at_module_level(self, line: str, expected: list[str]) -> None:
        imports = (
            "import torch\nfrom torch import nn\nfrom pathlib import Path\nfrom a import models, Imported, resnet50\n"
        )
        imports += "import ipaddress\nimport a\nnames = []\ndef build(): ...\ndef build_model(): ...\n"
        assert titles(f"{imports}class Local:\n    pass\n{line}\n") == expected

    def test_what_the_file_traces_is_not_inferred_again(self) -> None:
        assert titles(NET + "net = Net()\ntorch.fx.symbolic_trace(net)\n") == ["torch.fx.symbolic_trace(net)"]
        assert titles(NET + "net = Net()\n") == ["net"]
        assert titles(NET) == ["Net"]


class TestRecipes:
    """How a class is built whose constructor asks for arguments."""

    @pytest.mark.parametrize(
        ("parameters", "has_made_up"), [("self", False), ("self, width=8", True), ("self, *sizes", True)]
    )
    def test_arguments_are_not_invented_where_there_are_no_parameters(self, parameters: str, has_made_up: bool) -> None:
        constructor = f"    def __init__({parameters}): ..."
        text = f"from torch import nn\nclass Net(nn.Module):\n{constructor}\n    def forward(self, x): return x\n"
        (target,) = found(text)
        assert any(recipe.made_up for recipe in (target.recipe, *target.fallbacks)) == has_made_up

    HEAD = """\
from torch import nn

WIDTH = 8

class Block(nn.Module):
    def __init__(self, width, depth=1):
        super().__init__()
        self.depth = depth
        self.layer = nn.Linear(width, depth)
    def forward(self, x):
        return self.layer(x)
"""

    def recipes(self, rest: str) -> list[str]:
        """Each recipe of ``Block``, as what it runs, one after another."""
        (target,) = (target for target in found(self.HEAD + rest) if target.symbol == "Block")
        recipes = (target.recipe, *target.fallbacks)
        assert recipes[-1] == Recipe(Snippet("Block", 5), made_up=True)
        assert target.intent == ("assumed" if len(recipes) == 1 else "inferred")
        return ["; ".join(snippet.source for snippet in (*recipe.setup, recipe.root)) for recipe in recipes[:-1]]

    @pytest.mark.parametrize(
        ("rest", "expected"),
        [
            ("", []),
            ("blocks = [Block(3)]", ["Block(3)"]),
            ("blocks = [Block(WIDTH, depth=2)]", ["Block(WIDTH, depth=2)"]),
            ("def f():\n    width = 2 * WIDTH\n    return Block(width)", ["width = 2 * WIDTH; Block(width)"]),
            (
                "def f(width=4, **more):\n    return Block(width, **more)",
                ["width = 4; more = {}; Block(width, **more)"],
            ),
            ("def f(*, width=4):\n    return Block(width)", ["width = 4; Block(width)"]),
            ("def f(width, depth=4):\n    return Block(width, depth)", []),
            ("def f(width=4):\n    width = width + 1\n    return Block(width)", ["f()"]),
            ("def f(n=4):\n    for i in range(n):\n        block = Block(i)\n    return block", ["f()"]),
            ("class Net(nn.Module):\n    def __init__(self, n):\n        self.b = Block(n)", []),
            ("class Net(nn.Module):\n    def __init__(self, n=3):\n        self.b = Block(n)", ["n = 3; Block(n)"]),
            ("def test():\n    with pytest.raises(ValueError):\n        Block(0)", []),
            ("def f(Block):\n    return Block(3)", []),
            ("def f(width=3):\n    return Block(width)\nnets = [Block(5)]", ["Block(5)", "width = 3; Block(width)"]),
        ],
    )
    def test_recipes_are_in_order_of_trust(self, rest: str, expected: list[str]) -> None:
        assert self.recipes(rest + "\n") == expected

    def test_recipes_build_the_class(self) -> None:
        source = self.HEAD + "def f(width=4, depth=3):\n    return Block(width, depth)\n"
        (target,) = found(source)
        assert built(target, source)[0].depth == 3

    def test_without_recipes_a_class_is_assumed(self) -> None:
        (target,) = found("from o import Base\nclass A(Base):\n    def forward(self, x):\n        return x\n")
        assert (target.title, target.intent, target.recipe.made_up) == ("A", "assumed", True)


class TestFiles:
    @pytest.mark.parametrize("source", ["def f(:", "x = (", "'\0'", "(" * 300])
    def test_texts_that_do_not_parse_have_no_targets(self, source: str) -> None:
        assert find_targets("/w/file.py", source) is None

    @pytest.mark.parametrize("source", ["", "\n", "x = 3", "\ufeffx = 3", "pass\r\n"])
    def test_texts_without_modules_have_no_targets(self, source: str) -> None:
        assert found(source) == ()

    def test_keys_are_unique_and_stay_when_other_lines_change(self) -> None:
        body = "def a():\n    torch.fx.symbolic_trace(Net())\n    torch.fx.symbolic_trace( Net() )\n"
        source = NET + body + body.replace("def a", "def b") + "other = Net()\n"
        keys = [target.key for target in found(source)]
        assert len(set(keys)) == len(keys) == 4
        moved = source.replace("import torch\n", "import torch\n\n\nvalue = 3\n").replace("x + self.n", "x * self.n")
        assert [target.key for target in found(moved)] == keys

    @given(st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["", "é = '😋'; ", "'''漢\n'''; "]))
    def test_every_span_covers_what_it_names(self, newline: str, before: str) -> None:
        source = (NET + f"{before}net = Net()\n{before}torch.fx.symbolic_trace(abs)\n").replace("\n", newline)
        assert [shown(target, source) for target in found(source)] == ["net", "torch.fx.symbolic_trace(abs)"]


def _indented(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.splitlines())


class TestShownByTheFile:
    def test_an_example_in_a_docstring_shows_how_it_is_built(self) -> None:
        source = NET.replace("n=3", "n").replace(
            "class Net(nn.Module):\n",
            'class Net(nn.Module):\n    """A net.\n\n    >>> n = 4\n    >>> net = Net(n)\n    """\n',
        )
        (target,) = found(source)
        assert target.recipe == Recipe(Snippet("Net(n)", 8), (Snippet("n = 4", 7),))
        root, _, _ = built(target, source)
        assert root.n == 4

    def test_an_example_in_a_docstring_does_not_import_the_class_by_another_name(self) -> None:
        source = NET.replace(
            "class Net(nn.Module):\n",
            'class Net(nn.Module):\n    """\n    >>> from old.name import Net\n    >>> Net.from_name("b0")\n    """\n',
        )
        (target,) = found(source)
        recipe = target.fallbacks[0]
        assert (recipe.root.source, recipe.setup) == ('Net.from_name("b0")', ())

    @pytest.mark.parametrize(
        ("line", "is_completed"),
        [
            ("net.head = net.fc", True),
            ("net.n = 4", False),
            ("net.mean = 4", False),
            ("net.eval()", False),
            ("other.head = 3", False),
        ],
    )
    def test_a_function_that_sets_missing_attributes_completes_the_class(self, line: str, is_completed: bool) -> None:
        source = NET.replace("x + self.n", "self.head(x) + self.n")
        source += f"def make(n=3):\n    net = Net(n)\n    {line}\n    return net\n"
        (target,) = found(source)
        assert target.recipe.root.source == ("make()" if is_completed else "Net()")

    def test_a_function_annotated_to_return_the_class_is_a_recipe(self) -> None:
        source = (
            NET.replace("n=3", "n") + "def tiny(pretrained=False, **kwargs) -> Net:\n    return make(Net, **kwargs)\n"
        )
        (target,) = found(source)
        assert [recipe.root.source for recipe in (target.recipe, *target.fallbacks)] == ["tiny()", "Net"]

    def test_a_list_filled_in_a_loop_is_not_known(self) -> None:
        body = "    layers = []\n    for _ in range(2):\n        layers.append(nn.ReLU())\n"
        source = NET + f"def f():\n{body}    return torch.fx.symbolic_trace(nn.Sequential(*layers))\n"
        assert explicit(source) == []

    def test_a_list_filled_one_by_one_is_known(self) -> None:
        body = "    layers = []\n    layers.append(nn.ReLU())\n    layers.append(nn.GELU())\n"
        source = NET + f"def f():\n{body}    return torch.fx.symbolic_trace(nn.Sequential(*layers))\n"
        root, _, _ = built(only(source), source)
        assert len(root) == 2


class TestFunctionsThatTrace:
    @pytest.mark.parametrize(
        ("imports", "call", "wraps"),
        [
            (
                "from torchvision.models.feature_extraction import create_feature_extractor as c",
                "c(Net(4), ['x'])",
                True,
            ),
            (
                "from torchvision.models import feature_extraction",
                "feature_extraction.get_graph_node_names(Net(4))",
                True,
            ),
            ("from torch.ao.quantization.quantize_fx import prepare_fx", "prepare_fx(Net(4).eval(), m, e)", False),
            ("from torch.ao.quantization import quantize_fx", "quantize_fx.prepare_qat_fx(model=Net(4))", False),
        ],
    )
    def test_a_module_that_is_given_to_them_is_traced(self, imports: str, call: str, wraps: bool) -> None:
        (target,) = explicit(f"{imports}\n{NET}g = {call}\n")
        assert target.symbol == "Net"
        assert target.recipe.root.source.startswith("Net(4)")
        assert (target.recipe.tracer is not None) == wraps
