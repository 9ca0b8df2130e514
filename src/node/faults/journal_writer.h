// Writes the journal of the GPUs' health: entries wait while the disk is busy, full or
// missing.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "src/gpu/health/journal.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/sys/disk_worker.h"

namespace kgpu::faults {

struct JournalWriterOptions {
  std::string folder;
  std::string boot_id;  // empty: unknown, boots are not recorded
  health::Journal::Limits limits{};
  // Limit for waiting entries. Over it, repeats are dropped first, then the
  // oldest.
  size_t max_waiting = 1000;
  std::chrono::milliseconds retry{60'000};
};

// Lives on the loop's thread; accesses files on the worker's.
class JournalWriter {
 public:
  // Records the host's start in the journal, unless it has this boot already. `loop` and `disk`
  // must outlive the writer.
  JournalWriter(EventLoop& loop, sys::DiskWorker& disk, JournalWriterOptions options);
  // Flushes.
  ~JournalWriter();
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  void Add(health::JournalEntry entry);
  // Passes waiting entries to the worker, even if it is busy: call it before the end.
  void Flush();
  using Use = std::function<sys::DiskWorker::Done(health::JournalText)>;
  // Calls `use` on the worker's thread with the entries of the file and the waiting ones that
  // `filter` selects, and then its result on the loop. Or calls `failed` on the loop. Errors: as
  // Journal::Read; ResourceExhausted (the disk lags behind), Unavailable (it does not answer), both
  // immediately, from within Read; Internal.
  void Read(health::JournalFilter filter, const Use& use, const sys::DiskWorker::Failed& failed);
  // Why the journal is not written, with the fix; empty: it is.
  std::string problem() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kgpu::faults
