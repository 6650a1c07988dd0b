// Stands between VS Code and the server, and spoils what the server says: the tests have to notice.
// usage, as `fxLsp.server.python`: [NODE, mutant.mjs, FILE, PYTHON]; FILE says how to spoil, and may change at any time.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const [file, python, ...args] = process.argv.slice(2);
const how = () => readFileSync(file, "utf8").trim();
const DIAGNOSTICS = "textDocument/publishDiagnostics";

/** Of each document what was published last before that was spoiled. */
const published = new Map();

const shift = (range) => ({
  start: { ...range.start, character: range.start.character + 1 },
  end: { ...range.end, character: range.end.character + 1 },
});

/** Each way to spoil a message; it returns the message to pass on, or nothing. */
const SPOIL = {
  nothing: (message) => message,
  "wrong range": (message) => {
    message.params.diagnostics.forEach((diagnostic) => (diagnostic.range = shift(diagnostic.range)));
    return message;
  },
  "dropped diagnostics": (message) => {
    message.params.diagnostics = [];
    return message;
  },
  "stale version": ({ params }) => published.get(params.uri),
};

function passedOn(message) {
  if (message.method !== DIAGNOSTICS) {
    return message;
  }
  if (how() === "nothing") {
    published.set(message.params.uri, message);
  }
  return SPOIL[how()](message);
}

function write(message) {
  const body = Buffer.from(JSON.stringify(message));
  process.stdout.write(`Content-Length: ${body.length}\r\n\r\n`);
  process.stdout.write(body);
}

/** Calls `receive` with each message that is in `stream`. */
function read(stream, receive) {
  let data = Buffer.alloc(0);
  stream.on("data", (chunk) => {
    data = Buffer.concat([data, chunk]);
    for (;;) {
      const end = data.indexOf("\r\n\r\n");
      const length = Number(/Content-Length: (\d+)/i.exec(data.subarray(0, end))?.[1]);
      if (end < 0 || data.length < end + 4 + length) {
        return;
      }
      receive(JSON.parse(data.subarray(end + 4, end + 4 + length)));
      data = data.subarray(end + 4 + length);
    }
  });
}

const asked = args.includes("-c"); // the extension asks which Python this is
const server = spawn(python, args, { stdio: asked ? "inherit" : ["pipe", "pipe", "inherit"] });
server.on("exit", (code) => process.exit(code ?? 1));
if (!asked) {
  process.stdin.pipe(server.stdin);
  read(server.stdout, (message) => {
    const spoiled = passedOn(message);
    if (spoiled) {
      write(spoiled);
    }
  });
}
