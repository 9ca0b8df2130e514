// Reads and writes the table of calls on a thread of its own: the loop never waits for the disk.
// What is posted while the disk is busy goes into one transaction.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/functions/queue/call_table.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// Lives on the loop's thread; its own thread is named "kgpu-queue".
class TableWorker {
 public:
  // On the worker's thread. May run twice: a transaction that fails is repeated operation by
  // operation, so that one that cannot succeed does not fail the others.
  using Operation = std::function<Status(CallTable&)>;
  // On the loop, when the operation is on the disk, or has failed. Not run once the worker stops.
  // It and its operation are destroyed on the loop's thread.
  using Done = std::function<void(const Status&)>;
  // On the loop, once, before the first Done whose operation was done: the calls that were found.
  using Opened = std::function<void(std::vector<CallRecord> calls, const std::string& note)>;

  // The table is opened by the first operation, and while that fails, by every further one. `loop`
  // must outlive the worker. Errors: ResourceExhausted (no descriptors left).
  static StatusOr<std::unique_ptr<TableWorker>> Start(EventLoop& loop, std::string folder,
                                                      TableLimits limits, Opened opened);
  // Finishes what was posted. A disk that does not respond for 10 s ends the process: its calls are
  // on the disk, and a thread that hangs in the kernel cannot be ended.
  ~TableWorker();
  TableWorker(const TableWorker&) = delete;
  TableWorker& operator=(const TableWorker&) = delete;

  // The caller bounds how much it posts.
  void Post(Operation operation, Done done);

 private:
  class Impl;
  explicit TableWorker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::functions
