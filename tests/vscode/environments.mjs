// Python environments that cost next to nothing.
import { execFileSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TORCH_PYTHON } from "./paths.mjs";

/** Makes an environment without any package. The path of its Python. */
export function emptyEnvironment(folder) {
  execFileSync(TORCH_PYTHON, ["-m", "venv", "--without-pip", folder]);
  return join(folder, "bin/python");
}

/** Makes an environment of its own that has what TORCH_PYTHON has. The path of its Python. */
export function likeTorchPython(folder) {
  const python = emptyEnvironment(folder);
  const ask = "import sysconfig; print(sysconfig.get_path('purelib'))";
  const packages = execFileSync(TORCH_PYTHON, ["-c", ask], { encoding: "utf8" }).trim();
  const [version] = readdirSync(join(folder, "lib"));
  writeFileSync(
    join(folder, "lib", version, "site-packages/shared.pth"),
    `import site; site.addsitedir(${JSON.stringify(packages)})\n`,
  );
  return python;
}
