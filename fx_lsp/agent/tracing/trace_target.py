"""Traces one target, and puts the outcome into a `Report`."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from fx_lsp.agent.building.build import Built, build_target, span_of
from fx_lsp.agent.building.impossible_calls import fails_for_all_arguments
from fx_lsp.agent.building.refused_defaults import may_be_for_its_defaults
from fx_lsp.agent.building.shared_build import SharedBuild
from fx_lsp.agent.importing.import_tolerance import FailedTrace, is_consequence
from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.importing.tried_imports import lacking_base, tried_import
from fx_lsp.agent.importing.workspace_importer import Workspace
from fx_lsp.agent.inventing.argument_synthesis import CannotInvent
from fx_lsp.agent.messages import STATIC_FORWARD, Costs, Details, Failure, Intent, Outcome, Report, Target
from fx_lsp.agent.missing.missing_modules import MissingModule
from fx_lsp.agent.missing.missing_uses import begin_trace, context_managers, decorators, forget_uses
from fx_lsp.agent.missing.missing_weights import lacks_file, lacks_weights, weights_are_missing
from fx_lsp.agent.processes.limits import is_out_of_memory, lift_memory_limit
from fx_lsp.agent.random_seeds import seed
from fx_lsp.agent.running.observation import Input, forward_of
from fx_lsp.agent.searching.example_inputs import example_input, values_for_exploring
from fx_lsp.agent.traceback_steps import (
    causes,
    chain_of_error,
    chain_of_frames,
    describe,
    is_about_meta,
    is_user_code,
    to_failure,
    told,
)
from fx_lsp.agent.tracing.doubtful_failures import (
    condition_of,
    is_missing,
    looks_up_in_invented,
    missing_dependency,
    reason_for_doubt,
    reason_for_doubt_behind,
    undecided_call,
)
from fx_lsp.agent.tracing.further_failures import Explored, Recorded, recorded_until
from fx_lsp.agent.tracing.graph_details import details_of, details_of_failing, inputs_for, only_input, parameter_count
from fx_lsp.agent.tracing.lacking_setup import lacking_setup
from fxcore.failures import FailureKind, TraceFailure, as_failure
from fxcore.graph import Graph
from fxcore.notices.watch import noticing
from fxcore.source.spans import Frame, definition_span

UNDEFINED = "its definition raises an error when the file is imported, possibly because something is missing"
"""The reason for giving no verdict on a class that a stand-in replaces."""

LONGEST_CODE = 200_000
"""The maximum number of characters of generated code in a report; a reader wants far fewer."""


DOUBTFUL = frozenset({FailureKind.EXCEPTION, FailureKind.FOREIGN_CALL})
"""Kinds of failure that a tensor without memory can cause."""


class InconclusiveOnMeta(Exception):
    """The failure may be due to the meta device; only a build on the CPU can show whether it is."""

    certain: Report | None = None
    """The report on a failure that no device can cause, which counts if the CPU has no room for the module."""


@dataclass(frozen=True)
class ImportedFile:
    """The file whose targets are traced."""

    workspace: Workspace
    namespace: dict[str, Any]
    """The namespace of its module."""
    complete: bool
    """Whether its code ran to the end.

    If not, it used the result of a failed call to torch.fx (see ``import_tolerance.py``), or only its definitions were
    run.
    """
    notices: tuple[Failure, ...] = ()
    """What the import had to do without, and the errors that were raised."""

    @property
    def classes(self) -> frozenset[str]:
        """The names of classes in the module's namespace."""
        return frozenset(name for name, value in self.namespace.items() if isinstance(value, type))


Make = Callable[[bool], Built]
"""Builds what is to be traced; the argument says whether to build it on the meta device."""


