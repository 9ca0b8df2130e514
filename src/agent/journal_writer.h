// Keeps the journal of the GPUs' health: what is to be written waits while the disk is busy, full
// or not there.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "src/agent/disk_worker.h"
#include "src/gpu/health/journal.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::agent {

struct JournalWriterOptions {
  std::string folder;
  std::string boot_id;  // empty: not known, boots are not noted
  health::Journal::Limits limits{};
  // Entries that wait for the disk. Past it those that tell of something seen once more go first,
  // then the oldest.
  size_t max_waiting = 1000;
  std::chrono::milliseconds retry{60'000};
};

// Lives on the loop's thread; files are touched on the worker's.
class JournalWriter {
 public:
  // Notes in the journal that the host was started, if this boot is not in it yet. `loop` and
  // `disk` outlive the writer.
  JournalWriter(EventLoop& loop, DiskWorker& disk, JournalWriterOptions options);
  // Flushes.
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  void Add(health::JournalEntry entry);
  // Gives what waits to the worker, whatever it is at: before the end.
  void Flush();
  using Use = std::function<DiskWorker::Done(health::JournalText)>;
  // Calls `use` on the worker's thread with what `filter` selects of the file, and of what waits to
  // be written to it; then what that returns, on the loop. Or calls `failed`, on the loop. Errors:
  // as Journal::Read; ResourceExhausted (the disk is behind), Unavailable (it does not answer),
  // both called at once, from here; Internal.
  void Read(health::JournalFilter filter, const Use& use, const DiskWorker::Failed& failed);
  // Why events is not kept, with the fix; empty: it is.
  std::string problem() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kgpu::agent
