// What runs of fx-lsp below a window of VS Code.
import { processesBelow } from "./processes.mjs";

/** The servers. A child of one bears its command line until it starts another program, such as git. */
export function servers({ pid }) {
  const launched = processesBelow(pid).filter(({ command }) => command.includes("launch.py"));
  const pids = new Set(launched.map((server) => server.pid));
  return launched.filter(({ parent }) => !pids.has(parent));
}

export const agents = ({ pid }) => processesBelow(pid).filter(({ command }) => /fx_lsp[./]agent/.test(command));
