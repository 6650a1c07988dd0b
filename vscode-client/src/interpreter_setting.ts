/** On which level the setting `fxLsp.interpreter` is changed. */
import type { Python } from "./python";

/** Where a setting can have a value. */
export type Level = "user" | "workspace" | "folder";

/** The part of what `WorkspaceConfiguration.inspect` returns that is read. */
export interface Values {
  globalValue?: Python;
  workspaceValue?: Python;
  workspaceFolderValue?: Python;
}

/**
 * Where a Python that is chosen is named.
 *
 * @param folders how many the window has
 * @param inFolder whether the file that is edited is in one of them
 */
export function levelToSet(folders: number, inFolder: boolean): Level {
  if (folders === 0) {
    return "user";
  }
  return folders > 1 && inFolder ? "folder" : "workspace";
}

export interface Change {
  level: Level;
  /** Undefined removes the value of that level. */
  value: Python | undefined;
}

/**
 * The change after which the setting names no Python; undefined where it names none. The nearest value is removed, or
 * made empty if the next one would name a Python instead.
 */
export function changeToClear(values: Values, folders: number): Change | undefined {
  // The settings of a window's only folder are the workspace's.
  const ofFolder = folders > 1 ? values.workspaceFolderValue : undefined;
  const levels: Change[] = [
    { level: "folder", value: ofFolder },
    { level: "workspace", value: values.workspaceValue },
    { level: "user", value: values.globalValue },
  ];
  const [nearest, next] = levels.filter(({ value }) => value !== undefined);
  return nearest && { level: nearest.level, value: next?.value?.length ? [] : undefined };
}
