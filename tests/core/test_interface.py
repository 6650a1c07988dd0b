"""fxcore has the names, and its functions the parameters, that programs know from torch.fx."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.fx

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not torch.__version__.startswith("2.13."), reason="the names are those of torch 2.13, other versions have others"
)

MODULES = [
    "",
    "_compatibility",
    "_pytree",
    "_symbolic_trace",
    "annotate",
    "config",
    "graph",
    "graph_module",
    "immutable_collections",
    "interpreter",
    "node",
    "operator_schemas",
    "proxy",
    "subgraph_rewriter",
    "tensor_type",
    "traceback",
    "passes.annotate_getitem_nodes",
    "passes.dialect.common.cse_pass",
    "passes.fake_tensor_prop",
    "passes.graph_drawer",
    "passes.graph_manipulation",
    "passes.infra.partitioner",
    "passes.infra.pass_base",
    "passes.infra.pass_manager",
    "passes.net_min_base",
    "passes.operator_support",
    "passes.param_fetch",
    "passes.pass_manager",
    "passes.reinplace",
    "passes.shape_prop",
    "passes.split_module",
    "passes.split_utils",
    "passes.splitter_base",
    "passes.tools_common",
    "passes.utils",
    "passes.utils.common",
    "passes.utils.fuser_utils",
    "passes.utils.matcher_utils",
    "passes.utils.matcher_with_name_node_map_utils",
    "passes.utils.source_matcher_utils",
    "experimental.accelerator_partitioner",
    "experimental.const_fold",
    "experimental.graph_gradual_typechecker",
    "experimental.merge_matmul",
    "experimental.meta_tracer",
    "experimental.normalize",
    "experimental.optimization",
    "experimental.partitioner_utils",
    "experimental.refinement_types",
    "experimental.rewriter",
    "experimental.schema_type_annotation",
    "experimental.unify_refinements",
]

# Names that programs import although they begin with an underscore, or are another module's.
IMPORTED = {
    "_symbolic_trace": (
        "_ConstantAttributeType _Patcher _assert_is_none _autowrap_check _constant_attribute_types "
        "_create_wrapped_func _find_proxy _orig_module_call _orig_module_getattr _patch_function "
        "_patch_wrapped_functions _proxyable_classes _wrapped_fns_to_patch _wrapped_methods_to_patch "
        "Graph GraphModule ParameterProxy Proxy Scope ScopeContextManager TracerBase base_types map_aggregate"
    ),
    "_pytree": (
        "_deregister_pytree_flatten_spec _dict_flatten_spec _list_flatten_spec _namedtuple_flatten_spec "
        "_tuple_flatten_spec"
    ),
    "graph": (
        "_custom_builtins _is_from_torch _Namespace _node_list _parse_stack_trace _ParsedStackTrace _PyTreeCodeGen "
        "_PyTreeInfo _register_custom_builtin _snake_case dtype_abbrs"
    ),
    "graph_module": (
        "_assign_attr _CodeOnlyModule _copy_attr _del_attr _deserialize_graph_module _forward_from_src _get_attr "
        "_has_attr _method_from_src _USER_PRESERVED_ATTRIBUTES_KEY"
    ),
    "node": "_find_module_of_method _format_arg _get_qualified_name _side_effectful_functions _type_repr",
    "passes.infra.pass_manager": "_topological_sort_passes _validate_pass_schedule_constraint",
    "passes.pass_manager": "_validate_pass_schedule_constraint",
    "passes.reinplace": "_is_view_op _maybe_get_inplace_op",
    "passes.shape_prop": "_extract_tensor_metadata",
    "passes.splitter_base": "_SplitterBase _SplitterSettingBase FxNetAccFusionsFinder ShapeProp",
    "passes.utils.fuser_utils": "legalize_graph",
    "passes.utils.matcher_with_name_node_map_utils": "_split_to_graph_and_name_node_map",
    "proxy": "base_types",
    "subgraph_rewriter": "_replace_attributes _replace_pattern",
}

# What is missing, with the reason: by "module.name", "module.Class.method" or "module.function(parameter)".
SYMBOLIC_SHAPES = "used only for the symbolic sizes of torch.compile and torch.export"
SYMPY = "needs sympy to calculate with unknown dimensions"
AUTOGRAD = "used only for the joint forward and backward graphs of torch.compile"
MISSING = {
    "_symbolic_trace.CURRENT_PATCHER": "each trace keeps track of its own patches",
    "_symbolic_trace._is_fx_tracing_flag": "a process-wide flag; `is_fx_tracing()` answers only for the calling code",
    "_symbolic_trace._maybe_revert_all_patches": "used by torch.compile; fxcore's patches check which code calls them",
    "_symbolic_trace._new_patcher": "sets `CURRENT_PATCHER`, which is left out",
    "_symbolic_trace.is_fx_tracing_warning": "fxcore's `is_fx_tracing()` never emits a warning",
    "config.disable_progress": "fxcore's passes show no progress",
    "config.verbose_progress": "fxcore's passes show no progress",
    "graph.Graph.create_size_node": SYMBOLIC_SHAPES,
    "graph.Graph.create_storage_offset_node": SYMBOLIC_SHAPES,
    "graph.Graph.create_stride_node": SYMBOLIC_SHAPES,
    "graph.Graph.materialize_symint": SYMBOLIC_SHAPES,
    "graph.Graph.materialize_symints": SYMBOLIC_SHAPES,
    "graph_module.FX_GRAPH_MODULE_FILE_PREFIX": "fxcore names the files of generated code differently",
    "graph_module.GraphModule.print_readable(fast_sympy_print)": SYMBOLIC_SHAPES,
    "node.ArgumentT": "a type variable, used only in annotations",
    "traceback.GRADIENT_ACC_SPECIAL_STACK": AUTOGRAD,
    "traceback.MEMORY_BUDGET_ANNOTATION_KEY": AUTOGRAD,
    "traceback.NodeSource": "torch.export's record of passes; fxcore's nodes have `where` and `span` instead",
    "traceback.NodeSourceAction": "see `NodeSource`",
    "traceback.get_graph_provenance_json": "see `NodeSource`",
    "traceback.current_meta": "a global; `get_current_meta()` returns that of the current thread or task",
    "traceback.current_replay_node": AUTOGRAD,
    "traceback.get_current_replay_node": AUTOGRAD,
    "traceback.set_current_replay_node": AUTOGRAD,
    "traceback.reset_grad_fn_seq_nr": AUTOGRAD,
    "traceback.set_grad_fn_seq_nr": AUTOGRAD,
    "traceback.should_preserve_node_meta": "a global; call `has_preserved_node_meta()` instead",
    "passes.splitter_base.ALL_SUFFIX": "defined in fxcore.passes.acc_nodes, which writes the files",
    "passes.splitter_base.DEFAULT_ALLOW_NON_TENSOR": "a default value, written directly into the code that uses it",
    "passes.splitter_base.DEFAULT_SKIP_FUSION": "a default value, written directly into the code that uses it",
    "passes.splitter_base.DUMP_PREFIX": "the variable is read when a finder is created, not at import",
    "passes.splitter_base.ENV_FX_NET_ACC_SPLITTER_TRACKER_DUMP_PATH": "defined in fxcore.passes.acc_nodes",
    "passes.splitter_base.ENV_FX_NET_ACC_SPLITTER_TRACKER_MODE": "defined in fxcore.passes.acc_nodes",
    "passes.splitter_base.ENV_FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES": "defined in fxcore.passes.acc_nodes",
    "passes.splitter_base.NODES_SUFFIX": "defined in fxcore.passes.acc_nodes",
    "passes.splitter_base.TRACKER_DUMP_PATH": "defined in fxcore.passes.acc_nodes",
    "passes.splitter_base.TRACKER_MODE": "the variable is read when a finder is created, not at import",
    "experimental.graph_gradual_typechecker.conv_rule": SYMPY,
    "experimental.graph_gradual_typechecker.register_algebraic_expressions_inference_rule": SYMPY,
    "experimental.graph_gradual_typechecker.Refine.convert_to_sympy_symbols": SYMPY,
    "experimental.graph_gradual_typechecker.Refine.infer_symbolic_relations": SYMPY,
    "experimental.graph_gradual_typechecker.Refine.symbolic_relations": SYMPY,
}
LOGGERS = {"log", "logger", "annotation_log"}


def load(package: str, path: str) -> ModuleType:
    return importlib.import_module(f"{package}.{path}".rstrip("."))


def defined(module: ModuleType) -> set[str]:
    """The public names that a module's text defines outside of any block, and those in its ``__all__``."""
    names = set(getattr(module, "__all__", ()))
    for statement in ast.parse(Path(str(module.__file__)).read_text()).body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")} - LOGGERS


