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

/** An extension that knows, by its id. */
interface Source extends Interpreters {
  id: (typeof PYTHON_EXTENSIONS)[number] | undefined;
}

const NONE: Source = {
  id: undefined,
  selected: () => Promise.resolve([]),
  onDidChange: () => ({ dispose: () => undefined }),
};

/** The selection as the extensions tell it that are installed now. */
export async function findInterpreters(find: FindExtension): Promise<InstalledInterpreters> {
  const interpreters = new InstalledInterpreters(find);
  await interpreters.look();
  return interpreters;
}

/** The selection as the newer of the two extensions tells it, or one that is empty as long as neither is there. */
export class InstalledInterpreters implements Interpreters {
  private source = NONE;
  private following: { dispose(): unknown } | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly find: FindExtension) {}

  /** Looks for the extensions anew: one may be installed or switched on while the window is open. */
  async look(): Promise<void> {
    const source = await sourceOf(this.find);
    if (source.id !== this.source.id) {
      this.following?.dispose();
      this.source = source;
      this.following = source.onDidChange(() => {
        this.changed();
      });
      this.changed();
    }
  }

  /** An extension that fails to tell is as good as one in which nothing is selected. */
  async selected(folder: Uri | undefined): Promise<Python> {
    try {
      return await this.source.selected(folder);
    } catch {
      return [];
    }
  }

  onDidChange(listener: () => void): { dispose(): unknown } {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  }

  dispose(): void {
    this.following?.dispose();
  }

  private changed(): void {
    this.listeners.forEach((listener) => {
      listener();
    });
  }
}

async function sourceOf(find: FindExtension): Promise<Source> {
  const [newer, older] = PYTHON_EXTENSIONS;
  const environments = await exportsOf<PythonEnvironmentsApi>(find, newer);
  if (environments) {
    return { id: newer, ...fromPythonEnvironments(environments) };
  }
  const python = await exportsOf<PythonApi>(find, older);
  return python ? { id: older, ...fromPython(python) } : NONE;
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
