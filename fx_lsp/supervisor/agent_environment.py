"""The environment variables of an agent: the server's own, without secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECRET = re.compile(
    r"TOKENS?($|_)|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|(^|_)(KEY|PWD|PAT|AUTH|DSN)($|_)|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY"
    r"|^(AWS|AZURE|GCP|GOOGLE|GH|GITHUB|GITLAB|CI|DOCKER|KUBE\w*|VAULT|NPM|PIP|UV|TWINE|POETRY|WANDB|SENTRY)_"
    r"|^(SSH|GPG|DBUS|GNOME|KEYRING)_|^DATABASE_URL$|^(HTTPS?|ALL|FTP)_PROXY$",
    re.IGNORECASE,
)
"""Names of variables that may contain credentials, or addresses of services that require credentials."""

_NOT_SECRET = frozenset({"PWD", "OLDPWD"})

_PASSWORD_IN_URL = re.compile(r"\w+://[^/\s:@]*:[^/\s@]+@")


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of ``environ`` except those whose names or values suggest a password, a key or a token."""
    return {name: value for name, value in environ.items() if not _is_secret(name, value)}


def _is_secret(name: str, value: str) -> bool:
    if name in _NOT_SECRET:
        return False
    return _SECRET.search(name) is not None or _PASSWORD_IN_URL.search(value) is not None
