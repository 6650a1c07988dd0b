"""Finds what to trace in a file and how other files build it, with a cache of the results on disk."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from fx_lsp.agent.messages import Target, Trace
from fx_lsp.agent.wire import HEADER, decode, encode
from fx_lsp.targets import find_targets
from fx_lsp.targets.workspace_recipes import Texts, WorkspaceRecipes
from fx_lsp.workspace.disk_cache import Cache
from fx_lsp.workspace.file_digests import digest, file_digest, server_digest
from fx_lsp.workspace.import_graph import package_of


class TargetFinder(WorkspaceRecipes):
    """Finds the targets of files, and how other files build them. May be used by several threads."""

    def find(self, path: str, text: str) -> tuple[Target, ...] | None:
        """The targets that the file ``path`` itself shows; None if its text is not Python (yet)."""
        return find_targets(path, text)


class CachedTargetFinder(TargetFinder):
    """A finder for files that nobody is editing: it reads from disk what an earlier run found in the same files."""

    def __init__(self, folders: Sequence[str], texts: Texts, cache: Cache) -> None:
        super().__init__(lambda: folders, self._watched_text)
        self._unwatched_texts = texts
        self._cache = cache
        self._is_mixed = False
        """Whether a file has changed since the digests were computed, so that new results can't be stored for them."""

    def find(self, path: str, text: str) -> tuple[Target, ...] | None:
        """The targets that the file ``path`` itself shows; None if its text is not Python (yet)."""
        key = digest(server_digest(), "find", path, text)
        return self._kept(key, lambda: super(CachedTargetFinder, self).find(path, text))

    def completed(self, path: str, targets: Sequence[Target]) -> tuple[Target, ...]:
        """The targets of the file ``path``, with recipes from other files for those that need them."""
        key = digest(server_digest(), "completed", self._whole, encode(Trace(path, tuple(targets))))
        found = self._kept(key, lambda: super(CachedTargetFinder, self).completed(path, targets))
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

    def _watched_text(self, path: str) -> str | None:
        text = self._unwatched_texts(path)
        self._is_mixed |= file_digest(path) != self._digests.get(path)
        return text

    @functools.cached_property
    def _digests(self) -> dict[str, str]:
        """Path -> digest, for all files that may show how a class is built."""
        return {path: file_digest(path) for path in self.files_of(self._folders())}

    @functools.cached_property
    def _whole(self) -> str:
        """A digest of everything that may show how a class is built."""
        above = [package_of(str(Path(folder, "any.py"))) for folder in self._folders()]
        return digest(json.dumps([above, [*self._digests.items()]]))
