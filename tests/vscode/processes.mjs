// Processes, from /proc.
import { readFileSync, readdirSync } from "node:fs";

/** The process `root` and all below it: their ids, their parents' and their command lines. */
export function processesBelow(root) {
  const children = new Map();
  const commands = new Map();
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  for (const pid of pids.map(Number)) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      children.set(parent, [...(children.get(parent) ?? []), pid]);
      commands.set(pid, readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim());
    } catch {
      // It ended while it was looked at.
    }
  }
  const found = [];
  for (const queue = [{ pid: root }]; queue.length > 0;) {
    const { pid, parent } = queue.pop();
    found.push({ pid, parent, command: commands.get(pid) ?? "" });
    queue.push(...(children.get(pid) ?? []).map((child) => ({ pid: child, parent: pid })));
  }
  return found;
}

/** Sends `signal` to a process; false where there is none. Signal 0 only asks. */
export function signal(pid, name) {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
