"""Which tests an older torch or Python can't run: torch 2.13's behaviour is what fxcore has, on every version.

Most tests compare with the installed torch.fx. Where that did otherwise in older versions, or lacked what is compared,
there is nothing to compare with.
"""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase

import torch

TORCH = tuple(int(number) for number in torch.__version__.split(".")[:2])

COLUMNS = sys.version_info >= (3, 11)
"""Whether Python knows where on a line an instruction comes from; and the qualified name of a function's code."""

_OPTIONS = "torch.fx's code had fewer options and other annotations"
_DEAD_ASSIGNMENTS = "torch.fx's code let go of values that nobody uses otherwise"
_LACKS = "torch.fx lacks what is compared"
_LINES = "Python 3.10 knows lines, not columns"

_CHANGED_IN_TORCH: tuple[tuple[tuple[int, int], str, tuple[str, ...]], ...] = (
    (
        (2, 13),
        _OPTIONS,
        (
            "*test_codegen.py::test_same_pytree_signature*",
            "*test_codegen.py::test_same_code*",
            "*test_codegen.py::test_same_boxed_signature*",
            "*test_graph_module.py::test_nested_graph_modules_are_shown_and_recompiled",
            "*test_graph_module.py::test_text_and_state_are_torch_fxs",
            "*test_node.py::test_format_node",
        ),
    ),
    (
        (2, 13),
        _LACKS,
        (
            "*test_graph.py::test_does_what_torch_fx_does[[]interchange_by_pickle[]]",
            "*test_interpreter.py::test_boxed_run_needs_a_value_for_each_placeholder*",
            "*test_node.py::test_is_impure",
            "*test_tracer_sessions.py::test_tracing_is_seen_by_the_traced_code_alone",
        ),
    ),
    (
        (2, 13),
        "torch.fx raised another type of error",
        ("*test_graph.py::test_fails_as_torch_fx_does[[]compare_with_number[]]",),
    ),
    (
        (2, 13),
        "torch.fx named a method of Tensor otherwise",
        ("*test_node.py::test_qualified_name[[]<function Tensor.backward*",),
    ),
    (
        (2, 8),
        _DEAD_ASSIGNMENTS,
        (
            "*test_tracer.py::test_concrete_args*",
            "*test_graph.py::test_does_what_torch_fx_does[[]targets_with_constants[]]",
        ),
    ),
    (
        (2, 8),
        _LACKS,
        (
            "*test_graph.py::test_does_what_torch_fx_does[[]dead_*",
            "*test_graph.py::test_does_what_torch_fx_does[[]deep_copy[]]",
            "*test_graph.py::test_does_what_torch_fx_does[[]edit_while_iterating[]]",
            "*test_graph.py::test_does_what_torch_fx_does[[]erase[]]",
            "*test_graph.py::test_does_what_torch_fx_does[[]insertion_points[]]",
            "*test_graph.py::test_fails_as_torch_fx_does[[]erase_foreign[]]",
            "*test_graph.py::test_fails_as_torch_fx_does[[]mutate_*",
            "*test_graph.py::test_fails_as_torch_fx_does[[]no_output[]]",
            "*test_graph.py::test_lint_finds_bad_targets*torch.fx[]]",
            "*test_graph_module.py::test_dead_code_in_graph_modules_that_are_read",
            "*test_graph_module.py::test_hooks_hear_of_edits",
            "*test_graph_module.py::test_unused_submodules_are_deleted_alike",
            "*test_interop.py::test_there_and_back[[]pytree[]]",
            "*test_node.py::test_immutable_collections_refuse_what_torch_fx_refuses[[]immutable_dict[]]",
            "*test_node.py::test_qualified_name*",
            "*test_node.py::test_type_repr[[]list*",
            "*test_failures.py::test_kind_place_and_type[[]return torch.ops.higher_order*",
            "*test_annotate_getitem_nodes.py::test_types*",
            "*test_cse_pass.py::test_programs*",
            "*test_fuser_utils.py::*",
            "*test_net_min_base.py::*",
            "*test_partitioner.py::*",
            "*test_split_module.py::test_runs_of_nodes*",
            "*test_split_utils.py::test_values_that_are_no_tensors_move*",
            "*test_tools_common.py::test_sorting*",
        ),
    ),
    (
        (2, 8),
        "torch.fx's pass, or torch's function, did otherwise",
        (
            "*test_shape_prop.py::test_metadata*",
            "*test_shape_prop.py::test_propagate*",
            "*test_subgraph_rewriter.py::test_replace_pattern*clamp*",
            "*test_source_matcher_utils.py::test_partitions*",
            "*test_subgraph_rewriter.py::test_random_programs*",
        ),
    ),
)
"""The first torch whose torch.fx is as it is now (as far as versions are tested), what was otherwise, and the tests."""

_NEEDS_COLUMNS = (
    *(
        f"*test_diagnosis.py::test_operation[[]{operation}-return*"
        for operation in ("and", "comprehension", "conditional", "if", "not", "or")
    ),
    "*test_diagnosis.py::test_operation[[]unpacking-a, [*]b = x[]]",
    "*test_diagnosis.py::test_who_refused[[]torch.finfo*",
    "*test_diagnosis.py::test_who_refused[[]torch.ones-ones*",
    "*test_source.py::test_columns_are_bytes",
    "*test_source.py::test_nodes_know_their_expressions",
    "*test_source.py::test_the_return_statement",
    "*test_tracer_sessions.py::test_a_failing_trace",
)


_BY_CHANCE = (
    "*test_diagnosis.py::test_who_refused[[]torch.finfo*",
    "*test_failures.py::test_kind_place_and_type[[]return torch.finfo*",
)
"""torch.finfo takes a traced value's memory for a dtype's: whether it refuses it depends on the layout of objects."""


def why_not(test: str) -> str | None:
    """Why ``test``, a pytest id, can't be run with the Python and the torch that are installed; None where it can."""
    for since, reason, patterns in _CHANGED_IN_TORCH:
        if since > TORCH and any(fnmatchcase(test, pattern) for pattern in patterns):
            return f"{reason} before torch {since[0]}.{since[1]}"
    if not COLUMNS and any(fnmatchcase(test, pattern) for pattern in _NEEDS_COLUMNS):
        return _LINES
    if sys.version_info >= (3, 13) and any(fnmatchcase(test, pattern) for pattern in _BY_CHANCE):
        return "torch.finfo reads what isn't a dtype as one, and refuses it by chance"
    return None
