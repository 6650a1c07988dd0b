"""How other files show a class is built: which of them are believed, and what of them is taken along."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from fx_lsp.agent.messages import Recipe, Target
from fx_lsp.documents.documents import Documents
from fx_lsp.targets import find_targets
from fx_lsp.targets.prose_code import code_in_docstrings, code_in_markdown
from fx_lsp.targets.workspace_recipes import WorkspaceRecipes

NET = """\
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, x):
        return x + self.width
"""


class Tree:
    """A workspace on the disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.elsewhere = WorkspaceRecipes(lambda: [str(root)], Documents().text)

    def write(self, name: str, text: str) -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return str(path)

    def targets(self, path: str) -> dict[str, Target]:
        found = find_targets(path, Path(path).read_text(encoding="utf-8")) or ()
        return {target.title: target for target in self.elsewhere.completed(path, found)}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def shown(recipe: Recipe) -> tuple[str, str, list[str]]:
    return Path(recipe.file).name, recipe.root.source, [snippet.source for snippet in recipe.setup]


class TestACall:
    @pytest.mark.parametrize(
        ("name", "text", "setup"),
        [
            ("train.py", "from pkg.net import Net\nnet = Net(7)\n", ["from pkg.net import Net"]),
            ("train.py", "from pkg.net import Net as N\nfrom other import Net\nnet = Net(7)\n", None),
            ("train.py", "import pkg.net\nprint(pkg.net.Net(7))\n", ["import pkg.net"]),
            ("train.py", "from pkg.net import *\nnet = Net(len('wide'))\n", ["from pkg.net import *"]),
            (
                "tests/test_net.py",
                "from pkg.net import Net\nWIDTH = 7\ndef test():\n    w = WIDTH\n    assert Net(w)\n",
                ["from pkg.net import Net", "WIDTH = 7", "w = WIDTH"],
            ),
            ("pkg/use.py", "from .net import Net\ndef f(width=7):\n    return Net(width)\n", None),
            ("README.md", "# Net\n```python\nfrom pkg import Net\nnet = Net(7)\n```\n", ["from pkg import Net"]),
            ("README.md", "# Net\n```sh\nfrom pkg import Net\nnet = Net(7)\n```\n", None),
            ("net.yaml", "model:\n  target: pkg.net.Net\n  params: {width: 7}\n", ["from pkg.net import Net"]),
            ("net.yaml", "model:\n  target: other.Net\n  params: {width: 7}\n", None),
            (
                "train.py",
                "from pkg.net import Net\nfor n in (1, 2):\n    Net(n)\n",
                ["from pkg.net import Net", "n = 1"],
            ),
            (
                "train.py",
                "from pkg.net import Net\ndef f():\n    for n, _ in [(1, 2)]:\n        Net(n)\n",
                ["from pkg.net import Net", "n = 1"],
            ),
            (
                "train.py",
                "from pkg.net import Net\nALL = {'a': {'width': 1}}\nfor _, n in ALL.items():\n    Net(**n)\n",
                ["from pkg.net import Net", "ALL = {'a': {'width': 1}}", "n = [*ALL.items()][0][1]"],
            ),
            ("train.py", "from pkg.net import Net\nfor n in open('n'):\n    Net(n)\n", None),
            ("train.py", "from pkg.net import Net\nfor n in (1, 2):\n    pass\nNet(n)\n", None),
            ("train.py", "from pkg.net import Net\nn = []\nfor i in (1, 2):\n    n.append(i)\nNet(n)\n", None),
            ("train.py", "from pkg.net import Net\nwith pytest.raises(ValueError):\n    Net(7)\n", None),
            ("train.py", "class Net:\n    pass\nNet()\n", None),
            ("train.py", "from pkg.net import Net\nnet = Net(7\n", None),
        ],
    )
    def test_a_call_in_another_file_is_taken_with_what_it_needs(
        self, tree: Tree, name: str, text: str, setup: list[str] | None
    ) -> None:
        path = tree.write("pkg/net.py", NET)
        tree.write("pkg/__init__.py", "")
        tree.write(name, text)
        target = tree.targets(path)["Net"]
        if setup is None and name != "pkg/use.py":
            assert (target.intent, target.recipe.made_up) == ("assumed", True)
        elif setup is not None:
            assert target.intent == "inferred"
            assert shown(target.recipe)[2] == setup
            assert target.fallbacks[-1].made_up

    def test_a_relative_import_is_made_absolute_and_a_default_is_taken(self, tree: Tree) -> None:
        path = tree.write("pkg/net.py", NET)
        tree.write("pkg/__init__.py", "")
        tree.write("pkg/use.py", "from .net import Net\ndef f(width=7):\n    return Net(width)\n")
        assert shown(tree.targets(path)["Net"].recipe) == (
            "use.py",
            "Net(width)",
            ["from pkg.net import Net", "width = 7"],
        )

    @pytest.mark.parametrize(
        ("decorators", "parameters", "setup"),
        [
            ("@pytest.mark.parametrize('w', [7, 8])", "w", ["w = 7"]),
            ("@pytest.mark.parametrize('w', [pytest.param(7, id='seven')])", "w", ["w = 7"]),
            ("@pytest.mark.parametrize('w', [(7,), 8])", "w", ["w = (7,)"]),
            ("@pytest.mark.parametrize('w', range(7, 9))", "w", ["w = [*range(7, 9)][0]"]),
            ("@pytest.mark.parametrize('w', WIDTHS)", "w", ["WIDTHS = (7, 8)", "w = [*WIDTHS][0]"]),
            ("@pytest.mark.parametrize('n, w', [(1, 7), (2, 8)])", "n, w", ["w = 7"]),
            ("@pytest.mark.parametrize(('n', 'w'), [pytest.param(1, 7)])", "w, n", ["w = 7"]),
            ("@pytest.mark.parametrize(['n', 'w'], zip(range(2), WIDTHS))", "n, w", None),
            ("@pytest.mark.parametrize('n', [1])\n@pytest.mark.parametrize('w', [7])", "n, w", ["w = 7"]),
            ("@pytest.mark.parametrize('w', [7])", "w=3", ["w = 7"]),
            ("@pytest.mark.parametrize('n', [7])", "n, w", None),
            ("@parameterized.expand([(1, 7), (2, 8)])", "self, n, w", ["w = 7"]),
            ("@parameterized.parameters(7, 8)", "self, w", ["w = 7"]),
            ("@parameterized.parameters((1, 7), (2, 8))", "self, n, w", ["w = 7"]),
            ("@parameterized.parameters([(1, 7), (2, 8)])", "self, n, w", ["w = 7"]),
            ("@parameterized.parameters({'w': 7, 'n': 1})", "self, n, w", ["w = 7"]),
            ("@parameterized.named_parameters(('few', 1, 7))", "self, n, w", ["w = 7"]),
            ("@parameterized.named_parameters(dict(testcase_name='few', n=1, w=7))", "self, n, w", ["w = 7"]),
        ],
    )
    def test_a_test_s_parameters_have_the_values_of_its_first_case(
        self, tree: Tree, decorators: str, parameters: str, setup: list[str] | None
    ) -> None:
        path = tree.write("net.py", NET)
        head = "from net import Net\nWIDTHS = (7, 8)\n"
        tree.write("test_net.py", f"{head}{decorators}\ndef test({parameters}):\n    Net(w)\n")
        recipe = tree.targets(path)["Net"].recipe
        if setup is None and "zip" in decorators:
            assert shown(recipe)[2][-1] == "w = [*zip(range(2), WIDTHS)][0][1]"
        elif setup is None:
            assert recipe.made_up
        else:
            assert shown(recipe)[1:] == ("Net(w)", ["from net import Net", *setup])

    def test_the_name_of_a_class_may_begin_with_a_small_letter(self, tree: Tree) -> None:
        path = tree.write("net.py", NET.replace("class Net", "class wide_net"))
        assert tree.targets(path)["wide_net"].recipe.made_up
        train = tree.write("train.py", "import net\nx = net.wide_net(7)\ny = x.wide_net(8)\n")
        tree.elsewhere.changed(train)
        assert [*shown(tree.targets(path)["wide_net"].recipe)[1:]] == ["net.wide_net(7)", ["import net"]]
        own = tree.write("own.py", NET.replace("class Net", "class wide_net") + "\ndef f(x):\n    return wide_net(9)\n")
        assert tree.targets(own)["wide_net"].recipe.root.source == "wide_net(9)"

    def test_a_recipe_has_the_line_of_the_other_file(self, tree: Tree) -> None:
        path = tree.write("net.py", NET)
        tree.write("README.md", "# Net\n\n```python\nfrom net import Net\n\nnet = Net(7)\n```\n")
        assert tree.targets(path)["Net"].recipe.root.line == 6

    def test_recipes_of_tests_come_before_prose_and_prose_before_the_rest(self, tree: Tree) -> None:
        path = tree.write("net.py", NET)
        tree.write("a.py", "from net import Net\nNet(1)\n")
        tree.write("README.md", "```python\nfrom net import Net\nNet(2)\n```\n")
        tree.write("test_net.py", "from net import Net\nNet(3)\n")
        target = tree.targets(path)["Net"]
        assert [recipe.root.source for recipe in (target.recipe, *target.fallbacks)] == [
            "Net(3)",
            "Net(2)",
            "Net(1)",
            "Net",
        ]

    def test_a_recipe_that_loads_weights_comes_last(self, tree: Tree) -> None:
        path = tree.write("net.py", NET)
        tree.write("README.md", "```python\nfrom net import Net\nNet.from_pretrained('b0')\nNet.from_name('b0')\n```\n")
        target = tree.targets(path)["Net"]
        assert target.recipe.root.source == "Net.from_name('b0')"

    def test_other_files_are_not_searched_if_the_file_has_its_own_recipe(self, tree: Tree) -> None:
        path = tree.write("net.py", NET + "def f():\n    return Net(4)\n")
        tree.write("test_net.py", "from net import Net\nNet(3)\n")
        target = tree.targets(path)["Net"]
        assert (target.recipe.root.source, target.recipe.file, len(target.fallbacks)) == ("Net(4)", "", 1)

    def test_a_recipe_is_added_to_a_call_without_arguments(self, tree: Tree) -> None:
        path = tree.write("net.py", NET.replace("width)", "width=None)"))
        tree.write("test_net.py", "from net import Net\nNet(3)\n")
        target = tree.targets(path)["Net"]
        assert [recipe.root.source for recipe in (target.recipe, *target.fallbacks)] == ["Net()", "Net(3)", "Net"]

    def test_a_class_of_the_same_name_in_another_file_is_ignored(self, tree: Tree) -> None:
        path = tree.write("pkg/net.py", NET)
        tree.write("pkg/__init__.py", "")
        tree.write("pkg/other.py", NET)
        tree.write("train.py", "from pkg.other import Net\nNet(7)\n")
        assert tree.targets(path)["Net"].recipe.made_up


