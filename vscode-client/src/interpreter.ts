/**
 * The Python interpreter that the user has selected for the workspace.
 *
 * Two extensions know it: Python Environments (`ms-python.vscode-python-envs`), and before it the Python
 * extension (`ms-python.python`). Both are optional here. The interfaces below are the part of theirs that is used.
 */
import type { Event, Uri } from "vscode";
import type { Python } from "./python";

/** Says which interpreter is selected, and when that changes. */
export interface Interpreters {
  /** The interpreter selected for `folder`; empty where there is none. */
  selected(folder: Uri | undefined): Promise<Python>;
  onDidChange(listener: () => void): { dispose(): unknown };
}

interface PythonEnvironmentsApi {
  getEnvironment(
    scope: Uri | undefined,
  ): Promise<{ execInfo?: { run: { executable: string; args?: string[] } } } | undefined>;
  onDidChangeEnvironment: Event<unknown>;
}

interface PythonApi {
  environments: {
    getActiveEnvironmentPath(resource?: Uri): { path: string };
    resolveEnvironment(environment: { path: string }): Promise<{ executable: { uri?: Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: Event<unknown>;
  };
}

/** Finds an extension by its id: `vscode.extensions.getExtension`. */
export type FindExtension = (id: string) => { activate(): PromiseLike<unknown> } | undefined;

/** The extensions that know, the newer one first. */
export const PYTHON_EXTENSIONS = ["ms-python.vscode-python-envs", "ms-python.python"] as const;

const NONE: Interpreters = {
  selected: () => Promise.resolve([]),
  onDidChange: () => ({ dispose: () => undefined }),
};

/** The selection as the newer of the two extensions tells it, or one that is always empty. */
export async function findInterpreters(find: FindExtension): Promise<Interpreters> {
  const [newer, older] = PYTHON_EXTENSIONS;
  const environments = await exportsOf<PythonEnvironmentsApi>(find, newer);
  if (environments) {
    return fromPythonEnvironments(environments);
  }
  const python = await exportsOf<PythonApi>(find, older);
  return python ? fromPython(python) : NONE;
}

/**
 * What extension `id` exports. It exports nothing where the user has switched its interface off by a setting,
 * and one that fails to start has told the user so itself.
 */
async function exportsOf<Api>(find: FindExtension, id: string): Promise<Api | undefined> {
  try {
    return (await find(id)?.activate()) as Api | undefined;
  } catch {
    return undefined;
  }
}

function fromPythonEnvironments(api: PythonEnvironmentsApi): Interpreters {
  return {
    async selected(folder) {
      const run = (await api.getEnvironment(folder))?.execInfo?.run;
      return run ? [run.executable, ...(run.args ?? [])] : [];
    },
    onDidChange: (listener) => api.onDidChangeEnvironment(listener),
  };
}

function fromPython({ environments }: PythonApi): Interpreters {
  return {
    async selected(folder) {
      const active = environments.getActiveEnvironmentPath(folder);
      const executable = (await environments.resolveEnvironment(active))?.executable.uri;
      return executable ? [executable.fsPath] : [];
    },
    onDidChange: (listener) => environments.onDidChangeActiveEnvironmentPath(listener),
  };
}
