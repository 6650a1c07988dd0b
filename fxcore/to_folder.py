"""A graph module as a package of Python source."""

from __future__ import annotations

import os
import textwrap
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch

from fxcore.generated import take_wraps
from fxcore.serialization import import_block

if TYPE_CHECKING:
    from fxcore.graph_module import GraphModule

# The repr of these is a call that makes an equal module.
_MADE_BY_REPR = frozenset(
    {
        torch.nn.Linear,
        torch.nn.Conv1d,
        torch.nn.Conv2d,
        torch.nn.Conv3d,
        torch.nn.BatchNorm1d,
        torch.nn.BatchNorm2d,
        torch.nn.BatchNorm3d,
    }
)


def to_folder(module: GraphModule, folder: str | os.PathLike[str], module_name: str) -> None:
    """`GraphModule.to_folder`."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    torch.save(module.state_dict(), folder / "state_dict.pt")
    pickled = [name for name, child in module.named_children() if type(child) not in _MADE_BY_REPR]
    for name in pickled:
        torch.save(getattr(module, name), folder / f"{name}.pt")
    (folder / "module.py").write_text(_source(module, module_name), encoding="utf-8")
    (folder / "__init__.py").write_text("from .module import *", encoding="utf-8")
    if pickled:
        warnings.warn(f"saved as pickles, because their repr can't make them again: {', '.join(pickled)}", stacklevel=3)


def _source(module: GraphModule, module_name: str) -> str:
    python_code = cast(Any, type(module))._generated.python_code
    forward, wrapped = take_wraps(python_code.src)
    lines = ["import pathlib", import_block(python_code.globals), "from torch.nn import *"]
    if wrapped:
        lines += ["import fxcore", *(f'fxcore.wrap("{name}")' for name in wrapped)]
    statements = [
        "super().__init__()",
        *(_child_statement(name, child) for name, child in module.named_children()),
        *(_buffer_statement(name, buffer) for name, buffer in module.named_buffers(recurse=False)),
        *(_parameter_statement(name, parameter) for name, parameter in module.named_parameters(recurse=False)),
        "self.load_state_dict(torch.load(_HERE / 'state_dict.pt'))",
    ]
    init = "\n".join(["def __init__(self):", *(f"    {statement}" for statement in statements)])
    body = textwrap.indent(f"{init}\n{forward}\n", "    ")
    return "\n".join(
        [*lines, "", "_HERE = pathlib.Path(__file__).parent", "", f"class {module_name}(torch.nn.Module):", body]
    )


def _child_statement(name: str, child: torch.nn.Module) -> str:
    if type(child) in _MADE_BY_REPR:
        return f"setattr(self, '{name}', {child!r})"
    loaded = f"torch.load(_HERE / '{name}.pt', weights_only=False)"
    return f"setattr(self, '{name}', {loaded}) # {' '.join(repr(child).split())}"


def _buffer_statement(name: str, buffer: torch.Tensor) -> str:
    return f"self.register_buffer('{name}', torch.empty({list(buffer.shape)}, dtype={buffer.dtype}))"


def _parameter_statement(name: str, parameter: torch.Tensor) -> str:
    made = f"torch.empty({list(parameter.shape)}, dtype={parameter.dtype})"
    return f"setattr(self, '{name}', torch.nn.Parameter({made}))"