class TestAHost:
    HOST = """\
        from torch import nn
        from net import Net

        class Model(nn.Module):
            def __init__(self, width{default}):
                super().__init__()
                self.width = width
                self.net = Net(self.width)

            def forward(self, x):
                return self.net(x)
        """

    def test_a_host_that_needs_no_argument_is_called(self, tree: Tree) -> None:
        path = tree.write("net.py", NET)
        tree.write("model.py", dedent(self.HOST).format(default="=4"))
        (host,) = tree.targets(path)["Net"].hosts
        assert (shown(host), host.made_up) == (("model.py", "Model()", ["from model import Model"]), False)

    def test_a_host_may_import_all_names(self, tree: Tree) -> None:
        path = tree.write("net.py", NET)
        tree.write("model.py", dedent(self.HOST).format(default="=4").replace("import Net", "import *"))
        (host,) = tree.targets(path)["Net"].hosts
        assert (shown(host), host.made_up) == (("model.py", "Model()", ["from model import Model"]), False)

    @pytest.mark.parametrize(
        ("imports", "name"),
        [
            ("from . import net", "net.Net"),
            ("import package.net as net", "net.Net"),
            ("import package", "package.net.Net"),
        ],
    )
    def test_a_host_may_read_the_class_from_a_module(self, tree: Tree, imports: str, name: str) -> None:
        path = tree.write("package/net.py", NET)
        text = dedent(self.HOST).format(default="=4").replace("from net import Net", imports)
        tree.write("package/model.py", text.replace("= Net(", f"= {name}("))
        (host,) = tree.targets(path)["Net"].hosts
        assert host.root.source == "Model()"

    def test_a_class_of_another_module_with_the_same_name_is_no_part(self, tree: Tree) -> None:
        path = tree.write("linear.py", NET.replace("Net", "Linear"))
        tree.write("model.py", dedent(self.HOST).format(default="=4").replace("= Net(", "= nn.Linear("))
        assert not tree.targets(path)["Linear"].hosts

    def test_a_host_is_built_as_a_third_file_does(self, tree: Tree) -> None:
        path = tree.write("net.py", NET)
        tree.write("model.py", dedent(self.HOST).format(default=""))
        tree.write("train.py", "from model import Model\nmodel = Model(5)\n")
        (host,) = tree.targets(path)["Net"].hosts
        assert shown(host) == ("train.py", "Model(5)", ["from model import Model"])

    def test_made_up_arguments_of_hosts_come_last(self, tree: Tree) -> None:
        path = tree.write("net.py", NET)
        tree.write("model.py", dedent(self.HOST).format(default=""))
        (host,) = tree.targets(path)["Net"].hosts
        assert (shown(host), host.made_up) == (("model.py", "Model", ["from model import Model"]), True)

    FACTORY = "def make(size):\n    net = Net(size * 2)\n    return net\n"

    def test_a_function_that_returns_an_instance_is_called_with_invented_arguments(self, tree: Tree) -> None:
        path = tree.write("net.py", NET + self.FACTORY)
        (host,) = tree.targets(path)["Net"].hosts
        assert (host.root.source, host.file, host.setup, host.made_up) == ("make", "", (), True)

    def test_such_a_function_may_be_in_another_file(self, tree: Tree) -> None:
        path = tree.write("net.py", NET)
        tree.write("build.py", f"from net import Net\n{self.FACTORY}def train(size):\n    Net(size)\n")
        (host,) = tree.targets(path)["Net"].hosts
        assert (shown(host), host.made_up) == (("build.py", "make", ["from build import make"]), True)

    def test_a_host_may_be_in_another_host(self, tree: Tree) -> None:
        path = tree.write("net.py", NET)
        tree.write("model.py", dedent(self.HOST).format(default=""))
        tree.write("pair.py", dedent(self.HOST).format(default="=4").replace("Model", "Pair").replace("Net", "Model"))
        tree.write("pair.py", Path(tree.root, "pair.py").read_text().replace("from net", "from model"))
        hosts = tree.targets(path)["Net"].hosts
        assert [host.root.source for host in hosts] == ["Pair()"]


