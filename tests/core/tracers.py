"""Tracers that override hooks, the same for any package that has torch.fx's interface."""

from __future__ import annotations

import operator
from typing import Any


def tracers(fx: Any) -> dict[str, Any]:
    """By name, what makes a tracer of the package ``fx``."""
    return _of_modules(fx) | _of_values(fx)


def _of_modules(fx: Any) -> dict[str, Any]:
    class EverythingIsALeaf(fx.Tracer):  # type: ignore[misc]
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return bool(module_qualified_name)

    class NothingIsALeaf(fx.Tracer):  # type: ignore[misc]
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return False

    class Calling(fx.Tracer):  # type: ignore[misc]
        def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
            return super().call_module(m, forward, args, kwargs) * 2

    class Plain(fx.Tracer):  # type: ignore[misc]
        def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Any) -> Any:
            return attr_val

    class Buffers(fx.Tracer):  # type: ignore[misc]
        proxy_buffer_attributes = True

    class OtherMethod(fx.Tracer):  # type: ignore[misc]
        traced_func_name = "other"

    classes = (EverythingIsALeaf, NothingIsALeaf, Calling, Plain, Buffers, OtherMethod)
    return {cls.__name__: cls for cls in classes} | {"Shapes": lambda: fx.Tracer(param_shapes_constant=True)}


def _of_values(fx: Any) -> dict[str, Any]:
    class Truthful(fx.Tracer):  # type: ignore[misc]
        def to_bool(self, obj: Any) -> bool:
            return True

        def iter(self, obj: Any) -> Any:
            return iter([obj[0], obj[1]])

        def keys(self, obj: Any) -> Any:
            return ["k"]

    class Renaming(fx.Tracer):  # type: ignore[misc]
        def create_node(
            self, kind: Any, target: Any, args: Any, kwargs: Any, name: Any = None, type_expr: Any = None
        ) -> Any:
            node = super().create_node(kind, target, args, kwargs, f"my_{name or kind}", type_expr)
            node.meta["mine"] = str(node)
            return node

    class Lowering(fx.Tracer):  # type: ignore[misc]
        def create_arg(self, a: Any) -> Any:
            return "a set" if isinstance(a, set) else super().create_arg(a)

    class OwnProxy(fx.Proxy):  # type: ignore[misc]
        def __len__(self) -> int:
            return 2

        def __getitem__(self, key: Any) -> Any:
            return fx.Proxy.__getitem__(self, key) + 1

    class WithOwnProxy(fx.Tracer):  # type: ignore[misc]
        def proxy(self, node: Any) -> Any:
            return OwnProxy(node, self)

    class Strict(fx.Tracer):  # type: ignore[misc]
        check_mutable_operations = True

    classes = (Truthful, Renaming, Lowering, WithOwnProxy, Strict)
    wrapping = {"Autowrapping": lambda: fx.Tracer(autowrap_modules=(operator,), autowrap_functions=(sorted,))}
    return {cls.__name__: cls for cls in classes} | wrapping
