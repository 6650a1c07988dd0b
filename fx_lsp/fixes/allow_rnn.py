"""Allow ``torch.compile`` to put LSTMs, GRUs and RNNs into its graph, which it does only if a setting says so."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from fx_lsp.agent.messages import Failure
from fx_lsp.fixes.editing import Fix, ReadText
from fx_lsp.fixes.editing.edited_source import editable
from fx_lsp.fixes.editing.import_edits import imported
from fx_lsp.fixes.editing.line_changes import changes_between

_SETTING = "_dynamo.config.allow_rnn"


def fixes(failure: Failure, read: ReadText) -> Iterator[Fix]:
    """One fix if torch's own hint names the setting. It applies to everything that is compiled in the process."""
    if "allow_rnn" not in failure.error:
        return
    for source, _ in itertools.islice(editable(failure.chain, read), 1):
        from fx_lsp.fixes.editing.insertion_points import below_imports

        torch = imported(source, "torch")
        text = below_imports(source.text, f"{torch.name}.{_SETTING} = True")
        if text is not None and not torch.changes:
            yield Fix(f"Set {torch.name}.{_SETTING}", changes_between(source.path, source.text, text))
