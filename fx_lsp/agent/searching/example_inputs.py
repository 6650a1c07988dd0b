"""The example inputs that a recipe or a request names."""

from __future__ import annotations

import importlib
from typing import Any

import torch

from fx_lsp.agent.messages import Snippet
from fx_lsp.agent.missing.device_redirection import Devices
from fx_lsp.agent.random_seeds import seed
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.running.plain_values import map_tensors


def example_input(inputs: Snippet | None, namespace: dict[str, Any]) -> Input | None:
    """The values of ``inputs`` in the file's namespace; None if there are no inputs, or if evaluating them fails."""
    if inputs is None:
        return None
    try:
        return evaluated(inputs.source, namespace)
    except Exception:  # what the expression reads may be missing, or not be what the text suggests
        return None


def evaluated(arguments: str, namespace: dict[str, Any]) -> Input:
    """The values of ``arguments``, which include their parentheses, in the file's namespace.

    Raises what evaluating them raises.
    """
    modules = {"numpy": importlib.import_module("numpy")} if "numpy." in arguments else {}
    given = {"torch": torch, **modules, **namespace, "_given": lambda *args, **kwargs: Input(args, kwargs)}
    seed()
    with Devices():
        found: Input = eval(f"_given{arguments}", given)
    return found


def values_for_exploring(given: Input | None, root: Any) -> dict[str, Any] | None:
    """The values of ``given`` by parameter name; None if they don't fit the signature of ``root``.

    If any weight of ``root`` is on the meta device, the values are moved there.
    """
    if given is None:
        return None
    try:
        values = given.by_parameter(root)
    except TypeError:
        return None
    weights = [*root.parameters(), *root.buffers()] if isinstance(root, torch.nn.Module) else []
    if not any(weight.is_meta for weight in weights):
        return values
    return {name: map_tensors(lambda tensor: tensor.to("meta"), value) for name, value in values.items()}
