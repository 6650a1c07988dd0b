"""Which tests fail with another torch or an older Python: torch 2.13's behaviour is what fxcore has, on every version.

Most tests compare with the installed torch.fx. Where that does otherwise in other versions, or lacks what is compared,
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
        "torch.fx wrote annotations, comments and colours in its code otherwise",
        """
        test_codegen.py::test_same_code[[]annotated-
        test_codegen.py::test_same_code[[]noted-*verbose
        test_codegen.py::test_same_code[[]without_nodes_but_output-*colored
        test_codegen.py::test_same_code_by_environment
        test_codegen.py::test_same_pytree_signature[[]annotated-
        test_graph_module.py::test_nested_graph_modules_are_shown_and_recompiled
        test_graph_module.py::test_text_and_state_are_torch_fxs
        """,
    ),
    (
        (2, 13),
        "torch.fx lacks a function or an argument",
        """
        test_codegen.py::test_same_boxed_signature
        test_const_fold.py::test_inlining[[]
        test_fuser_utils.py::test_one_group_is_fused_as_in_torch_fx
        test_node.py::test_format_node
        test_partitioner.py::test_partition
        test_pass_manager.py::test_wrappers
        test_split_module.py::test_random_programs
        test_split_module.py::test_runs_of_nodes[[]*partition_affix
        test_split_module.py::test_runs_of_nodes[[]*tuple_return
        test_split_module.py::test_simple_split_by_a_table
        test_split_utils.py::test_values_that_are_no_tensors_move
        test_splitter_base.py::test_event_files
        test_splitter_base.py::test_split[[]*move_non_tensor_nodes_on_boundary
        test_subgraph_rewriter.py::test_each_option_of_replacement_does_what_it_does_in_torch_fx[[]by
        test_tools_common.py::test_sorting*[[]*stable_topological_sort
        test_traceback.py::test_annotations_nest
        test_trace_session.py::test_tracing_is_seen_by_the_traced_code_alone
        """,
    ),
    (
        (2, 13),
        "torch.fx lacks a check",
        """
        test_fuser_utils.py::test_nodes_that_cannot_be_fused
        test_interpreter.py::test_boxed_run_needs_a_value_for_each_placeholder
        """,
    ),
    (
        (2, 13),
        "torch.fx did otherwise",
        """
        test_const_fold.py::test_folding[[]Random-True[]]
        test_const_fold.py::test_nodes_can_be_kept[[]add[]]
        test_cse_pass.py::test_common_subexpressions_are_merged_as_in_torch_fx[[]*-different[]]
        test_cse_pass.py::test_common_subexpressions_are_merged_as_in_torch_fx[[]True-random_numbers[]]
        test_fake_tensor_prop.py::test_propagate[[]branches[]]
        test_fake_tensor_prop.py::test_propagate[[]numbers[]]
        test_graph.py::test_does_what_torch_fx_does[[]interchange_by_pickle[]]
        test_node.py::test_is_impure
        test_partitioner.py::test_items_go_with_their_tuple[[]True-names[01][]]
        test_partitioner.py::test_resnet
        test_split_utils.py::test_dotted_attributes
        test_traceback.py::test_a_stack_that_is_set
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
        test_explorer.py::test_what_torch_may_ask_in_vain_is_no_site[[]*.arange(4).
        test_explorer.py::test_what_torch_may_ask_in_vain_is_no_site[[]*torch.full
        test_explorer.py::test_what_torch_may_ask_in_vain_is_no_site[[]*torch.narrow
        test_explorer.py::test_what_torch_may_ask_in_vain_is_no_site[[]*torch.tril
        test_explorer.py::test_what_torch_may_ask_in_vain_is_no_site[[]*torch.zeros
        test_watch.py::test_a_harmless_program_gives_no_notice_of_the_kind[[]*torch.rand(x.shape)
        test_watch.py::test_a_harmless_program_gives_no_notice_of_the_kind[[]*device=x.device
        """,
    ),
    (
        (2, 8),
        "torch.fx wrote constant tensors in its code otherwise",
        """
        test_codegen.py::test_same_code[[]everything-
        test_codegen.py::test_same_pytree_signature[[]everything-
        """,
    ),
    (
        (2, 8),
        "torch.fx lacks a function or an argument",
        """
        test_failures.py::test_kind_place_and_type[[]return torch.ops.higher_order
        test_graph.py::test_does_what_torch_fx_does[[]dead_code[]]
        test_graph.py::test_fails_as_torch_fx_does[[]no_output[]]
        test_graph_module.py::test_hooks_hear_of_edits
        test_net_min_base.py::test_running_a_stretch
        test_node.py::test_qualified_name[[]
        test_split_module.py::test_runs_of_nodes[[]*keep_original_input_name
        test_subgraph_rewriter.py::test_replacement_made_for_each_match
        test_tools_common.py::test_names_of_targets
        test_traceback.py::test_an_interpreter_on_proxies
        """,
    ),
    (
        (2, 8),
        "torch.fx raised another type of error",
        """
        test_fuser_utils.py::test_several_groups
        test_graph.py::test_fails_as_torch_fx_does[[]mutate_
        test_node.py::test_immutable_collections_refuse_what_torch_fx_refuses[[]immutable_dict[]]
        """,
    ),
    (
        (2, 8),
        "torch.fx named types and scopes otherwise",
        """
        test_annotate_getitem_nodes.py::test_items_get_the_types_that_torch_fx_gives[[]list
        test_annotate_getitem_nodes.py::test_items_get_the_types_that_torch_fx_gives[[]tuple
        test_node.py::test_type_repr[[]list
        test_operator_schemas.py::test_type_hints[[]*[])][]]
        test_operator_schemas.py::test_type_matching_of_every_annotation
        test_parity.py::test_classifier[[]resnet50
        test_parity.py::test_classifier[[]swin_t
        """,
    ),
    (
        (2, 8),
        "torch.fx did otherwise",
        """
        test_const_fold.py::test_folding[[]Everything
        test_graph_module.py::test_dead_code_in_graph_modules_that_are_read
        test_net_min_base.py::test_bad_use
        test_net_min_base.py::test_excluded_nodes[[]sequential[]]
        test_net_min_base.py::test_one_culprit[[]block-arguments[3458]-run
        test_optimization.py::test_fusing[[]Blocks
        test_random_programs.py::test_same_split
        test_shape_prop.py::test_metadata[[]*-co[mo]*s[]]
        test_split_module.py::test_regions_of_global_state[[]1[]]
        test_traceback.py::test_a_transformer
        """,
    ),
)
"""The first torch whose torch.fx is as it is now, as far as versions are tested; what was otherwise; and the tests that
compare with it, by what is in their ids."""

_DIFFERENT_IN_NEWER_TORCH: tuple[tuple[tuple[int, int], str, str], ...] = (
    (
        (2, 14),
        "torch.fx writes complex numbers such as 1j as calls of complex, and unions of types as typing_Union",
        """
        test_codegen.py::test_same_code[[]annotated-
        test_codegen.py::test_same_code[[]everything-
        test_codegen.py::test_same_pytree_signature[[]annotated-
        test_codegen.py::test_same_pytree_signature[[]everything-
        test_tracer.py::test_function[[]*1j
        """,
    ),
    (
        (2, 14),
        "torch.fx writes no space at the end of a line that annotates parameters",
        "test_interop.py::test_a_module_converted_to_torch_fx_and_back_is_the_same[[]pytree[]]",
    ),
    (
        (2, 14),
        "torch.fx orders the inputs of a fused module as the graph's where all of them are inputs of the graph",
        """
        test_fuser_utils.py::test_one_group_is_fused_as_in_torch_fx[[]names3-
        test_partitioner.py::test_random_graphs[[]
        """,
    ),
    (
        (2, 14),
        "torch.fx gives operators with several results the return annotation tuple[...], not a tuple of types",
        "test_operator_schemas.py::test_signatures_of_every_operator",
    ),
)
"""The first torch whose torch.fx is no longer like fxcore; what it does otherwise; and the tests, as above."""

_NEEDS_COLUMNS = """
    test_diagnosis.py::test_a_failure_names_the_operation[[]and-return
    test_diagnosis.py::test_a_failure_names_the_operation[[]comprehension-return
    test_diagnosis.py::test_a_failure_names_the_operation[[]conditional-return
    test_diagnosis.py::test_a_failure_names_the_operation[[]if-return
    test_diagnosis.py::test_a_failure_names_the_operation[[]not-return
    test_diagnosis.py::test_a_failure_names_the_operation[[]or-return
    test_diagnosis.py::test_a_failure_names_the_operation[[]unpacking-a, [*]b = x[]]
    test_diagnosis.py::test_a_foreign_call_names_the_function_that_refused[[]torch.finfo
    test_diagnosis.py::test_a_foreign_call_names_the_function_that_refused[[]torch.ones-ones
    test_explorer.py::test_all_failures_are_found_by_guessing
    test_explorer.py::test_examples_lead_the_real_way
    test_explorer.py::test_loops_without_end_are_left
    test_watch.py::test_a_place_is_noted_once_with_the_way_there
    test_spans.py::test_columns_are_bytes
    test_spans.py::test_nodes_know_their_expressions
    test_spans.py::test_the_return_statement
    test_trace_session.py::test_a_failing_trace
"""

_BY_CHANCE = """
    test_diagnosis.py::test_a_foreign_call_names_the_function_that_refused[[]torch.finfo
    test_failures.py::test_kind_place_and_type[[]return torch.finfo
"""
"""torch.finfo takes a traced value's memory for a dtype's: whether it refuses it depends on the layout of objects."""


def why_not(test: str) -> str | None:
    """Why ``test``, a pytest id, should fail with the Python and the torch that are installed; None: it shouldn't."""
    for since, reason, tests in _CHANGED_IN_TORCH:
        if since > TORCH and _among(tests, test):
            return f"{reason} before torch {since[0]}.{since[1]}"
    for since, reason, tests in _DIFFERENT_IN_NEWER_TORCH:
        if since <= TORCH and _among(tests, test):
            return f"{reason} since torch {since[0]}.{since[1]}"
    if not COLUMNS and _among(_NEEDS_COLUMNS, test):
        return _LINES
    if sys.version_info >= (3, 13) and _among(_BY_CHANCE, test):
        return "torch.finfo reads what isn't a dtype as one, and refuses it by chance"
    return None


def _among(tests: str, test: str) -> bool:
    return any(fnmatchcase(test, f"*{line.strip()}*") for line in tests.strip().splitlines())


def expected_to_fail() -> list[str]:
    """All tests that are named here, as ``file.py::name`` and what may follow."""
    changes = (*_CHANGED_IN_TORCH, *_DIFFERENT_IN_NEWER_TORCH)
    lists = [*(tests for _, _, tests in changes), _NEEDS_COLUMNS, _BY_CHANCE]
    return [line.strip() for tests in lists for line in tests.strip().splitlines()]
