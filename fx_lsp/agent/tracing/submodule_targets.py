"""Traces classes that no code shows how to build, as parts (submodules) of a module that was built, their host.

A part is traced alone first. If that fails, a trace of the host may still pass through the part, for example because
the host passes a list where the part alone gets a proxy. In that case the host's trace counts. If that ends before it
reaches a part that only the host can set up, the host is explored, past its failures. A base class is traced as a
subclass, its heir, that inherits its ``forward``, and built with the arguments that the heir passes on to its
constructor.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import torch

import fxcore
from fx_lsp.agent.building.build import Built, directed, inherits_forward, part_of
from fx_lsp.agent.building.shared_build import SharedBuild
from fx_lsp.agent.messages import Failure, Intent, Recipe, Report, Target
from fx_lsp.agent.missing.device_redirection import Devices
from fx_lsp.agent.missing.missing_uses import (
    called_stand_ins,
    context_managers,
    decorators,
    forget_uses,
    used_stand_in,
)
from fx_lsp.agent.random_seeds import seed
from fx_lsp.agent.traceback_steps import Belongs, to_failure
from fx_lsp.agent.tracing.doubtful_failures import condition_of, missing_dependency, reason_for_doubt_behind
from fx_lsp.agent.tracing.further_failures import Explored
from fx_lsp.agent.tracing.trace_target import ImportedFile, InconclusiveOnMeta, TargetRun
from fxcore.failures import TraceFailure


def held_classes(
    root: object, targets: tuple[Target, ...], file: ImportedFile
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Two groups of keys of ``targets``: those whose class a module below ``root`` has, and certain others.

    In the second group are those whose ``forward`` is inherited by ``root`` or by such a module.
    """
    held = _classes_below(root)
    classes = {target.key: file.namespace.get(target.symbol or "") for target in targets}
    return tuple(key for key, cls in classes.items() if cls in held), _inherited({*held, type(root)}, targets, file)


def _classes_below(root: object) -> set[type]:
    """The classes of the modules below ``root``."""
    if not isinstance(root, torch.nn.Module):
        return set()
    try:
        return {type(part) for path, part in root.named_modules() if path}
    except TypeError:  # a module that is a dataclass has no hash
        return set()


def _inherited(built: set[type], targets: tuple[Target, ...], file: ImportedFile) -> tuple[str, ...]:
    """The keys of ``targets`` from whose classes one of those that were ``built`` inherits its ``forward``."""
    classes = {target.key: file.namespace.get(target.symbol or "") for target in targets}
    return tuple(
        key for key, cls in classes.items() if cls not in built and any(inherits_forward(one, cls) for one in built)
    )


