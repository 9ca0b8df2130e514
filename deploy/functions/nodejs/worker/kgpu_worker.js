// The worker of Node.js functions: loads the handler once, then answers the calls of kgpu-fnwatch.
// The protocol is on descriptors 3 (to us) and 4 (from us): docs/how-it-works/function-watchdog.md.
// What the handler prints is its log. No packages besides Node.js.
'use strict';

const fs = require('fs');
const net = require('net');
const path = require('path');

const HEAD = 12;
const MAX_PAYLOAD = 1 << 20;
const MAX_FAILURE = 16384;

// One call, the second argument of a handler.
class Call {
  constructor(about) {
    this.id = about.id;
    this.method = about.method;
    this.path = about.path;
    this.query = about.query;
    this.headers = about.headers;
    this.deadlineMs = about.deadlineMs;
    // Of the answer; used if they are set before the first piece of it.
    this.status = 200;
    this.responseHeaders = {};
    // Whether nobody waits for the answer any more.
    this.isGivenUp = false;
  }
  setStatus(status) { this.status = status; }
  // A list becomes that many fields.
  setHeader(name, value) { this.responseHeaders[name] = value; }
  // One field more of this name.
  appendHeader(name, value) {
    this.responseHeaders[name] = [].concat(this.responseHeaders[name] ?? [], value);
  }
}

function loadHandler() {
  const folder = process.env.HANDLER_DIR || '/function';
  const file = path.join(folder, process.env.HANDLER_FILE || 'handler.js');
  const name = process.env.HANDLER_NAME || 'Handler';
  if (!fs.existsSync(file)) {
    throw new Error(`${file}: no such handler: check handler.dir and handler.file in config.yaml`);
  }
  const loaded = require(path.resolve(file));
  const handler = typeof loaded === 'function' ? loaded : loaded[name] || loaded.default;
  if (typeof handler !== 'function') {
    throw new Error(`${file}: exports no function ${name}: check handler.name in config.yaml`);
  }
  return handler;
}

// Writes frames; `drained` is a promise while the watchdog is behind.
class Output {
  constructor(fd) {
    this.socket = new net.Socket({ fd, readable: false, writable: true });
    this.socket.on('error', () => process.exit(0)); // the watchdog is gone
    this.drained = null;
  }
  send(type, call, payload) {
    const head = Buffer.alloc(HEAD);
    head.writeUInt32LE(payload.length, 0);
    head[4] = type.charCodeAt(0);
    head.writeUInt32LE(call, 8);
    this.socket.cork();
    this.socket.write(head);
    const hasRoom = payload.length === 0 || this.socket.write(payload);
    process.nextTick(() => this.socket.uncork());
    if (!hasRoom && !this.drained) {
      this.drained = new Promise((resolve) => this.socket.once('drain', () => {
        this.drained = null;
        resolve();
      }));
    }
  }
  end(done) { this.socket.end(done); }
}

// The value of a header as JSON. The watchdog refuses what is no text: the answer is no valid HTTP then.
function fieldOf(value) {
  if (Array.isArray(value)) return value.map(fieldOf);
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return { [`a value of the type ${typeof value}`]: null };
}

function headOf(call) {
  const fields = Object.entries(call.responseHeaders).map(([name, value]) => [name, fieldOf(value)]);
  const status = typeof call.status === 'bigint' ? Number(call.status) : call.status;
  const head = { status: status === undefined ? null : status, headers: Object.fromEntries(fields) };
  return Buffer.from(JSON.stringify(head)).subarray(0, MAX_PAYLOAD);
}

function bytesOf(piece) {
  if (Buffer.isBuffer(piece)) return piece;
  if (piece instanceof Uint8Array) return Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
  if (typeof piece === 'string') return Buffer.from(piece);
  if (piece === undefined || piece === null) return Buffer.alloc(0);
  throw new TypeError('a handler returns a string, a Buffer, or an iterator of them');
}

class Worker {
  constructor(handler, output, isConcurrent) {
    this.handler = handler;
    this.output = output;
    this.isConcurrent = isConcurrent;
    this.calls = new Map();
    this.rest = [];
    this.restSize = 0;
    this.wantsEnd = false;
  }

