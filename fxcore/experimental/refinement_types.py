"""Constraints between the dimensions of tensors.

Source: the interface is that of ``torch.fx.experimental.refinement_types``.
"""

from dataclasses import dataclass

__all__ = ["Equality"]


@dataclass
class Equality:
    """The constraint that two dimensions, or types, are the same."""

    lhs: object
    rhs: object

    def __repr__(self) -> str:
        return f"{self.lhs} = {self.rhs}"