class Host:
    """A module with parts, which is built again before a trace if an earlier one has modified it."""

    def __init__(self, request: int, file: ImportedFile, make: Callable[[], Built], *, of_heirs: bool = False) -> None:
        """``of_heirs``: a part stands for a base class whose ``forward`` it inherits."""
        self._request = request
        self._of_heirs = of_heirs
        self._file = file
        self._make = make
        self._shared = SharedBuild(lambda on_meta: self._made())
        self._built: Built | None = None
        self._classes = set[type]()
        """Those of the host and of its parts."""
        self._used: str | None = None
        """The first stand-in that building the host used."""
        self.traced: list[TargetRun] = []
        """The runs of the parts that could be traced alone."""

    def inherited(self, targets: tuple[Target, ...]) -> tuple[str, ...]:
        """The keys of ``targets`` from whose classes the host or a part inherits ``forward``."""
        return _inherited(self._classes, targets, self._file)

    def report(self, target: Target) -> Report | None:
        """The report on the class of ``target``, from its first instance in the host; None if nothing is known."""
        cls = self._file.namespace[target.symbol or ""]
        run = TargetRun(self._request, target, self._file, lambda on_meta: self._part(cls, target.recipe))
        try:
            report = run.run(on_meta=True)
        except InconclusiveOnMeta:
            report = run.report("unchecked", reason="traced on its own, it raises an error")
        if self._used is not None:
            return None
        if self._of_heirs:
            return self._report_on_base(target, report, run)
        if report.outcome == "traced":
            self.traced.append(run)
            return report
        return self._report_in_host(cls, report)

    def _report_in_host(self, cls: type, report: Report) -> Report | None:
        """The report on a part of the class ``cls`` if the ``report`` on the part alone is that it does not trace."""
        self._built = None
        if report.outcome not in ("failed", "unchecked"):
            return None
        in_host = self._watched.report_on(cls, report)
        if in_host is not None or report.outcome == "unchecked":
            return in_host
        return dataclasses.replace(report, intent="assumed")

    def _report_on_base(self, target: Target, of_heir: Report, run: TargetRun) -> Report | None:
        """The report on a base class, given the report on its heir and the run that made it.

        That the heir traces counts without a condition if the base itself, built with the same arguments, traces to as
        many nodes; that the heir fails counts only if the base fails, too.
        """
        heir = type(run.root)
        base = self._run_of_base(target, heir)
        report = base.report if base is not None else None
        if of_heir.outcome == "traced":
            if base is not None and report is not None and (report.outcome, report.nodes) == ("traced", of_heir.nodes):
                self.traced.append(base.run)
                return dataclasses.replace(report, intent="assumed")
            self.traced.append(run)
            return self._as_heir(of_heir, heir.__name__)
        in_host = self._report_in_host(heir, of_heir)
        if in_host is not None and in_host.outcome == "traced":
            return self._as_heir(in_host, heir.__name__)
        if in_host is None or report is None or report.outcome != "failed":
            return None
        return dataclasses.replace(report, intent="assumed")

    def _run_of_base(self, target: Target, heir: type) -> _BaseRun | None:
        """A trace of the base class itself; None if it can't be built, or says nothing."""
        run = TargetRun(self._request, target, self._file, lambda on_meta: self._base(target, heir))
        try:
            return _BaseRun(run, run.run(on_meta=True))
        except Exception:  # it may be for the subclass to make it complete, and the constructor is called once more
            return None

    def _base(self, target: Target, heir: type) -> Built:
        """An instance of the base class, built with the arguments that an instance of ``heir`` passes on to it."""
        cls = self._file.namespace[target.symbol or ""]
        with _recording(cls, heir) as passed_on:
            host = self._make()
        args, kwargs = passed_on[-1]  # a search for arguments builds many instances; the last one is in the host
        with Devices(on_meta=True):
            root = cls(*args, **kwargs)
        built = dataclasses.replace(host, root=root, concrete_args=None, shown=f"{cls.__name__}(…)")
        own = dataclasses.replace(built, recipe=dataclasses.replace(host.recipe, inputs=None))
        return directed(own, target.recipe, self._file.workspace.file, self._file.namespace)

    def _made(self) -> Built:
        """The host; what building it uses of missing packages is remembered for all parts."""
        forget_uses()
        built = self._make()
        self._used = used_stand_in()
        self._classes = {*_classes_below(built.root), type(built.root)}
        return built

    @staticmethod
    def _as_heir(report: Report, heir: str) -> Report:
        """``report`` with the condition that it holds for the subclass ``heir``."""
        return dataclasses.replace(report, reason=", ".join(filter(None, (f"as its subclass `{heir}`", report.reason))))

    def _part(self, cls: type, recipe: Recipe) -> Built:
        """The part of the class ``cls``, or of its heir, to be traced as the directives of ``recipe`` say."""
        if self._built is None:
            self._built = self._shared.get(on_meta=True)
        return directed(
            part_of(self._built, cls, of_heirs=self._of_heirs), recipe, self._file.workspace.file, self._file.namespace
        )

    @cached_property
    def _watched(self) -> _HostTrace:
        return _HostTrace(partial(self._shared.get, on_meta=True), self._file.workspace.owns)


@dataclasses.dataclass(frozen=True)
class _BaseRun:
    """A trace of a base class, and its report."""

    run: TargetRun
    report: Report


