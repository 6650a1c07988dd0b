"""Loads torch and fxcore before the first request."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import sys
from pathlib import Path
from types import ModuleType

from fx_lsp.agent.own_files import AGENT_FOLDER
from fx_lsp.agent.running.compiler_delay import spare_compiler

TESTED = "2.4 to 2.14"
"""The versions of torch that fx-lsp was tested with."""


def load_torch(fxcore_folder: str) -> tuple[str | None, str | None]:
    """Load torch and fxcore; return torch's version, or None and a sentence that says why torch can't be used."""
    # The accelerators are left to the user's own work: initializing one takes seconds and some of its memory, and a
    # process that has done so can't fork.
    os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["HIP_VISIBLE_DEVICES"] = ""
    os.environ["TORCH_SYMBOLIZE_MODE"] = "dladdr"  # torch would start addr2line, which the sandbox denies
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # torch asks for huge pages for its large tensors
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name == "torch":
            return None, "torch is not installed in this Python."
        return None, f"torch is installed in this Python but can't be imported: {error}."
    except Exception as error:  # a broken installation may raise anything
        return None, f"torch is installed in this Python but can't be imported: {type(error).__name__}: {error}."
    try:
        spare_compiler()
        speed_up_inspect_stack()
        _load_fxcore(fxcore_folder)
        _trace_something()
    except Exception as error:
        version = getattr(torch, "__version__", "of unknown version")  # a folder that is left of a torch has none
        return None, f"torch {version} can't be used for tracing: {_why_torch_does_not_fit(error)}"
    return torch.__version__, None


def _why_torch_does_not_fit(error: Exception) -> str:
    """What ``error`` says about this torch, in sentences; if a name is missing, also what the user can do."""
    name = _missing_name(error)
    if name is None:
        return f"{type(error).__name__}: {error}."
    return f"it lacks {name}, which fx-lsp needs. Update fx-lsp, or install a torch that it was tested with ({TESTED})."


def _missing_name(error: Exception) -> str | None:
    """The full name in torch that was looked up in vain; None if ``error`` has another cause."""
    name = None
    if isinstance(error, ModuleNotFoundError):
        name = error.name
    elif isinstance(error, ImportError):
        said = re.search(r"cannot import name '(\w+)'", str(error))
        name = said and f"{error.name}.{said[1]}"
    elif isinstance(error, AttributeError) and isinstance(error.obj, ModuleType | type):
        owner = f"{error.obj.__module__}." if isinstance(error.obj, type) else ""
        name = f"{owner}{error.obj.__name__}.{error.name}"
    return name if name and name.startswith("torch.") else None


def speed_up_inspect_stack() -> None:
    """Let `inspect.stack` know at once that the frames of an import belong to no file.

    Otherwise it looks through all loaded modules for each of these frames, every time: with torch loaded, that is a
    tenth of a second for one call, and registries of modules call it for each registry that a package creates.
    """
    for name in ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>"):
        inspect.modulesbyfile[name] = name  # there is no module of this name


def _load_fxcore(folder: str) -> None:
    """Load fxcore from ``folder``, without making anything else there importable."""
    init = Path(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location("fxcore", init, submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["fxcore"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    from fxcore.source import disown

    disown(AGENT_FOLDER)


def _trace_something() -> None:
    """Trace a sample, so that the first request is as fast as the others and no child repeats one-time work.

    For example, torch lists all of its functions when the first of them is traced, and loads SymPy at the first
    operation on the meta device, which takes a third of a second. No other operation is run: it could start threads,
    and a process with threads must not fork.
    """
    import torch

    from fx_lsp.agent.missing.device_redirection import Devices
    from fx_lsp.agent.random_seeds import seed
    from fxcore.explore import explore

    class Sample(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(super().forward(x)) if x.shape[0] > 0 else x

    torch.set_num_threads(1)
    seed()
    with Devices(on_meta=True):
        sample = Sample(1, 1)
    torch.ones(1, device="meta").add(1)
    explore(sample).recorded.python_code("self")