class TestChanges:
    def test_changes_of_another_file_are_seen(self, tree: Tree) -> None:
        path = tree.write("net.py", NET)
        test = tree.write("test_net.py", "from net import Net\nNet(3)\n")
        assert tree.targets(path)["Net"].recipe.root.source == "Net(3)"
        tree.write("test_net.py", "from net import Net\nNet(4)\n")
        assert "Net" in tree.elsewhere.changed(test)
        assert tree.targets(path)["Net"].recipe.root.source == "Net(4)"

    def test_a_new_and_a_deleted_file_are_seen(self, tree: Tree) -> None:
        path = tree.write("net.py", NET)
        assert tree.targets(path)["Net"].recipe.made_up
        test = tree.write("test_net.py", "from net import Net\nNet(3)\n")
        tree.elsewhere.changed(test)
        assert tree.targets(path)["Net"].recipe.root.source == "Net(3)"
        Path(test).unlink()
        assert "Net" in tree.elsewhere.changed(test)
        assert tree.targets(path)["Net"].recipe.made_up

    def test_no_file_is_read_twice(self, tmp_path: Path) -> None:
        read: list[str] = []
        documents = Documents()

        def text(path: str) -> str | None:
            read.append(Path(path).name)
            return documents.text(path)

        tree = Tree(tmp_path)
        tree.elsewhere = WorkspaceRecipes(lambda: [str(tmp_path)], text)
        path = tree.write("net.py", NET)
        tree.write("test_net.py", "from net import Net\nNet(3)\n")
        tree.targets(path)
        read.clear()
        tree.targets(path)
        assert read == []
        tree.elsewhere.changed(path)
        tree.targets(path)
        assert "test_net.py" not in read