  // Takes bytes, which may end within a frame.
  feed(bytes) {
    this.rest.push(bytes);
    this.restSize += bytes.length;
    if (this.restSize < (this.needed || HEAD)) return;
    let data = this.rest.length === 1 ? this.rest[0] : Buffer.concat(this.rest);
    while (data.length >= HEAD && data.length >= HEAD + data.readUInt32LE(0)) {
      const size = data.readUInt32LE(0);
      this.onFrame(String.fromCharCode(data[4]), data.readUInt32LE(8), data.subarray(HEAD, HEAD + size));
      data = data.subarray(HEAD + size);
    }
    this.needed = data.length >= HEAD ? HEAD + data.readUInt32LE(0) : HEAD;
    this.rest = data.length > 0 ? [data] : [];
    this.restSize = data.length;
  }

  onFrame(type, number, payload) {
    if (type === 'Q') {
      this.wantsEnd = true;
      return this.endIfIdle();
    }
    if (type === 'C') {
      this.calls.set(number, { call: new Call(JSON.parse(payload.toString())), input: [] });
      return undefined;
    }
    const entry = this.calls.get(number);
    if (!entry) return undefined;
    if (type === 'D') {
      // A copy: a view would keep the whole piece that was read.
      entry.input.push(Buffer.from(payload));
    } else if (type === 'X') {
      entry.call.isGivenUp = true;
    } else if (type === 'E') {
      this.run(number, entry);
    }
    return undefined;
  }

  async run(number, entry) {
    const { call } = entry;
    const input = entry.input.length === 1 ? entry.input[0] : Buffer.concat(entry.input);
    entry.input = null;
    try {
      await this.answer(number, call, await this.handler(input, call));
      this.output.send('E', number, Buffer.alloc(0));
    } catch (error) {
      console.error(error);
      const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      this.output.send('F', number, Buffer.from(text).subarray(0, MAX_FAILURE));
    }
    this.calls.delete(number);
    this.endIfIdle();
  }

  async answer(number, call, result) {
    const isStream = result !== null && typeof result === 'object' && !(result instanceof Uint8Array) &&
      (result[Symbol.asyncIterator] || result[Symbol.iterator]);
    if (!isStream) {
      const bytes = bytesOf(result);
      this.sendHead(number, call);
      this.sendData(number, bytes);
      return;
    }
    let isFirst = true;
    for await (const piece of result) {
      if (call.isGivenUp) return;
      if (isFirst) this.sendHead(number, call);
      isFirst = false;
      this.sendData(number, bytesOf(piece));
      if (this.output.drained) await this.output.drained;
      // Lets frames in: that nobody waits any more, or other calls.
      await new Promise(setImmediate);
    }
    if (isFirst) this.sendHead(number, call);
  }

  sendHead(number, call) {
    if (call.status === 200 && Object.keys(call.responseHeaders).length === 0) return;
    this.output.send('H', number, headOf(call));
  }

  sendData(number, bytes) {
    for (let at = 0; at < bytes.length; at += MAX_PAYLOAD) {
      this.output.send('D', number, bytes.subarray(at, at + MAX_PAYLOAD));
    }
  }

  endIfIdle() {
    if (this.wantsEnd && this.calls.size === 0) {
      this.output.end(() => process.exit(0));
    }
  }
}

function main() {
  const handler = loadHandler();
  const isConcurrent = Number(process.env.KGPU_FN_CONCURRENCY || '1') > 1;
  const output = new Output(4);
  const worker = new Worker(handler, output, isConcurrent);
  const input = new net.Socket({ fd: 3, readable: true, writable: false });
  input.on('data', (bytes) => worker.feed(bytes));
  input.on('error', () => process.exit(0));
  input.on('end', () => { worker.wantsEnd = true; worker.endIfIdle(); });
  const ready = { concurrent: isConcurrent, runtime: `node ${process.version}` };
  output.send('R', 0, Buffer.from(JSON.stringify(ready)));
}

main();