def parameters(function: Any, receiver: int) -> dict[str, tuple[bool, str]]:
    """The parameters without stars: for each its name, whether it must be given by name, and its default, printed."""
    found = list(inspect.signature(function).parameters.values())[receiver:]
    found = [each for each in found if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return {each.name: (each.kind is each.KEYWORD_ONLY, printed(each.default)) for each in found}


def printed(default: Any) -> str:
    """A default for comparison: classes and functions, which are each library's own, by their names."""
    return getattr(default, "__name__", None) or str(default).replace("torch.fx.", "fxcore.").partition(" object at")[0]


def differences(name: str, theirs: Any, ours: Any, receiver: int = 0) -> Iterator[str]:
    """What a function of torch.fx has that fxcore's doesn't; fxcore's may have more, with defaults.

    ``receiver``: how many parameters are bound before the function is called: 1 for a method.
    """
    expected, found = parameters(theirs, receiver), parameters(ours, receiver)
    if any(each.kind is each.VAR_KEYWORD for each in inspect.signature(ours).parameters.values()):
        expected = {name: expected[name] for name in expected if name in found}  # the others are passed on
    yield from (f"{name}({parameter})" for parameter in expected if parameter not in found)
    common = [parameter for parameter in found if parameter in expected]
    yield from (f"{name}({p}) has another default" for p in common if expected[p] != found[p])
    positional = [[p for p, (by_name, _) in each.items() if not by_name] for each in (expected, found)]
    if positional[0] != positional[1][: len(positional[0])]:
        yield f"{name} has another order"
    needed = [parameter for parameter, (_, default) in found.items() if default == "_empty"]
    yield from (f"{name}({parameter}) is needed" for parameter in needed if parameter not in expected)


def lacking(path: str) -> Iterator[str]:
    """What a module of fxcore lacks of what torch.fx's of that path has."""
    theirs, ours = load("torch.fx", path), load("fxcore", path)
    for name in defined(theirs):
        full_name = f"{path}.{name}".lstrip(".")
        if not hasattr(ours, name):
            yield full_name
            continue
        value, own = getattr(theirs, name), getattr(ours, name)
        if inspect.isfunction(value):
            yield from differences(full_name, value, own)
        elif inspect.isclass(value) and value.__module__ == theirs.__name__:
            yield from lacking_members(full_name, value, own)


def lacking_members(name: str, theirs: type, ours: type) -> Iterator[str]:
    """What a class of fxcore lacks of what torch.fx's has."""
    if issubclass(theirs, enum.Enum):
        yield from (f"{name}.{key}" for key in theirs.__members__ if key not in getattr(ours, "__members__", ()))
    fields = getattr(theirs, "_fields", ())
    if fields != getattr(ours, "_fields", ())[: len(fields)]:
        yield f"{name}._fields"
    for key, member in vars(theirs).items():
        if key.startswith("_") and key != "__init__":
            continue
        if not hasattr(ours, key):
            if key not in inspect.getsource(ours):  # an attribute that each instance gets
                yield f"{name}.{key}"
        elif inspect.isfunction(member) and not issubclass(theirs, tuple):
            yield from differences(f"{name}.{key}", member, getattr(ours, key), receiver=1)


@pytest.mark.parametrize("path", MODULES)
def test_nothing_is_missing_without_a_reason(path: str) -> None:
    assert set(lacking(path)) - set(MISSING) == set()


def is_private(name: str) -> bool:
    return name.rpartition(".")[2].startswith("_")


def test_nothing_is_said_to_be_missing_that_is_there() -> None:
    assert {name for name in MISSING if not is_private(name)} <= {name for path in MODULES for name in lacking(path)}
    for path, _, name in (name.rpartition(".") for name in MISSING if is_private(name)):
        assert hasattr(load("torch.fx", path), name)
        assert not hasattr(load("fxcore", path), name)


def test_the_documentation_tells_of_every_module_and_missing_name() -> None:
    text = (ROOT / "docs" / "fxcore.md").read_text()
    left_out = re.findall(r"^\| `([\w.]+)` \|", text.partition("| Out |")[2].partition("\n## ")[0], re.MULTILINE)
    package = Path(str(torch.fx.__file__)).parent
    for file in package.rglob("*.py"):
        path = ".".join(file.relative_to(package).with_suffix("").parts).removesuffix("__init__").removesuffix(".")
        only_a_package = file.name == "__init__.py" and not defined(load("torch.fx", path))
        inside = any(path == each or path.startswith(f"{each}.") for each in left_out)
        assert path in MODULES or inside or only_a_package, path
    assert [path for path in MODULES if path and f"`{path}`" not in text] == []
    assert [name for name, reason in MISSING.items() if f"| `{name}` | {reason} |" not in text] == []


@pytest.mark.parametrize(("path", "name"), [(path, name) for path in IMPORTED for name in IMPORTED[path].split()])
def test_names_that_programs_import(path: str, name: str) -> None:
    theirs, ours = getattr(load("torch.fx", path), name), getattr(load("fxcore", path), name)
    assert callable(ours) == callable(theirs)
    if inspect.isfunction(theirs):
        assert len(parameters(ours, 0)) == len(parameters(theirs, 0))


def test_passes_are_imported_when_they_are_used() -> None:
    code = (
        "import sys, fxcore.passes\n"
        "assert 'fxcore.passes.param_fetch' not in sys.modules\n"
        "assert 'param_fetch' in dir(fxcore.passes)\n"
        "print(fxcore.passes.param_fetch.default_matching('weight', 1), hasattr(fxcore.passes, 'no_such_pass'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "weight False\n"