class TestProse:
    def test_python_in_markdown_keeps_its_lines(self) -> None:
        text = "# Use\n```python\nnet = Net(3)\n```\n```\nnet.eval()\n```\n```sh\npip install net\n```\n"
        code = code_in_markdown(text)
        assert code.split("\n") == ["", "", "net = Net(3)", "", "", "net.eval()", "", "", "", ""]

    def test_a_block_that_is_no_python_is_left_out(self) -> None:
        assert code_in_markdown("```python\nnet = Net(...\n```\n```python\nx = 1\n```\n").split() == ["x", "=", "1"]

    def test_fences_are_those_of_markdown(self) -> None:
        nested = "````md\n```python\nb = 2\n```\n````\n- item\n\n  ```py\n  c = 3\n  ```\n> ```\n> d = 4\n"
        text = f"~~~python\na = 1\n~~~\n{nested}"
        lines = code_in_markdown(text).split("\n")
        assert [(number, line) for number, line in enumerate(lines, 1) if line] == [
            (2, "a = 1"),
            (12, "c = 3"),
            (15, "d = 4"),
        ]

    def test_examples_in_docstrings_keep_their_lines(self) -> None:
        source = 'def f():\n    """Does.\n\n    >>> net = Net(\n    ...     3)\n    >>> net\n    Net()\n    """\n'
        assert code_in_docstrings(source).split("\n")[3:6] == ["net = Net(", "    3)", "net"]

    def test_a_file_without_examples_gives_nothing(self) -> None:
        assert code_in_docstrings(NET) == ""


