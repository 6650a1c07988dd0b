// What runs of fx-lsp below a window of VS Code.
import { processesBelow } from "./processes.mjs";
import { until } from "./until.mjs";

/** The servers. A child of one bears its command line until it starts another program, such as git. */
export function servers({ pid }) {
  const launched = processesBelow(pid).filter(({ command }) => command.includes("launch.py"));
  const pids = new Set(launched.map((server) => server.pid));
  return launched.filter(({ parent }) => !pids.has(parent));
}

/** Waits until one server runs, and that is not `old`. Each look is at one moment: a server that is killed ends at any. */
export const anotherServer = (editor, old) =>
  until("another server", () => {
    const running = servers(editor);
    return running.length === 1 && running[0].pid !== old.pid;
  });

export const agents = ({ pid }) => processesBelow(pid).filter(({ command }) => /fx_lsp[./]agent/.test(command));
