"""Finding what is to be traced in a file, and how other files build it; what is kept of that on disk."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fx_lsp.agent.messages import Target, Trace
from fx_lsp.agent.wire import HEADER, decode, encode
from fx_lsp.cache import Cache
from fx_lsp.contents import digest, file_digest, server_code
from fx_lsp.import_graph import package_of
from fx_lsp.targets import find_targets
from fx_lsp.targets.elsewhere import Elsewhere, Texts


class TargetFinder:
    """Finds targets by the texts of files. ``folders`` are the workspace's. May be used by several threads."""

    def __init__(self, folders: Callable[[], Iterable[str]], texts: Texts) -> None:
        self._elsewhere = Elsewhere(folders, texts)

    def find(self, path: str, text: str) -> tuple[Target, ...] | None:
        """Those of the file ``path``, as it says itself; None where its text is not Python (yet)."""
        return find_targets(path, text)

    def completed(self, path: str, targets: Sequence[Target]) -> tuple[Target, ...]:
        """The same with what other files show of how they are built."""
        return self._elsewhere.completed(path, targets)

    def changed(self, path: str) -> frozenset[str]:
        """The text of a file has changed. The names of the classes that it may show how to build otherwise now."""
        return self._elsewhere.changed(path)

    def forget(self) -> None:
        """Other folders are open."""
        self._elsewhere.forget()


class KeepingFinder(TargetFinder):
    """The same for files that nobody edits: what an earlier run has found in the same files is not looked for again."""

    def __init__(self, folders: Sequence[str], texts: Texts, cache: Cache) -> None:
        super().__init__(lambda: folders, self._text)
        self._folders = folders
        self._texts = texts
        self._cache = cache
        self._is_mixed = False
        """A file has changed since the digests were made: what is found now is not what they stand for."""

    def find(self, path: str, text: str) -> tuple[Target, ...] | None:
        """As above."""
        key = digest(server_code(), "find", path, text)
        return self._kept(key, lambda: super(KeepingFinder, self).find(path, text))

    def completed(self, path: str, targets: Sequence[Target]) -> tuple[Target, ...]:
        """As above."""
        key = digest(server_code(), "completed", self._whole, encode(Trace(path, tuple(targets))))
        found = self._kept(key, lambda: super(KeepingFinder, self).completed(path, targets))
        assert found is not None
        return found

    def _kept(self, key: str, find: Callable[[], tuple[Target, ...] | None]) -> tuple[Target, ...] | None:
        if (content := self._cache.get(key)) is not None:
            message = decode(content)
            assert isinstance(message, Trace)
            return message.targets
        found = find()
        if found is not None and not self._is_mixed:
            self._cache.put(key, encode(Trace("", found))[HEADER.size :])
        return found

    def _text(self, path: str) -> str | None:
        text = self._texts(path)
        self._is_mixed |= file_digest(path) != self._digests.get(path)
        return text

    @functools.cached_property
    def _digests(self) -> dict[str, str]:
        """By path those of all files that may show how a class is built."""
        return {path: file_digest(path) for path in Elsewhere.files_of(self._folders)}

    @functools.cached_property
    def _whole(self) -> str:
        """A digest of all that may show how a class is built."""
        above = [package_of(str(Path(folder, "any.py"))) for folder in self._folders]
        return digest(json.dumps([above, [*self._digests.items()]]))
