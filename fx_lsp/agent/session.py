"""One request, in a process of its own: import the file once, then trace each target in a child that starts from it."""

from __future__ import annotations

import linecache
import sys
import time
from collections.abc import Collection
from types import FrameType

import torch

from fxcore.accelerators import OnCpu, may_use_accelerator

from .build import SEED
from .children import Emit
from .denials import telling
from .devices import Devices, stand_in_for_accelerators
from .imports import Workspace, third_party
from .limits import is_out_of_memory, lift_memory_limit, limit_memory, time_limit
from .loading import Loading
from .messages import Failure, Outcome, Report, Trace
from .places import chain_of_error, chain_of_frame, describe
from .rounds import Imported, Targets
from .trace import ImportedFile
from .untraced import failures_tolerated


class Session:
    """The work on one `Trace`."""

    def __init__(self, request: Trace, builtin: Collection[str], emit: Emit) -> None:
        self._request = request
        self._workspace = Workspace(request, builtin)
        self._emit = telling(emit, self._workspace.owns)

    def run(self) -> None:
        """Import, trace, and emit `Imported` and one `Report` for each target."""
        file = self.imported()
        if file is not None:
            Targets(self._request, file, self._emit).run()

    def imported(self) -> ImportedFile | None:
        """The imported file; None where it could not be imported, which has then been reported.

        From here on this process is one for the code of the user.
        """
        limit_memory(self._request.limits.memory_mb)
        stand_in_for_accelerators()
        before = frozenset(sys.modules)
        torch.manual_seed(SEED)
        try:
            name = self._workspace.enter()
            with time_limit(self._request.limits.seconds, self._import_timed_out), failures_tolerated(), Devices():
                loaded = Loading(self._workspace, name).run()
        except BaseException as error:
            self._import_failed(error)
            return None
        if any(may_use_accelerator("".join(linecache.getlines(path))) for path in self._workspace.dependencies):
            OnCpu().__enter__()  # type: ignore[no-untyped-call]  # for as long as this process lives, and those that it forks
        new = [module for module in sys.modules if module not in before]
        self._emit(Imported(self._workspace.dependencies, third_party(new, self._workspace)))
        return ImportedFile(self._workspace, vars(loaded.module), loaded.complete, loaded.notices)

    def _import_failed(self, error: BaseException) -> None:
        chain = chain_of_error(error, self._workspace.owns)
        if is_out_of_memory(error):
            lift_memory_limit()
            self._give_up("out-of-memory", Failure("memory-limit", describe(error), chain))
        else:
            self._give_up("not-imported", Failure("import", describe(error), chain))

    def _import_timed_out(self, frame: FrameType | None) -> None:
        seconds = self._request.limits.seconds
        error = f"the import took longer than {seconds:g} seconds"
        self._give_up("timed-out", Failure("time-limit", error, chain_of_frame(frame, self._workspace.owns)))

    def _give_up(self, outcome: Outcome, failure: Failure) -> None:
        self._emit(Imported(self._workspace.dependencies))
        for target in self._request.targets:
            self._emit(Report(self._request.id, target.key, outcome, (failure,), processor_seconds=time.process_time()))
