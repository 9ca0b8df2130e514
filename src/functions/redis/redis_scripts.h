// The steps of the queue as Lua scripts: the server runs each of them as a whole, or not at all.
// docs/how-it-works/shared-queue.md has the keys that they use.
#pragma once

#include <string>

namespace kgpu::functions {

// KEYS[1] is the prefix of all keys. The arguments and results are those of RedisCalls.
struct RedisScripts {
  RedisScripts();

  const std::string put;
  const std::string claim;
  const std::string renew;
  const std::string release;
  const std::string end;
  const std::string remove_function;
  const std::string page;
  const std::string change;
  const std::string counts;
};

}  // namespace kgpu::functions
