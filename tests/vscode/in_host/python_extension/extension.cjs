// Stands in for the Python extension, which the test bed cannot download. A test selects an interpreter by a command.
const vscode = require("vscode");

exports.activate = () => {
  const changed = new vscode.EventEmitter();
  let selected = "/nowhere/python";
  vscode.commands.registerCommand("test.selectPython", (path) => {
    selected = path;
    changed.fire({ path });
  });
  return {
    environments: {
      getActiveEnvironmentPath: () => ({ id: selected, path: selected }),
      resolveEnvironment: async ({ path }) => ({ executable: { uri: vscode.Uri.file(path) } }),
      onDidChangeActiveEnvironmentPath: changed.event,
    },
  };
};
