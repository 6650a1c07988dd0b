"""What Lightning's modules do with the arguments of their constructors: ``self.save_hyperparameters()``."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator, MutableMapping
from types import FrameType
from typing import Any

from fx_lsp.agent.missing.missing_uses import note_use
from fx_lsp.agent.own_files import is_own_file

IS_LIGHTNING = re.compile(r"^(pytorch_lightning|lightning)\.(.*\.)?Lightning(Data)?Module$")
"""The dotted names of Lightning's classes that have hyperparameters."""


class AttributeDict(dict[Any, Any]):
    """Lightning's dictionary: its items are its attributes, too."""

    def __getattr__(self, name: str) -> Any:
        """The item. Raises AttributeError if there is none."""
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        """Remove the item. Raises AttributeError if there is none."""
        try:
            del self[name]
        except KeyError:
            raise AttributeError(name) from None


class Hyperparameters:
    """The part of a ``LightningModule`` or a ``LightningDataModule`` that keeps the arguments of its constructor."""

    def save_hyperparameters(
        self, *args: Any, ignore: Any = None, frame: FrameType | None = None, **others: Any
    ) -> None:
        """Keep the arguments that ``args`` name, or all but those to ``ignore``, or one collection of values instead.

        Raises KeyError for a name that the constructor does not have, and ValueError for what is no collection.
        """
        if len(args) == 1 and not args[0]:
            return
        ignored = [ignore] if isinstance(ignore, str) else list(ignore or ())
        collections = [value for value in args if not isinstance(value, str)]
        if len(collections) == 1:
            self.hparams = collections[0]
        else:
            given = dict[str, Any]()
            for arguments in _constructor_arguments(frame or sys._getframe(1)):
                given.update(arguments)
            given = {name: value for name, value in given.items() if name not in ignored}
            self.hparams = {name: given[name] for name in args if isinstance(name, str)} if args else given
        for name in ignored if isinstance(self.hparams, MutableMapping) else ():
            self.hparams.pop(name, None)

    @property
    def hparams(self) -> Any:
        """The values that were kept."""
        return self.__dict__.setdefault("_hparams", AttributeDict())

    @hparams.setter
    def hparams(self, values: Any) -> None:
        """Add to the values that were kept; what is no dictionary replaces them. Older versions allow to assign it."""
        if isinstance(values, int | float | str):
            raise ValueError(f"Primitives {(bool, int, float, str)} are not allowed.")
        if dataclasses.is_dataclass(values):
            raise ValueError(f"Unsupported config type of {type(values)}.")
        if isinstance(values, argparse.Namespace):
            values = vars(values)
        if isinstance(values, dict) and isinstance(self.hparams, dict):
            self.hparams.update(values)
        else:
            self.__dict__["_hparams"] = values


def _constructor_arguments(frame: FrameType | None) -> Iterator[dict[str, Any]]:
    """The arguments of the constructors that are running in ``frame`` and, without a gap, around it, the inner first.

    As in Lightning, a constructor counts if it mentions ``super``, even if it only builds the module as a part.
    """
    is_inside = False
    while frame is not None:
        if _is_constructor(frame):
            is_inside = True
            yield _arguments_in(frame)
        elif is_inside and not is_own_file(frame.f_code.co_filename):
            return
        frame = frame.f_back
    if not is_inside:
        note_use("LightningModule.save_hyperparameters")


def _is_constructor(frame: FrameType) -> bool:
    """Whether the constructor of a class with hyperparameters is running in ``frame``."""
    code, names = frame.f_code, frame.f_locals
    is_method = code.co_name == "__init__" and code.co_argcount > 0 and "__class__" in names
    return is_method and isinstance(names.get(code.co_varnames[0]), Hyperparameters)


def _arguments_in(frame: FrameType) -> dict[str, Any]:
    """The values that the parameters of the function in ``frame`` have, but for the first."""
    names, _, keywords, values = inspect.getargvalues(frame)
    return {name: values[name] for name in names[1:]} | (values[keywords] if keywords else {})
