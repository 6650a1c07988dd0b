"""The passes have the names, and the functions the parameters, that programs know from torch.fx."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from typing import Any

import pytest

MODULES = [
    "interpreter",
    "subgraph_rewriter",
    "passes.annotate_getitem_nodes",
    "passes.dialect.common.cse_pass",
    "passes.fake_tensor_prop",
    "passes.graph_drawer",
    "passes.graph_manipulation",
    "passes.infra.partitioner",
    "passes.infra.pass_base",
    "passes.infra.pass_manager",
    "passes.operator_support",
    "passes.param_fetch",
    "passes.pass_manager",
    "passes.shape_prop",
    "passes.tools_common",
    "passes.utils",
    "passes.utils.common",
    "passes.utils.fuser_utils",
    "passes.utils.matcher_utils",
    "passes.utils.matcher_with_name_node_map_utils",
    "passes.utils.source_matcher_utils",
]
# Takes the options of its base class as they come.
UNLIKE = {"SubgraphMatcherWithNameNodeMap.__init__"}


def public(module: Any) -> dict[str, Any]:
    """What a module of torch.fx defines, and everything else that it says it exports."""
    names = {name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    return {name: getattr(module, name) for name in {*names, *getattr(module, "__all__", ())} if name[0] != "_"}


def parameters(function: Any) -> list[tuple[str, Any]]:
    """The names of a function's parameters, with their kinds."""
    return [(each.name, each.kind) for each in inspect.signature(function).parameters.values()]


def functions(name: str, value: Any) -> dict[str, Any]:
    """A function, or the public methods of a class, by name."""
    if not inspect.isclass(value):
        return {name: value} if inspect.isfunction(value) else {}
    if issubclass(value, tuple):
        return {}
    methods = {key: method for key, method in vars(value).items() if inspect.isfunction(method)}
    return {f"{name}.{key}": method for key, method in methods.items() if key[0] != "_" or key == "__init__"}


@pytest.mark.parametrize("path", MODULES)
def test_names_and_parameters(path: str) -> None:
    ours, theirs = (importlib.import_module(f"{package}.{path}") for package in ("fxcore", "torch.fx"))
    for name, value in public(theirs).items():
        mine = getattr(ours, name)
        for full_name, function in functions(name, value).items():
            if full_name not in UNLIKE:
                own = mine if full_name == name else getattr(mine, full_name.partition(".")[2])
                expected = parameters(function)
                found = parameters(own)
                assert found[: len(expected)] == expected, full_name
                assert found == expected or full_name == "validate_partition"


def test_passes_are_imported_when_they_are_used() -> None:
    code = (
        "import sys, fxcore.passes\n"
        "assert 'fxcore.passes.param_fetch' not in sys.modules\n"
        "assert 'param_fetch' in dir(fxcore.passes)\n"
        "print(fxcore.passes.param_fetch.default_matching('weight', 1), hasattr(fxcore.passes, 'no_such_pass'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "weight False\n"
