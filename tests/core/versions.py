"""Which tests fail with an older torch or Python: torch 2.13's behaviour is what fxcore has, on every version.

Most tests compare with the installed torch.fx. Where that did otherwise in older versions, or lacked what is compared,
they are expected to fail. They are run all the same: ``pytest -rX`` names those of them that pass.
"""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase

import torch

TORCH = tuple(int(number) for number in torch.__version__.split(".")[:2])

COLUMNS = sys.version_info >= (3, 11)
"""Whether Python knows where on a line an instruction comes from; and the qualified name of a function's code."""

_LINES = "Python 3.10 knows lines, not columns, and no qualified names of code"

_CHANGED_IN_TORCH: tuple[tuple[tuple[int, int], str, str], ...] = (
    (
        (2, 13),
        "torch.fx's code had fewer options and other annotations",
        """
        test_codegen.py::test_same_boxed_signature
        test_codegen.py::test_same_code
        test_codegen.py::test_same_pytree_signature
        test_graph_module.py::test_nested_graph_modules_are_shown_and_recompiled
        test_graph_module.py::test_text_and_state_are_torch_fxs
        test_node.py::test_format_node
        """,
    ),
    (
        (2, 13),
        "torch.fx lacks a function, an argument or metadata that is compared",
        """
        test_const_fold.py::test_inlining[[]
        test_cse_pass.py::test_programs[[]*-different[]]
        test_cse_pass.py::test_programs[[]True-random_numbers[]]
        test_fake_tensor_prop.py::test_propagate[[]branches[]]
        test_fake_tensor_prop.py::test_propagate[[]numbers[]]
        test_fuser_utils.py::test_nodes_that_cannot_be_fused
        test_fuser_utils.py::test_one_group
        test_fuser_utils.py::test_sorting_and_validating
        test_graph.py::test_does_what_torch_fx_does[[]interchange_by_pickle[]]
        test_interpreter.py::test_boxed_run_needs_a_value_for_each_placeholder
        test_node.py::test_is_impure
        test_partitioner.py::test_random_graphs[[]*-True[]]
        test_pass_manager.py::test_wrappers
        test_split_module.py::test_simple_split_by_a_table
        test_splitter_base.py::test_event_files
        test_splitter_base.py::test_split[[]*move_non_tensor_nodes_on_boundary
        test_tools_common.py::test_sorting*[[]*stable_topological_sort
        test_tracer_sessions.py::test_tracing_is_seen_by_the_traced_code_alone
        """,
    ),
    (
        (2, 13),
        "torch.fx's pass did otherwise",
        """
        test_const_fold.py::test_folding[[]Random-True[]]
        test_const_fold.py::test_nodes_can_be_kept[[]add[]]
        test_partitioner.py::test_items_go_with_their_tuple[[]True-
        test_partitioner.py::test_partition
        test_partitioner.py::test_resnet
        test_source_matcher_utils.py::test_partitions
        test_split_module.py::test_random_programs
        test_split_module.py::test_runs_of_nodes
        test_split_module.py::test_torchvision_models
        test_split_utils.py::test_dotted_attributes
        test_split_utils.py::test_values_that_are_no_tensors_move
        """,
    ),
    (
        (2, 13),
        "torch.fx raised another type of error",
        "test_graph.py::test_fails_as_torch_fx_does[[]compare_with_number[]]",
    ),
    (
        (2, 13),
        "torch.fx named a method of Tensor, or gave the signature of an operator, otherwise",
        """
        test_node.py::test_qualified_name[[]<function Tensor.backward
        test_operator_schemas.py::test_signatures_of_every_operator
        """,
    ),
    (
        (2, 13),
        "torch's functions that make tensors refuse traced values",
        """
        test_explore.py::test_what_torch_may_ask_in_vain_is_no_site
        test_notices.py::test_silent[[]*torch.rand(x.shape)
        test_notices.py::test_silent[[]*device=x.device
        """,
    ),
    (
        (2, 8),
        "torch.fx's code let go of values that nobody uses otherwise",
        """
        test_graph.py::test_does_what_torch_fx_does[[]targets_with_constants[]]
        test_tracer.py::test_concrete_args
        """,
    ),
    (
        (2, 8),
        "torch.fx lacks a function, a check or an argument that is compared",
        """
        test_annotate_getitem_nodes.py::test_types[[]list
        test_annotate_getitem_nodes.py::test_types[[]tuple
        test_const_fold.py::test_folding[[]Everything
        test_failures.py::test_kind_place_and_type[[]return torch.ops.higher_order
        test_fuser_utils.py::test_several_groups
        test_graph.py::test_does_what_torch_fx_does[[]dead_
        test_graph.py::test_does_what_torch_fx_does[[]deep_copy[]]
        test_graph.py::test_does_what_torch_fx_does[[]edit_while_iterating[]]
        test_graph.py::test_does_what_torch_fx_does[[]erase[]]
        test_graph.py::test_does_what_torch_fx_does[[]insertion_points[]]
        test_graph.py::test_fails_as_torch_fx_does[[]erase_foreign[]]
        test_graph.py::test_fails_as_torch_fx_does[[]mutate_
        test_graph.py::test_fails_as_torch_fx_does[[]no_output[]]
        test_graph.py::test_lint_finds_bad_targets[[]*torch.fx[]]
        test_graph_module.py::test_dead_code_in_graph_modules_that_are_read
        test_graph_module.py::test_hooks_hear_of_edits
        test_graph_module.py::test_unused_submodules_are_deleted_alike
        test_interop.py::test_there_and_back[[]pytree[]]
        test_net_min_base.py::test_bad_use
        test_net_min_base.py::test_excluded_nodes[[]sequential[]]
        test_net_min_base.py::test_one_culprit[[]block-arguments[3458]-run
        test_net_min_base.py::test_running_a_stretch
        test_node.py::test_immutable_collections_refuse_what_torch_fx_refuses[[]immutable_dict[]]
        test_node.py::test_qualified_name
        test_node.py::test_type_repr[[]list
        test_subgraph_rewriter.py::test_options[[]by
        test_subgraph_rewriter.py::test_replacement_made_for_each_match
        test_tools_common.py::test_names_of_targets
        test_traceback.py::test_a_stack_that_is_set
        test_traceback.py::test_a_transformer
        test_traceback.py::test_an_interpreter_on_proxies
        test_traceback.py::test_annotations_nest
        """,
    ),
    (
        (2, 8),
        "torch.fx's pass, or torch's function, did otherwise",
        """
        test_graph_manipulation.py::test_sizes[[]resnet18[]]
        test_operator_schemas.py::test_type_
        test_optimization.py::test_fusing[[]Blocks
        test_parity.py::test_classifier[[]resnet50
        test_parity.py::test_classifier[[]swin_t
        test_random_programs.py::test_same_graph_under_edits
        test_random_programs.py::test_same_split
        test_shape_prop.py::test_metadata
        test_shape_prop.py::test_propagate
        test_split_module.py::test_regions_of_global_state
        test_subgraph_rewriter.py::test_random_programs
        test_subgraph_rewriter.py::test_replace_pattern
        """,
    ),
)
"""The first torch whose torch.fx is as it is now, as far as versions are tested; what was otherwise; and the tests that
compare with it, by what is in their ids."""

