/** Which Python runs the language server. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A command and its first arguments, such as `["/usr/bin/python3"]` or `["py", "-3"]`. */
export type Python = readonly string[];

/** The oldest Python that the server runs on. */
export const OLDEST: readonly [number, number] = [3, 10];

const ANSWER_WITHIN_MS = 10_000;

/**
 * The Pythons to try, the best first. One that the user chose is the only one: quietly taking another
 * would hide the mistake in the setting.
 */
export function candidates(chosen: Python, active: Python, platform: NodeJS.Platform): Python[] {
  if (chosen.length > 0) {
    return [chosen];
  }
  const onPath = platform === "win32" ? [["py", "-3"], ["python"]] : [["python3"], ["python"]];
  return active.length > 0 ? [active, ...onPath] : onPath;
}

/** The first of `pythons` that starts and is new enough; `note` hears why the others are not taken. */
export async function firstUsable(
  pythons: readonly Python[],
  note: (sentence: string) => void,
  version: (python: Python) => Promise<readonly number[]> = versionOf,
): Promise<Python | undefined> {
  for (const python of pythons) {
    const name = python.join(" ");
    try {
      const [major = 0, minor = 0] = await version(python);
      if (major === OLDEST[0] && minor >= OLDEST[1]) {
        return python;
      }
      note(
        `${name} is Python ${String(major)}.${String(minor)}; the language server needs ${OLDEST.join(".")} or newer.`,
      );
    } catch (error) {
      note(`${name} could not be started: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return undefined;
}

/** Major and minor version of `python`. Rejects where it does not start, or says nothing in time. */
export async function versionOf(python: Python): Promise<readonly number[]> {
  const [command = "", ...args] = python;
  const ask = "import sys; print(*sys.version_info[:2])";
  const { stdout } = await run(command, [...args, "-I", "-S", "-c", ask], { timeout: ANSWER_WITHIN_MS });
  return stdout.trim().split(" ").map(Number);
}