class TargetRun:
    """The build and trace of one target."""

    def __init__(
        self,
        request: int,
        target: Target,
        file: ImportedFile,
        make: Make | None = None,
        shared: SharedBuild | None = None,
    ) -> None:
        """``make`` builds what is traced; by default, the target's recipes do. ``shared`` may have been built ahead."""
        self._request = request
        self._target = target
        self._file = file
        self._shared = shared or SharedBuild(make or self._by_recipe)
        self._owns = file.workspace.owns
        self._start = time.perf_counter()
        self._built: Built | None = None
        self._left_out: dict[str, Any] | None = None
        """The optional inputs without which the program was traced, with their defaults, if it was."""
        self._explored: Explored | None = None
        self._graph: Graph | None = None
        """The graph of a program that was traced to its end."""
        self._recorded: Callable[[], Recorded] | None = None
        """For a failed trace: returns what was recorded."""

    def report(self, outcome: Outcome, *failures: Failure, nodes: int = 0, code: str = "", reason: str = "") -> Report:
        """The target's report, with the time since the run began."""
        seconds = time.perf_counter() - self._start
        report = Report(
            self._request, self._target.key, outcome, failures, nodes, code, seconds, time.process_time(), reason=reason
        )
        if self._built is None:
            return report
        recipe = self._built.recipe
        span = None if recipe.made_up else span_of(recipe, self._file.workspace.file)
        return dataclasses.replace(report, intent=self._intent, recipe=self._built.shown, recipe_span=span)

    @property
    def root(self) -> object:
        """What was built last; None if nothing was built."""
        return None if self._built is None else self._built.root

    def run(self, *, on_meta: bool) -> Report:
        """Build and trace. Raises `InconclusiveOnMeta` if that fails with ``on_meta`` and might not without it."""
        if not self._shared.is_unused:  # otherwise, what its build has used of missing packages counts
            forget_uses()
        return self._run(on_meta)

    def _run(self, on_meta: bool) -> Report:
        try:
            built = self._build(on_meta)
        except BaseException as error:
            return self._not_built(error, on_meta)
        if isinstance(built.root, FailedTrace):
            return self.report("skipped")
        if isinstance(built.root, StandIn | MissingModule) and self._target.intent != "explicit":
            if self._target.key.startswith("class:"):
                return self.report("unchecked", reason=UNDEFINED)
            return self.report("skipped")  # nothing of it is the program's own; it may be no module either
        if reason := missing_dependency(built.root):
            return self.report("unchecked", reason=reason)
        if not is_traceable(built.root):
            lacking = lacking_base(type(built.root))
            return self.report("unchecked", reason=is_missing(lacking.source)) if lacking else self.report("skipped")
        begin_trace()
        try:
            report, reason = self._traced(built), missing_dependency() or undecided_call()
        except BaseException as error:
            ended = error
        else:
            return self._decided(report, built, reason)
        if (tried := tried_import(ended)) and tried.provide():
            return self._run(on_meta)
        if reason := missing_dependency(error=ended):
            return self.report("unchecked", reason=reason)
        return self._without_success(ended, built, on_meta)

    def _without_success(self, ended: BaseException, built: Built, on_meta: bool) -> Report:
        """The report on a trace that ``ended``: on one without the optional inputs, if that shows more."""
        try:
            by_default = self._by_default(built, on_meta)
        except InconclusiveOnMeta as inconclusive:
            if not is_about_meta(inconclusive.__cause__):
                with contextlib.suppress(InconclusiveOnMeta):
                    failed = self._failed(ended, built, on_meta)
                    inconclusive.certain = inconclusive.certain or (failed if failed.outcome == "failed" else None)
            raise
        return by_default or self._failed(ended, built, on_meta)

    def _decided(self, report: Report, built: Built, reason: str | None) -> Report:
        """The ``report`` on a trace that came to its end; ``reason`` says why nothing is known all the same, if so."""
        tensors = getattr(built.tracer, "tensor_attrs", {})
        if reason is None and self._graph is not None and looks_up_in_invented(self._graph, tensors, built.root):
            reason = "it looks up an input in a value that fx-lsp invented"
        if reason is not None:
            return self.report("unchecked", reason=reason)
        condition = condition_of(built.root)
        return dataclasses.replace(report, reason=condition, parameters=0) if condition else report

    def _by_default(self, built: Built, on_meta: bool) -> Report | None:
        """Trace again without the optional inputs, if no code shows how to call the program.

        With proxies for these inputs, the program takes paths that hardly any caller takes. None if there are no
        optional inputs, if the program requires one of them all the same or can't be built again, or if nothing certain
        is known without them either. Otherwise they are left out whenever the program is built again.
        """
        optional = _optional_inputs(built.root) if self._intent == "assumed" and built.concrete_args is None else {}
        if not optional:
            return None
        self._left_out = optional
        report = self._without_optional(on_meta)
        if report is None:
            self._left_out = None
        return report

    def _without_optional(self, on_meta: bool) -> Report | None:
        """The report on a trace without the inputs that are left out; None if it shows nothing certain."""
        try:
            again = self._build(on_meta)
        except Exception:  # for example, there may be room for one such program, but not for two
            lift_memory_limit()  # all that is left to do is to report, which takes some memory
            return None
        around = [*decorators(), *context_managers()]
        try:
            forget_uses()
            report = self._traced(again)
            if missing_dependency() or undecided_call():
                return None
            if around:
                return self.report("unchecked", reason=f"it depends on `{around[0]}`, which is missing")
            conditions = ("without its optional inputs", condition_of(again.root))
            return dataclasses.replace(report, reason=", ".join(filter(None, conditions)))
        except BaseException as error:
            is_unknown = missing_dependency(error=error) or any("NoneType" in str(cause) for cause in causes(error))
            failed = None if is_unknown else self._failed(error, again, on_meta)
            return failed if failed and failed.outcome == "failed" else None

    def explore(self, first: Report, *, on_meta: bool, for_details: bool) -> Report:
        """``first``, the report of a failed trace, with all further failures that can be found."""
        built = self._build(on_meta)
        given = example_input(built.recipe.inputs, self._file.namespace)
        doubt = partial(reason_for_doubt_behind, built=built, intent=self._intent, belongs=self._owns)
        found = Explored(built, values_for_exploring(given, built.root), doubt, with_order=for_details)
        self._recorded, self._explored = found.recorded, found
        return self.report("failed", *found.failures(first.failures[0]))

    def explore_other_sides(self, explored: Report, *, on_meta: bool) -> Report:
        """``explored``, the report of `explore`, extended by the failures that occur if its assumptions are wrong."""
        assert self._explored is not None
        beyond = tuple(self._explored.on_other_sides(lambda: self._build(on_meta)))
        return dataclasses.replace(explored, failures=(*explored.failures, *beyond))

    def details(self, inputs: str) -> Iterator[Details]:
        """Yield details of the trace that was just reported; the last have the nodes' values if these were found.

        They are for ``inputs``, the arguments of a call in parentheses, or for an input to be found if that is empty.
        """
        if self._recorded is not None:
            yield details_of_failing(self._request, self._target.key, self._recorded())
            return
        assert self._built is not None
        yield from details_of(self._request, self._target.key, self._built, self._inputs_for(self._built, inputs))

    def costs(self, inputs: str) -> Costs:
        """What the program costs that was just traced; ``inputs`` as for `details`."""
        # Imported only here: torch's counter loads triton if that is installed, which no trace should wait for.
        from fx_lsp.agent.counting.cost_run import costs_of

        assert self._built is not None
        assert self._graph is not None
        if condition := condition_of(self._built.root):
            return Costs(self._request, self._target.key, reason=f"it was traced only {condition}")
        given = self._inputs_for(self._built, inputs)
        return costs_of(self._request, self._target.key, self._built, self._graph, given)

    def _inputs_for(self, built: Built, asked: str) -> Iterator[Input]:
        """The input that was ``asked`` for; if none was, inputs that the program may accept, the likeliest first."""
        seed()
        namespace = self._file.namespace
        if asked:
            return only_input(built, asked, namespace)
        return inputs_for(built, example_input(built.recipe.inputs, namespace), self._file.workspace.file, namespace)

    @property
    def _intent(self) -> Intent:
        """The intent of the recipe that was used."""
        if self._built is not None and self._built.recipe.made_up:
            return "assumed"
        return "inferred" if self._target.intent == "assumed" else self._target.intent

    def _by_recipe(self, on_meta: bool) -> Built:
        workspace = self._file.workspace
        return build_target(self._target, workspace.file, self._file.namespace, workspace.folders, on_meta=on_meta)

    def _build(self, on_meta: bool) -> Built:
        built = self._shared.get(on_meta=on_meta)
        self._built = dataclasses.replace(built, concrete_args=self._left_out) if self._left_out else built
        seed()
        return self._built

    def _traced(self, built: Built) -> Report:
        with noticing() as watch:
            graph = built.tracer.trace(built.root, built.concrete_args)
        self._graph = graph
        if graph.find_nodes(op="get_attr", target=""):
            raise _holds_root(built.root)
        notices = tuple(
            Failure(notice.kind.value, notice.detail, chain_of_frames(notice.frames))
            for notice in watch.notices(built.root, graph)
        )
        code = graph.python_code("self").src
        report = self.report("traced", nodes=len(graph.nodes), code=code[:LONGEST_CODE])
        return dataclasses.replace(report, notices=notices, parameters=parameter_count(built.root))

    def _not_built(self, error: BaseException, on_meta: bool) -> Report:
        if on_meta and self._target.fallbacks and isinstance(error, NameError):
            raise InconclusiveOnMeta from error  # on the CPU, the other recipes are tried, too
        if is_consequence(error) or (isinstance(error, NameError) and not self._file.complete):
            return self._lost()
        if self._is_undefined(error.__cause__ or error):
            return self.report("skipped")
        if is_out_of_memory(error):
            return self._out_of_memory(error)
        if reason := missing_dependency(error=error, building=True):
            return self.report("unchecked", reason=reason)
        if on_meta and not lacks_file(error.__cause__ or error):
            raise InconclusiveOnMeta from error
        is_invented = isinstance(error, CannotInvent)
        error = error.__cause__ if is_invented and error.__cause__ else error
        chain = chain_of_error(error, self._owns)
        if self._target.intent != "explicit" and (lacking := lacking_setup(error, self._owns)):
            return self.report("unchecked", reason=lacking)
        if (is_invented or self._is_left_to_callers(error)) and not self._fails_for_all_arguments(error):
            return self.report("unchecked", reason=could_not_invent(Failure("build", describe(error), chain)))
        is_own = isinstance(error, NameError)  # no weights would define the name
        is_short_of_data = not is_own and (lacks_weights(error) or weights_are_missing())
        reason = "it needs a file or weights that are not available" if is_short_of_data else ""
        return self.report("not-built", Failure("build", describe(error), chain), reason=reason)

    def _fails_for_all_arguments(self, error: BaseException | None) -> bool:
        """Whether the class can't be built with the arguments that fx-lsp invented, nor with any others."""
        cls = self._file.namespace.get(self._target.symbol or "")
        if error is None or isinstance(error, NameError):
            return error is not None
        return fails_for_all_arguments(cls, error, self._owns, self._file.workspace.folders)

    def _is_left_to_callers(self, error: BaseException) -> bool:
        """Whether ``error`` ended a call without arguments that nothing in the workspace makes, and others may help."""
        target = self._target
        if target.intent == "explicit" or not target.is_called_without_arguments:
            return False
        is_shown = any(recipe.root.source == target.recipe.root.source for recipe in target.fallbacks)
        cls = self._file.namespace.get(target.symbol or "")
        return not is_shown and may_be_for_its_defaults(cls, error, self._owns)

    def _is_undefined(self, error: BaseException) -> bool:
        """Whether the target does not exist here: the file defines it under a condition that does not hold."""
        symbol = self._target.symbol or ""
        is_name = isinstance(error, NameError) and error.name == symbol
        return is_name and self._target.intent != "explicit" and symbol not in self._file.namespace

    def _lost(self) -> Report:
        """The report on a target that the import did not define, with the notices that say where the import ended."""
        ended = [notice for notice in self._file.notices if notice.kind in ("import", "definitions-only")]
        return self.report("not-imported", *ended) if ended else self.report("skipped")

    def _failed(self, error: BaseException, built: Built, on_meta: bool) -> Report:
        if is_out_of_memory(error):
            return self._out_of_memory(error)
        if on_meta and not (isinstance(error, TraceFailure) and error.kind not in DOUBTFUL):
            inconclusive = InconclusiveOnMeta()
            if isinstance(error, TraceFailure) and _is_refused_as_traced(error):
                refused = None if is_about_meta(error) else self._failed(error, built, on_meta=False)
                inconclusive.certain = refused if refused and refused.outcome == "failed" else None
            raise inconclusive from error
        if reason := reason_for_doubt(error, built, self._intent, self._owns, self._file.workspace.folders):
            return self.report("unchecked", reason=reason)
        self._recorded = partial(recorded_until, error, built)
        if isinstance(error, TraceFailure):
            failure = to_failure(error)
            if isinstance(inspect.getattr_static(type(built.root), "forward", None), staticmethod):
                failure = dataclasses.replace(failure, kind="call-binding", operation=STATIC_FORWARD)
        else:  # such as SystemExit
            failure = Failure("exception", describe(error), chain_of_error(error, is_user_code))
        return self.report("failed", failure)

    def _out_of_memory(self, error: BaseException) -> Report:
        lift_memory_limit()
        chain = chain_of_error(error, self._owns)
        return self.report("out-of-memory", Failure("memory-limit", describe(error), chain))