README = """\
# Net
```python
import torch
from pkg.net import Net

batch, length = 2, 5
net = Net(7).to(device)
out = net(torch.rand(batch, length))
```
"""


def test_a_call_of_a_function_that_returns_it_is_a_recipe(tree: Tree) -> None:
    build = "def build(name, width):\n    net = Net(width)\n    return net\n"
    show = "def show(width):\n    return repr(Net(width))\n"
    path = tree.write("pkg/net.py", f"{NET}\n{build}\n{show}")
    tree.write("pkg/__init__.py", "")
    tree.write("train.py", "from pkg.net import build, show\nshow(5)\nnet = build('big', 7)\n")
    target = tree.targets(path)["Net"]
    assert shown(target.recipe) == ("train.py", "build('big', 7)", ["from pkg.net import build, show"])
    assert [recipe.root.source for recipe in target.fallbacks] == ["Net"]


def test_a_call_of_what_another_file_builds_is_an_example_for_it(tree: Tree) -> None:
    path = tree.write("pkg/net.py", NET)
    tree.write("README.md", README)
    recipe = tree.targets(path)["Net"].recipe
    assert recipe.inputs is not None
    assert (recipe.root.source, recipe.inputs.source) == ("Net(7)", "(torch.rand(2, 5))")


def test_inputs_that_a_directive_names_come_before_those_of_other_files(tree: Tree) -> None:
    path = tree.write("pkg/net.py", NET.replace("class Net", "# fx: inputs(torch.ones(3))\nclass Net"))
    tree.write("README.md", README)
    recipe = tree.targets(path)["Net"].recipe
    assert recipe.inputs is not None
    assert (recipe.root.source, recipe.inputs.source) == ("Net(7)", "(torch.ones(3))")
