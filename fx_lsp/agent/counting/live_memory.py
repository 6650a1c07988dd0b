"""Follows how much memory the values of a run take, counting memory that several tensors share only once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

import torch


class LiveMemory:
    """The memory of the values that are kept, by the key of each value."""

    def __init__(self, owned: Iterable[torch.Tensor]) -> None:
        """``owned`` are tensors of the caller and the module: their memory is not counted."""
        self._owned = {id(storage): storage for storage in map(torch.Tensor.untyped_storage, owned)}
        """By identity, which is reused only when the storage is gone; so every storage here is kept alive."""
        self._kept: dict[Hashable, list[torch.UntypedStorage]] = {}
        self._users = Counter[int]()
        self.bytes = 0
        """How much is in use."""

    def own(self, tensors: Iterable[torch.Tensor]) -> None:
        """From now on, don't count the memory of these tensors."""
        self._owned.update((id(storage), storage) for storage in map(torch.Tensor.untyped_storage, tensors))

    def keep(self, key: Hashable, tensors: Iterable[torch.Tensor]) -> int:
        """Keep a value that consists of ``tensors``; the number of bytes that no value before has taken."""
        distinct = {id(storage): storage for storage in map(torch.Tensor.untyped_storage, tensors)}
        kept = [storage for identity, storage in distinct.items() if identity not in self._owned]
        new = sum(storage.nbytes() for storage in kept if not self._users[id(storage)])
        self._users.update(map(id, kept))
        self._kept[key] = kept
        self.bytes += new
        return new

    def drop(self, key: Hashable) -> None:
        """Free the value, if it is kept, except for memory that others use."""
        for storage in self._kept.pop(key, ()):
            self._users[id(storage)] -= 1
            if not self._users[id(storage)]:
                del self._users[id(storage)]
                self.bytes -= storage.nbytes()
