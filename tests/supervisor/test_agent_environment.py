import pytest

from fx_lsp.supervisor.agent_environment import without_secrets

KEPT = {
    "PATH": "/usr/bin",
    "HOME": "/home/me",
    "PWD": "/work",
    "VIRTUAL_ENV": "/work/.venv",
    "PYTHONPATH": "src",
    "LD_LIBRARY_PATH": "/opt/lib",
    "CONDA_PREFIX": "/opt/conda",
    "KEYBOARD": "qwerty",
    "MONKEY": "see",
    "DATA_URL": "https://example.org/data",
    "TOKENIZERS_PARALLELISM": "false",
}


SECRETS = [
    "HF_TOKEN",
    "my_token_2",
    "MY_SECRET",
    "DB_PASSWORD",
    "PGPASSWORD",
    "API_KEY",
    "OPENAI_APIKEY",
    "SIGNING_KEY",
    "NETRC_PASSPHRASE",
    "SENTRY_DSN",
    "AWS_PROFILE",
    "AZURE_TENANT",
    "GITHUB_ACTOR",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "WANDB_API_KEY",
    "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS",
    "PIP_INDEX_URL",
    "DATABASE_URL",
    "https_proxy",
]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_not_passed_on(name: str) -> None:
    assert without_secrets({**KEPT, name: "x"}) == KEPT


def test_a_password_in_an_address_is_not_passed_on() -> None:
    assert without_secrets({**KEPT, "MIRROR": "https://me:hush@example.org/simple"}) == KEPT
