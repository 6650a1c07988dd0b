"""Which module's forward is running while a node is made."""

from __future__ import annotations

from typing import Any

__all__ = ["Scope", "ScopeContextManager"]


class Scope:
    """A module that is being traced: its qualified name below the root ("" for the root) and its type (None there)."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """Makes ``scope`` equal to ``current_scope`` from its construction until its exit."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope = scope
        self._outer = scope.module_path, scope.module_type
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *error: object) -> None:
        self._scope.module_path, self._scope.module_type = self._outer
