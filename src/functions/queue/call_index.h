// What the queue remembers of its calls between reads from the disk: which are due, how many there
// are, and how large. Pure: time is given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/functions/queue/call_record.h"
#include "src/platform/base/clock.h"

namespace kgpu::functions {

struct IndexLimits {
  size_t running = 256;  // of all functions
  size_t running_of_function = 64;
  size_t running_bytes = size_t{256} << 20;
  size_t dead = 10'000;  // over it, the oldest goes
  size_t dead_bytes = size_t{256} << 20;
};

struct IndexedCall {
  std::string function{};
  CallState state = CallState::kWaiting;
  size_t bytes = 0;
  WallTime arrived{};
  SteadyTime due{};  // while it waits
};

struct FunctionCounts {
  size_t waiting = 0;
  size_t running = 0;
  size_t dead = 0;
  uint64_t retries = 0;              // since the start
  std::optional<WallTime> oldest{};  // of the calls that are not dead
};

class CallIndex {
 public:
  explicit CallIndex(const IndexLimits& limits) : limits_(limits) {}

  void Add(int64_t number, IndexedCall call);
  const IndexedCall* Find(int64_t number) const;
  // Does nothing for a number that is not there.
  void Remove(int64_t number);
  // Its calls that have arrived by then.
  std::vector<int64_t> RemoveFunction(const std::string& function,
                                      WallTime arrived_by = WallTime::max());

  // The next call to make, now running; nothing if none is due or a limit is reached. Functions
  // take turns.
  std::optional<int64_t> StartNext(SteadyTime now);
  // When StartNext may have something, if no running call ends before. Nothing: only then.
  std::optional<SteadyTime> NextDue() const;
  // The call waits until `due`.
  void Wait(int64_t number, SteadyTime due);
  void CountRetry(int64_t number);
  // Its record takes so many bytes from now on.
  void Resize(int64_t number, size_t bytes);
  // The call is dead. Returns what had to go to make room, and is gone from here.
  std::vector<int64_t> Bury(int64_t number);
  // The same for what was added.
  std::vector<int64_t> DropOldDead();

  std::set<int64_t> Running() const;
  std::map<std::string, FunctionCounts> Counts() const;
  size_t live() const { return live_; }
  size_t live_bytes() const { return live_bytes_; }
  size_t dead() const { return dead_.size(); }
  size_t running() const { return running_.size(); }

 private:
  struct Lane {  // of a function
    std::set<std::pair<SteadyTime, int64_t>> waiting{};
    std::set<std::pair<WallTime, int64_t>> live{};  // waiting or running, by arrival
    size_t running = 0;
    size_t dead = 0;
    uint64_t retries = 0;
  };
  bool MayStart(const Lane& lane) const;
  void Leave(int64_t number, const IndexedCall& call);
  void Enter(int64_t number, const IndexedCall& call);

  const IndexLimits limits_;
  std::map<int64_t, IndexedCall> calls_;
  std::map<std::string, Lane> lanes_;
  std::set<int64_t> running_;
  std::set<int64_t> dead_;  // in the order of arrival
  size_t live_ = 0;
  size_t live_bytes_ = 0;
  size_t running_bytes_ = 0;
  size_t dead_bytes_ = 0;
  std::string last_started_;  // function
};

}  // namespace kgpu::functions