_NEEDS_COLUMNS = """
    test_diagnosis.py::test_operation[[]and-return
    test_diagnosis.py::test_operation[[]comprehension-return
    test_diagnosis.py::test_operation[[]conditional-return
    test_diagnosis.py::test_operation[[]if-return
    test_diagnosis.py::test_operation[[]not-return
    test_diagnosis.py::test_operation[[]or-return
    test_diagnosis.py::test_operation[[]unpacking-a, [*]b = x[]]
    test_diagnosis.py::test_who_refused[[]torch.finfo
    test_diagnosis.py::test_who_refused[[]torch.ones-ones
    test_explore.py::test_all_failures_are_found_by_guessing
    test_explore.py::test_examples_lead_the_real_way
    test_explore.py::test_loops_without_end_are_left
    test_notices.py::test_a_place_is_noted_once_with_the_way_there
    test_source.py::test_columns_are_bytes
    test_source.py::test_nodes_know_their_expressions
    test_source.py::test_the_return_statement
    test_tracer_sessions.py::test_a_failing_trace
"""

_BY_CHANCE = """
    test_diagnosis.py::test_who_refused[[]torch.finfo
    test_failures.py::test_kind_place_and_type[[]return torch.finfo
"""
"""torch.finfo takes a traced value's memory for a dtype's: whether it refuses it depends on the layout of objects."""


def why_not(test: str) -> str | None:
    """Why ``test``, a pytest id, should fail with the Python and the torch that are installed; None: it shouldn't."""
    for since, reason, tests in _CHANGED_IN_TORCH:
        if since > TORCH and _among(tests, test):
            return f"{reason} before torch {since[0]}.{since[1]}"
    if not COLUMNS and _among(_NEEDS_COLUMNS, test):
        return _LINES
    if sys.version_info >= (3, 13) and _among(_BY_CHANCE, test):
        return "torch.finfo reads what isn't a dtype as one, and refuses it by chance"
    return None


def _among(tests: str, test: str) -> bool:
    return any(fnmatchcase(test, f"*{line.strip()}*") for line in tests.strip().splitlines())
