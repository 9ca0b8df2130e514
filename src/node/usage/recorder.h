// Counts what pods have of the GPUs, from one round of samples to the next, and keeps it.
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

// Lives on the loop's thread. Lengths of time are steady; the wall clock only says in which hour
// they are put, so that a clock that jumps invents and loses nothing.
class Recorder {
 public:
  // Both do their work where disks may be waited for, in the order of the calls, and call `done` on
  // the loop, once. False: it is not taken now.
  struct Disk {
    std::function<bool(LedgerWrite write, std::function<void(const Status&)> done)> write;
    std::function<bool(const std::string& folder, std::function<void(StatusOr<Kept>)> done)> load;
  };

  // What earlier processes kept in `folder` is loaded, and what is counted meanwhile added to it.
  // Nothing is written before: a disk that cannot be read now loses nothing.
  Recorder(std::string folder, Disk disk);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void SetRetention(std::chrono::days retention) { retention_ = retention; }
  // The next count starts again: what came before it is not counted (the counting was switched
  // off).
  void Pause() { has_round_ = false; }
  // After a round of samples: counts the time since the last count, five minutes at most, by what
  // `input` tells. Writes what is due.
  void Count(const MeterInput& input) { Count(input, input.samples.begun, input.samples.taken); }
  // The same at a moment between two rounds. Without samples of this time, what was handed out is
  // counted all the same.
  void Count(const MeterInput& input, SteadyTime now, WallTime wall);
  // Writes everything: before the end. Once more costs nothing unless something was counted.
  void Flush();

  const Ledger& ledger() const { return all_; }
  // Of the pods that have something now: what they have had since this process counts.
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
  uint64_t generation_ = 0;  // of the newest file of everything
  Ledger all_;
  Ledger recent_;  // what is not in that file
  Ledger later_;   // what has come since the write in progress was begun
  bool is_writing_all_ = false;
  bool has_all_failed_ = false;  // the file of everything may be older than it should, or newer
  bool is_flushed_ = false;
  std::map<PodName, Amounts> current_;
  std::chrono::days retention_{35};
  std::string problem_;

  bool has_round_ = false;
  SteadyTime round_{};  // until when it is counted
  bool has_clock_ = false;
  SteadyTime clock_steady_{};
  WallTime clock_wall_{};
  SteadyTime trusted_{};  // since when the wall clock has gone as the steady one does
  SteadyTime recent_written_{};
  SteadyTime all_written_{};
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // answers of the writer may come late
};

}  // namespace kgpu::usage