def _is_refused_as_traced(failure: TraceFailure) -> bool:
    """Whether a call was refused because of a traced value, not because of a tensor without memory."""
    is_refused = failure.kind is FailureKind.FOREIGN_CALL
    return is_refused and (failure.node is not None or _NO_ARRAY in str(failure.__cause__ or failure))


_NO_ARRAY = "__array_struct__"
"""In NumPy's message about a traced value that should be an array, since that has every attribute."""


def _holds_root(root: Any) -> TraceFailure:
    """The failure of a program that passes itself to an operation, as a static ``forward`` does with its first input.

    It can be traced, but no module can be made of the graph, which has no name for the module that was traced.
    """
    error = AttributeError(f"{type(root).__name__!r} object has no attribute ''")
    failure = as_failure(error, FailureKind.ARGUMENT)
    code = inspect.unwrap(forward_of(root)).__code__
    span = definition_span(code)
    failure.frames = () if span is None else (Frame(getattr(code, "co_qualname", code.co_name), span),)
    return failure


def could_not_invent(failure: Failure) -> str:
    """The reason for giving no verdict on a class if ``failure`` is what the best of the invented arguments led to."""
    return f"fx-lsp could not invent arguments for it: {told(failure)}"


def is_explorable(report: Report) -> bool:
    """Whether there may be more failures after the reported one: the program failed while it was being traced."""
    kinds = {kind.value for kind in FailureKind} - {FailureKind.CALL_BINDING.value}
    return report.outcome == "failed" and report.failures[0].kind in kinds


def is_traceable(root: object) -> bool:
    """Whether a tracer accepts ``root``: a module, or a function or method written in Python."""
    return isinstance(root, torch.nn.Module) or (callable(root) and hasattr(inspect.unwrap(root), "__code__"))


def _optional_inputs(root: object) -> dict[str, Any]:
    """The parameters of a module's ``forward`` that may be left out, with their defaults."""
    if not isinstance(root, torch.nn.Module):
        return {}
    parameters = inspect.signature(root.forward).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not one.empty}
