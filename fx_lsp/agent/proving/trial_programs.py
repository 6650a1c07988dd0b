"""Builds the program that an edit is tried on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from fx_lsp.agent.building.build import Built, build_target
from fx_lsp.agent.importing.stand_ins import missing_parts
from fx_lsp.agent.messages import Target
from fx_lsp.agent.proving.failed_builds import NotBuilt
from fx_lsp.agent.proving.run_in_child import ChildRunner, ProofEnded
from fx_lsp.agent.random_seeds import seed_all
from fx_lsp.agent.running.observation import (
    Input,
    filled_memory,
    perturb_weights,
    weight_names,
    zero_unset_weights,
)
from fx_lsp.agent.running.replaced_parts import replace_missing_parts
from fx_lsp.agent.running.side_effects import Effects, UnknownEffects, effects_of, weights_after
from fx_lsp.agent.tracing.trace_target import ImportedFile, is_traceable


@dataclass(frozen=True)
class Program:
    """A program that was built, and the module that holds its state."""

    built: Built
    state: torch.nn.Module
    names: frozenset[str]
    """The names of the weights and buffers that are observed."""

    def recipe_of(self, target: Target) -> int:
        """The number of the recipe of ``target`` that the program was built by; -1 if it is none of them."""
        sources = [recipe.root.source for recipe in (target.recipe, *target.fallbacks)]
        source = self.built.recipe.root.source
        return sources.index(source) if source in sources else -1

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the missing classes of its submodules; see `replace_missing_parts`."""
        return tuple(missing_parts(self.state)[0])


def side_effects(program: Program, inputs: Collection[Input], *, requires_grad: bool) -> tuple[Effects, ...]:
    """What a function that is run alone does to the rest of the program: for each input, and then to the weights.

    ``requires_grad`` is as for `effects_of`. Raises `ProofEnded` if that is not known.
    """
    found = []
    try:
        for effects in effects_of(program.built.root, *inputs, requires_grad=requires_grad):
            ChildRunner.go_on()
            found.append(effects)
    except UnknownEffects as what:
        raise ProofEnded("untried", f"`{program.built.root.__qualname__}` {what}", True) from None
    return *found, weights_after(program.built.root)


def build_program(file: ImportedFile, target: Target, names: frozenset[str] | None = None) -> Program:
    """Build the program, and add noise to the weights in ``names``, by default to all.

    Raises `NotBuilt`, or another `ProofEnded` if what is built can't be run.
    """
    seed_all()
    try:
        with filled_memory():
            built = build_traceable(file, target, on_meta=False)
    except Exception as error:
        raise NotBuilt.because_of(error) from None
    if not is_traceable(built.root):
        raise ProofEnded("untried", "the target is neither a module nor a function")
    owner = getattr(built.root, "__self__", built.root)
    state = owner if isinstance(owner, torch.nn.Module) else torch.nn.Module()
    names = weight_names(state) if names is None else names
    zero_unset_weights(state)
    perturb_weights(state, names)
    replace_missing_parts(state)
    return Program(built, state, names)


def build_traceable(file: ImportedFile, target: Target, *, on_meta: bool) -> Built:
    """Build the target by the first of its recipes that makes a module or a function, if any does.

    A name at module level may be none where only the definitions of a script are run. Raises what `build_target` does.
    """
    built = build_target(target, file.workspace.file, file.namespace, file.workspace.folders, on_meta=on_meta)
    if is_traceable(built.root) or not target.fallbacks:
        return built
    return build_traceable(
        file, replace(target, recipe=target.fallbacks[0], fallbacks=target.fallbacks[1:]), on_meta=on_meta
    )


def fixed_values(file: ImportedFile, target: Target) -> dict[str, Any]:
    """The plain values that the recipe's ``concrete_args`` gives to parameters."""
    recipe = target.recipe.concrete_args
    values = eval(recipe.source, file.namespace) if recipe is not None else {}
    if not isinstance(values, Mapping):
        return {}
    return {
        name: value for name, value in values.items() if value is None or isinstance(value, bool | int | float | str)
    }
