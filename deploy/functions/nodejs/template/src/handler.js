'use strict';

// Called once for each call of the function, with the caller's bytes in a Buffer. Returns a string,
// a Buffer, or a Promise of one. The process lives on between calls: what is expensive to make can
// stay in a variable outside.
function Handler(buf) {
  return buf;
}

module.exports = Handler;
