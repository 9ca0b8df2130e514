// Every call between the kubelet and plugins, in order, for tests and people.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/platform/base/clock.h"

namespace kgpu::kubelet {

struct CallRecord {
  uint64_t number = 0;  // from 1, never reused
  WallTime time;
  // The RPC's name; messages of a stream are records of their own, "ListAndWatchResponse".
  std::string method;
  std::string peer;       // resource, driver or socket path, whichever names the plugin best
  std::string arguments;  // a summary
  std::optional<std::string> reply;  // a summary, or the error; nothing while the call runs
  std::chrono::nanoseconds duration{0};
};

// Lives on the loop's thread. Holds the last kLength calls and counts all.
class CallLog {
 public:
  static constexpr size_t kLength = 2000;
  static constexpr size_t kTextLimit = 400;  // of arguments and replies

  // `clock` outlives the log.
  explicit CallLog(const Clock& clock) : clock_(clock) {}

  // Returns the number of the call that starts.
  uint64_t Begin(std::string_view method, std::string_view peer, std::string_view arguments);
  // Ignores a call that has left the log.
  void End(uint64_t number, std::string_view reply);
  // Records something without a reply, such as a message of a stream.
  void Note(std::string_view method, std::string_view peer, std::string_view text);

  const std::deque<CallRecord>& records() const { return records_; }
  // How often `method` was called since the start, or since Clear.
  uint64_t Count(std::string_view method) const;
  void Clear();
  // Called after each new record and each end of a call.
  void OnChange(std::function<void()> task) { changed_ = std::move(task); }

 private:
  const Clock& clock_;
  uint64_t next_ = 1;
  std::deque<CallRecord> records_;
  std::deque<SteadyTime> started_;  // of each record
  std::map<std::string, uint64_t, std::less<>> counts_;
  std::function<void()> changed_ = [] {};
};

}  // namespace kgpu::kubelet
