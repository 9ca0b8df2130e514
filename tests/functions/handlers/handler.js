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
    case 'cookies':
      call.setHeader('Set-Cookie', ['a=1; Path=/']);
      call.appendHeader('Set-Cookie', 'b=2; Path=/');
      call.setHeader('X-Number', 7);
      return 'set';
    case 'bad-status': call.setStatus(999); return 'x';
    case 'bad-name': call.setHeader('Bad Header', 'x'); return 'x';
    case 'bad-value': call.setHeader('X-A', 'x\r\nSet-Cookie: stolen=1'); return 'x';
    case 'big-head': call.setHeader('X-A', 'x'.repeat(2 << 20)); return 'x';
    case 'bad-type': call.setHeader('X-A', undefined); return 'x';
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
