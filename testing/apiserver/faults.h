// Deliberate faults, controlled from outside: which requests, how, how often, for how long.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "testing/apiserver/sink.h"

namespace kgpu::apiserver {

enum class FaultKind : uint8_t {
  kAway,        // connections are refused, open ones break
  kAnswer,      // an answer with `code`, and Retry-After if `retry_after` is not 0
  kWatchError,  // a watch begins with 200 and an ERROR event of `code`
  kReset,       // the connection breaks without an answer
  kCut,         // the connection breaks after `bytes` bytes of the body
  kDelay,       // the answer begins `delay` late
  kTrickle,     // the body comes `bytes` bytes at a time, `delay` apart
};

struct Fault {
  FaultKind kind = FaultKind::kAnswer;
  // Which requests; "" is any. A resource has its name in counters, "nodes/status".
  std::string verb{};
  std::string resource{};
  std::string user_agent{};  // prefix
  std::string token{};       // the bearer token
  int code = 500;
  std::chrono::seconds retry_after{0};
  std::chrono::milliseconds delay{0};
  size_t bytes = 0;
  int count = -1;                           // requests that it may still hit; -1: all
  std::chrono::milliseconds lasts_for{-1};  // from now; -1: until removed
};

// {"kind": "answer", "verb": "watch", "resource": "nodes", "code": 410, "retryAfter": 1,
//  "delayMs": 5, "bytes": 1, "count": 3, "seconds": 10}; kinds: away, answer, watchError, reset,
// cut, delay, trickle. Errors: InvalidArgument.
StatusOr<Fault> ParseFault(const boost::json::object& text);

struct RequestTraits {
  std::string verb{};
  std::string resource{};
  std::string user_agent{};
  std::string token{};
};

// Loop thread only.
class Faults {
 public:
  explicit Faults(EventLoop& loop) : loop_(loop) {}
  ~Faults();
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  uint64_t Add(Fault fault);
  void Remove(uint64_t id);
  void Clear();
  bool is_away() const;
  // Called when the server goes away (true) and comes back. One listener for the server's own
  // connections, one for the listening sockets.
  void OnAway(std::function<void(bool is_away)> listener) {
    listeners_.push_back(std::move(listener));
  }
  // The faults for this request; each counts it.
  std::vector<Fault> Take(const RequestTraits& request);

 private:
  struct Entry {
    Fault fault;
    TimerId timer = TimerId::kNone;
  };
  void Forget(uint64_t id);
  void LogAway(bool was_away);

  EventLoop& loop_;
  uint64_t last_id_ = 0;
  std::map<uint64_t, Entry> faults_;
  std::vector<std::function<void(bool)>> listeners_;
};

// `sink` with the effects of these faults on a response's bytes; `sink` itself if they have none.
std::shared_ptr<Sink> WithFaults(EventLoop& loop, std::shared_ptr<Sink> sink,
                                 const std::vector<Fault>& faults);

}  // namespace kgpu::apiserver
