/** The server's stderr, in VS Code's log. */
import * as readline from "node:readline";
import type { LogOutputChannel } from "vscode";

type Level = "debug" | "info" | "warn" | "error";

const LEVELS: Readonly<Record<string, Level>> = {
  DEBUG: "debug",
  INFO: "info",
  WARNING: "warn",
  ERROR: "error",
  CRITICAL: "error",
};

/** A line's level and text. What does not begin with the name of a level is a traceback's line, or what a model prints. */
export function parse(line: string): { level: Level; text: string } {
  const [, name = "", text = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
  const level = LEVELS[name];
  return level ? { level, text } : { level: "info", text: line };
}

/** Writes every line of `stream` to `log`, each at its own level. */
export function copyLines(stream: NodeJS.ReadableStream, log: LogOutputChannel): void {
  readline.createInterface({ input: stream }).on("line", (line) => {
    const { level, text } = parse(line);
    log[level](text);
  });
}
