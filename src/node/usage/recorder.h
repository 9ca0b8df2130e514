// Counts pods' use of the GPUs from one round of samples to the next, and stores it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "src/node/usage/ledger.h"
#include "src/node/usage/meter.h"
#include "src/node/usage/store.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::usage {

// Lives on the loop's thread. Durations use steady time; the wall clock only decides into which
// hour they go, so that a clock that jumps neither adds nor loses anything.
class Recorder {
 public:
  // Both run where waiting for disks is allowed, in the order of the calls, and call `done` on the
  // loop, once. False: not accepted now.
  struct Disk {
    std::function<bool(LedgerWrite write, std::function<void(const Status&)> done)> write;
    std::function<bool(const std::string& folder, std::function<void(StatusOr<Kept>)> done)> load;
  };

  // Loads what earlier processes stored in `folder`, and adds what is counted meanwhile. Writes
  // nothing before that: if the disk is unreadable now, nothing is lost.
  Recorder(std::string folder, Disk disk);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void SetRetention(std::chrono::days retention) { retention_ = retention; }
  // The next count starts over: the time before it is not counted (counting was switched
  // off).
  void Pause() { has_round_ = false; }
  // Call after a round of samples: counts the time since the last count, at most five minutes, from
  // `input`. Writes what is due.
  void Count(const MeterInput& input) { Count(input, input.samples.begun, input.samples.taken); }
  // The same between two rounds. Without current samples, allocations are still
  // counted.
  void Count(const MeterInput& input, SteadyTime now, WallTime wall);
  // Writes everything: call it before the end. Repeating it is free unless something was counted.
  void Flush();

  const Ledger& ledger() const { return all_; }
  // For pods that have something now: their use since this process began counting.
  const std::map<PodName, Amounts>& current() const { return current_; }
  // Of the files; empty: none.
  const std::string& problem() const { return problem_; }

 private:
  void Add(const Rates& rates, double seconds, Hour hour);
  void WatchClock(SteadyTime now, WallTime wall);
  void WriteWhatIsDue(SteadyTime now, WallTime wall);
  void Load();
  void OnLoaded(StatusOr<Kept> kept);
  void Write(LedgerWrite write, void (Recorder::*done)(const Status&));
  void WriteAll();
  void OnAllWritten(const Status& status);
  void WriteRecent();
  void OnRecentWritten(const Status& status);
  void Note(const Status& status);

  const std::string folder_;
  const Disk disk_;
  bool is_loaded_ = false;
  bool is_loading_ = false;
  uint64_t generation_ = 0;  // of the newest complete file
  Ledger all_;
  Ledger recent_;  // what that file does not have
  Ledger later_;   // what was added since the current write began
  bool is_writing_all_ = false;
  bool has_all_failed_ = false;  // the complete file may be older than expected, or newer
  bool is_flushed_ = false;
  std::map<PodName, Amounts> current_;
  std::chrono::days retention_{35};
  std::string problem_;

  bool has_round_ = false;
  SteadyTime round_{};  // end of the counted time
  bool has_clock_ = false;
  SteadyTime clock_steady_{};
  WallTime clock_wall_{};
  SteadyTime trusted_{};  // since when wall clock and steady clock agree
  SteadyTime recent_written_{};
  SteadyTime all_written_{};
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // the writer may answer late
};

}  // namespace kgpu::usage
