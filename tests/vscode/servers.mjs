// What runs of fx-lsp below a window of VS Code.
import { processesBelow } from "./processes.mjs";

export const servers = ({ pid }) => processesBelow(pid).filter(({ command }) => command.includes("launch.py"));

export const agents = ({ pid }) => processesBelow(pid).filter(({ command }) => /fx_lsp[./]agent/.test(command));
