// The steps of the queue as Lua scripts: the server runs each of them as a whole, or not at all.
// docs/how-it-works/shared-queue.md has the keys that they use.
#pragma once

#include <string>

namespace kgpu::functions {

struct RedisScript {
  std::string text{};
  std::string sha1{};  // by which a server that has run it knows it
};

// KEYS[1] is the prefix of all keys. The arguments and results are those of RedisCalls.
struct RedisScripts {
  RedisScripts();

  const RedisScript put;
  const RedisScript claim;
  const RedisScript renew;
  const RedisScript release;
  const RedisScript answer;
  const RedisScript end;
  const RedisScript remove_function;
  const RedisScript page;
  const RedisScript change;
  const RedisScript counts;
};

}  // namespace kgpu::functions
