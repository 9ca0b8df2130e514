'use strict';

function* numbers(count) {
  for (let number = 0; number < count; number += 1) yield `piece ${number}\n`;
}

function* endless() {
  for (;;) yield Buffer.alloc(65536, 'x');
}

function Handler(buf, call) {
  const [word, argument] = buf.toString('latin1', 0, 100).split(/[ \n]/);
  switch (word) {
    case 'throw': throw new Error('no such thing');
    case 'exit': process.exit(3); break;
    case 'crash': process.kill(process.pid, 'SIGSEGV'); break;
    case 'hang': return new Promise(() => {});
    case 'flood': return endless();
    case 'head':
      call.setStatus(418);
      call.setHeader('X-Pot', 'tea');
      return `${call.method} ${call.path} ${call.query} ${call.headers.traceparent} ${call.id}`;
    case 'stream': return numbers(Number(argument));
    case 'print':
      console.log('a line of the log');
      console.error('an error of the log');
      break;
    default:
  }
  return buf;
}

module.exports = Handler;
