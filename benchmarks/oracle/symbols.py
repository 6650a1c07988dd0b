"""What stands for a traced value: a proxy of torch.fx's that answers where torch.fx's own can't."""

from __future__ import annotations

from typing import Any

import torch.fx
from torch.fx.proxy import Attribute, Proxy


class _Answers:
    """What a symbol is asked that torch.fx can't answer."""

    tracer: Any
    node: torch.fx.Node

    def __getattr__(self, name: str) -> Any:
        return Reading(self, name)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.tracer.answer(self, "len", len)  # type: ignore[no-any-return]

    def __contains__(self, item: object) -> bool:
        return self.tracer.answer(self, "in", lambda value: self.tracer.real(item) in value)  # type: ignore[no-any-return]

    def __index__(self) -> int:
        return self.tracer.answer(self, "index", lambda value: value.__index__())  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return self.tracer.answer(self, "int", int)  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return self.tracer.answer(self, "float", float)  # type: ignore[no-any-return]

    def __round__(self, digits: int | None = None) -> Any:
        return self.tracer.answer(self, "round", lambda value: round(value, digits))

    def __format__(self, spec: str) -> str:
        return self.tracer.answer(self, "format", lambda value: format(value, spec)) if spec else str(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.answer(self, "item assignment", lambda real: real.__setitem__(*self.tracer.real((key, value))))

    def __delitem__(self, key: Any) -> None:
        self.tracer.answer(self, "item deletion", lambda real: real.__delitem__(self.tracer.real(key)))


class Symbol(_Answers, Proxy):
    """A proxy of torch.fx's whose tracer knows the real value."""


class Reading(_Answers, Attribute):
    """The same for a proxy's attribute."""
