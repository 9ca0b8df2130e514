// A call of a function, as its callers' protocols and the pool of workers see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/net/http/message.h"

namespace kgpu::watchdog {

// Names a call towards workers; never 0.
using CallId = uint32_t;

// What the handler gets.
struct CallInput {
  std::string id{};    // X-Call-Id
  std::string text{};  // see CallText
  std::string body{};
  // If the caller has one of its own, earlier than the function's timeout.
  std::optional<SteadyTime> deadline{};
};

// Why a call has no complete answer. The words of Kgpu-Fault.
enum class FaultKind : uint8_t {
  kHandler,   // the handler threw an exception
  kCrash,     // its process ended
  kTimeout,   // past the deadline
  kOverload,  // too many calls at a time
  kStarting,  // no process is ready yet
  kStopping,  // the watchdog drains
  kOutput,    // more output than allowed
  kReply,     // the handler's answer is no valid HTTP response
  kInput,     // the caller's request cannot be a call
};

struct Fault {
  FaultKind kind = FaultKind::kHandler;
  std::string text{};
};

std::string_view FaultWord(FaultKind kind);

// The status and headers that a handler may set, before its output.
struct CallHead {
  int status = 200;
  http::Headers headers{};
};

// Where a call's answer goes: one protocol's view of the caller. Owned by the pool until End or
// Fail, which come once, last; called on the loop's thread.
class Caller {
 public:
  Caller() = default;
  virtual ~Caller() = default;
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  virtual void Head(CallHead head) = 0;
  virtual void Data(std::string_view bytes) = 0;
  // What the worker had to say for now has been passed: send it. False if the caller is gone.
  virtual bool Flush() = 0;
  virtual void End() = 0;
  virtual void Fail(const Fault& fault) = 0;
  // Bytes that the caller has not accepted yet, and a task to run once it has, or is gone.
  virtual size_t pending() const { return 0; }
  // NOLINTNEXTLINE(performance-unnecessary-value-param): who overrides it keeps the task
  virtual void OnDrained(std::function<void()> /*task*/) {}
  // Calls `task` once, from the loop, if the caller leaves before its answer is complete.
  virtual void OnGone(std::function<void()> task) = 0;
};

}  // namespace kgpu::watchdog