@contextlib.contextmanager
def _recording(cls: Any, heir: type) -> Iterator[list[tuple[tuple[Any, ...], dict[str, Any]]]]:
    """Record the arguments with which instances of ``heir`` call the constructor of their base ``cls``."""
    passed_on: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    constructor = cls.__init__
    has_own = "__init__" in vars(cls)

    @functools.wraps(constructor)
    def recording(self: Any, *args: Any, **kwargs: Any) -> None:
        if type(self) is heir:
            passed_on.append((args, kwargs))
        constructor(self, *args, **kwargs)

    cls.__init__ = recording
    try:
        yield passed_on
    finally:
        if has_own:
            cls.__init__ = constructor
        else:
            del cls.__init__


class _HostTrace:
    """A trace of the whole host, and the classes that it passed through."""

    def __init__(self, build: Callable[[], Built], belongs: Belongs) -> None:
        """``build`` returns the host as it was built; ``belongs`` says which files are the program's."""
        self._build = build
        self._belongs = belongs
        host = build()
        self._tracer = _HostTracer(host.tracer)
        self._failure: Failure | None = None
        self._condition = condition_of(host.root)
        error: Exception | None = None
        seed()
        forget_uses()
        try:
            self._tracer.trace(host.root, host.concrete_args)
        except TraceFailure as failure:
            error = failure
            self._failure = to_failure(failure)
        except Exception:  # not a failure of tracing
            self._tracer.passed.clear()
        if _may_differ(error):
            self._tracer.passed.clear()
            self._failure = None

    def report_on(self, cls: type, alone: Report) -> Report | None:
        """The report on a part that can't be traced alone; None if no trace of the host reaches the part."""
        if cls in self._tracer.stopped and self._failure is not None:
            return dataclasses.replace(alone, outcome="failed", failures=(self._failure,), reason="")
        if cls in self._tracer.passed:
            return self._as_part(alone)
        if self._failure is None or alone.outcome != "unchecked" or self._explored is None:
            return None
        passed, found = self._explored
        fails, failures = found.within(cls)
        if failures:
            return dataclasses.replace(alone, outcome="failed", failures=failures, reason="")
        return self._as_part(alone) if cls in passed and not fails else None

    def _as_part(self, alone: Report) -> Report:
        """The report on a part that was traced with the host, given the report on the part alone."""
        reason = "as part of the module that contains it, but not alone"
        conditions = ", ".join(filter(None, (reason, self._condition)))
        return dataclasses.replace(alone, outcome="traced", failures=(), reason=conditions)

    @cached_property
    def _explored(self) -> tuple[set[type], Explored] | None:
        """A trace of the host that continues past failures, and the classes whose calls returned in it.

        None if the real host may behave differently.
        """
        host = self._build()
        tracer = _HostTracer(host.tracer)
        intent: Intent = "assumed" if host.recipe.made_up else "inferred"
        doubt = partial(reason_for_doubt_behind, built=host, intent=intent, belongs=self._belongs)
        seed()
        forget_uses()
        found = Explored(dataclasses.replace(host, tracer=tracer), None, doubt, with_order=False)
        return None if _may_differ() else (tracer.passed, found)


def _may_differ(error: Exception | None = None) -> bool:
    """Whether the real host may behave differently from the one that was just traced, as far as ``error`` shows."""
    return any((*called_stand_ins(), decorators(), context_managers())) or bool(missing_dependency(error=error))


class _HostTracer(fxcore.Tracer):
    """A tracer that records the classes whose calls returned, and the classes in whose calls the trace ended."""

    def __init__(self, like: Any) -> None:
        super().__init__()
        self.is_leaf_module = like.is_leaf_module  # type: ignore[method-assign]
        self.passed: set[type] = set()
        self.stopped: set[type] = set()

    def call_module(
        self, m: torch.nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Make the call and record how it ended."""
        try:
            result = super().call_module(m, forward, args, kwargs)
        except BaseException:
            self.stopped.add(type(m))
            raise
        self.passed.add(type(m))
        return result
