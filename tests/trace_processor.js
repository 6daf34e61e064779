// Perfetto's trace processor, built for WebAssembly, as a filter: requests in, answers out.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2];
const exit = process.exit;

function file(name) {
  return fs.readFileSync(path.join(folder, path.basename(String(name))));
}

// What a worker of a browser has; without `process` it does not take this for anything else.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.importScripts = () => {};
globalThis.location = { href: "file:///" };
globalThis.fetch = async (name) =>
  new Response(file(name), { headers: { "Content-Type": "application/wasm" } });
globalThis.XMLHttpRequest = class {
  open(_, name) {
    this.name = name;
  }
  send() {
    const found = file(this.name);
    this.status = 200;
    this.response = found.buffer.slice(found.byteOffset, found.byteOffset + found.length);
  }
};
console.log = console.warn = () => {};
delete globalThis.process;

vm.runInThisContext(file("engine_bundle.js").toString());
const port = { postMessage: (answer) => fs.writeSync(1, Buffer.from(answer)) };
globalThis.onmessage({ data: port });
const requests = new Uint8Array(fs.readFileSync(0));

function begin(tries) {
  try {
    port.onmessage({ data: requests });
  } catch (error) {
    fs.writeSync(2, `${error}`.slice(-2000));
    exit(1);
  }
  exit(0);
}
setTimeout(begin, 1000);
