// An asynchronous call as the queue keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/platform/base/clock.h"
#include "src/platform/net/http/message.h"

namespace kgpu::functions {

enum class CallState : uint8_t {
  kWaiting,  // for its turn, or for its next attempt
  kRunning,  // an attempt is under way
  kDead,     // it has failed for good, and stays until somebody retries or purges it
};

struct CallRecord {
  int64_t number = 0;  // in the order of arrival; never used again
  std::string call_id{};
  std::string function{};
  std::string method{};
  std::string target{};  // what the watchdog gets: "/path?query"
  http::Headers headers{};
  std::string body{};
  size_t bytes = 0;      // of target, headers and body
  WallTime arrived{};    // or when it was retried by hand
  int64_t attempts = 0;  // that have ended
  int64_t retries = 0;   // that the function allows; attempts that no replica took do not count
  int64_t retries_left = 0;
  WallTime not_before{};  // when the next attempt is due
  bool is_dead = false;
  int code = 0;                   // of the last attempt; 0: none has ended
  std::string problem{};          // of the last attempt
  std::string callback{};         // URL that gets the answer; may be empty
  std::string idempotency_key{};  // may be empty
};

}  // namespace kgpu::functions
