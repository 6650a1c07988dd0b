"""What the installed torch says about one model and one capture, in a process that knows nothing of fx-lsp.

    python benchmarks/capture_truth.py LIBRARY NAME export|compile|seconds OUTPUT

The model has real weights, except for ``seconds``. The result is written as JSON.
"""

from __future__ import annotations

import copy
import inspect
import json
import os
import re
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only

from benchmarks.capture_models import arguments, build

Result = dict[str, Any]

_TORCH = str(Path(torch.__file__).parent) + os.sep
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


def place(file: str, line: int | str) -> str:
    """A file's last folders and a line: the two sides may have the same file in different folders."""
    return f"{'/'.join(Path(file).parts[-3:])}:{line}"


def exported(library: str, name: str) -> Result:
    """Whether `torch.export` can capture the model, and whether with a dynamic batch."""
    args, kwargs = arguments(library, name)
    result: Result = {"fx": is_traced(build(library, name)), "dynamic_batch": None}
    try:
        torch.export.export(build(library, name), args, kwargs, strict=False)
    except Exception as error:
        return result | {"verdict": "failed", "kind": kind_of(error), "error": told(error), "place": raised_at(error)}
    sizes = {leaf.shape[0] for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor) and leaf.dim()}
    if len(sizes) == 1:
        result |= with_dynamic_batch(build(library, name), args, kwargs, is_one=sizes == {1})
    return result | {"verdict": "traced"}


def with_dynamic_batch(model: torch.nn.Module, args: Any, kwargs: Any, *, is_one: bool) -> Result:
    """Whether an export of ``model`` accepts other batches.

    torch takes a size of one for a constant, so such a batch is doubled.
    """

    def doubled(leaf: Any) -> Any:
        return torch.cat([leaf, leaf]) if is_one and isinstance(leaf, torch.Tensor) and leaf.dim() else leaf

    def dynamic(leaf: Any) -> Any:
        return {0: torch.export.Dim.DYNAMIC} if isinstance(leaf, torch.Tensor) and leaf.dim() else None

    args, kwargs = tree_map(doubled, (args, kwargs))
    parameters = list(inspect.signature(model.forward).parameters)
    shapes = tree_map(dynamic, dict(zip(parameters, args, strict=False)) | kwargs)
    try:
        program = torch.export.export(model, args, kwargs, dynamic_shapes=shapes, strict=False)
    except Exception as error:
        return {"dynamic_batch": False, "batch_error": told(error), "batch_place": raised_at(error)}
    inputs = [node for node in program.graph.nodes if node.name in program.graph_signature.user_inputs]
    values = [node.meta["val"] for node in inputs if isinstance(node.meta.get("val"), torch.Tensor)]
    return {"dynamic_batch": all(isinstance(value.shape[0], torch.SymInt) for value in values if value.dim())}


def compiled(library: str, name: str) -> Result:
    """Whether `torch.compile` makes one graph of the model."""
    args, kwargs = arguments(library, name)
    try:
        torch.compile(build(library, name), fullgraph=True, backend="eager")(*args, **kwargs)
    except Exception as error:
        frames = _FRAME.findall(str(error).partition("from user code:")[2])
        at = place(*frames[-1]) if frames else raised_at(error)
        kind = "graph-break" if isinstance(error, torch._dynamo.exc.TorchDynamoException) else "compile-error"
        return {"verdict": "failed", "kind": kind, "error": told(error), "place": at}
    return {"verdict": "traced"}


def seconds(library: str, name: str) -> Result:
    """The CPU seconds of a build with fake weights and of both exports, after another model was exported."""
    torch.export.export(torch.nn.Linear(2, 2), (torch.ones(2, 2),), strict=False)
    build(library, name)  # imports what it needs
    args, kwargs = arguments(library, name)
    began = time.process_time()
    mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv())
    with mode:
        model = build(library, name)
    args, kwargs = tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
    torch.export.export(model, args, kwargs, strict=False)
    with_dynamic_batch(model, args, kwargs, is_one=any(leaf.shape[:1] == (1,) for leaf in tree_leaves((args, kwargs))))
    return {"seconds": time.process_time() - began}


def is_traced(model: torch.nn.Module) -> bool:
    """Whether torch.fx traces the model."""
    try:
        torch.fx.symbolic_trace(copy.deepcopy(model))
    except Exception:
        return False
    return True


def told(error: Exception) -> str:
    """The exception's type and the first line of its text."""
    return f"{type(error).__name__}: {(str(error).strip() or ' ').splitlines()[0]}"[:400]


def raised_at(error: Exception) -> str | None:
    """The innermost line outside torch that was running; None if the model was not running."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_TORCH)]
    frames = [frame for frame in frames if Path(frame.filename) != Path(__file__) and frame.filename[0] != "<"]
    return place(frames[-1].filename, frames[-1].lineno or 0) if frames else None


def kind_of(error: Exception) -> str:
    """fx-lsp's name for what `torch.export` raised, told from torch's class and words."""
    name, text = type(error).__name__, str(error)
    if "which is not a known type" in text:
        return "unsupported-output"
    if name == "GuardOnDataDependentSymNode":
        is_number = "Could not extract specialized" in text or re.search(r"data-dependent expression \w+ ", text)
        return "data-dependent-size" if is_number else "data-dependent-guard"
    if name in ("DataDependentOutputException", "DynamicOutputShapeException"):
        return "data-dependent-guard"
    return "missing-fake-kernel" if "fake impl" in text or "fake kernel" in text else "export-error"


if __name__ == "__main__":
    library, name, capture, output = sys.argv[1:]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = {"export": exported, "compile": compiled, "seconds": seconds}[capture](library, name)
    assert not any(module.partition(".")[0] in ("fx_lsp", "fxcore") for module in sys.modules)
    Path(output).write_text(json.dumps(found), encoding="utf-8")
