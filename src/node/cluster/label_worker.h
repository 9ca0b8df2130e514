// Reads the host's features on a thread of its own: some files answer late (a network card's speed
// waits for the card), and the loop must never wait.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "src/node/config/node_config.h"
#include "src/node/labels/label_source.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/sys/root.h"

namespace kgpu::cluster {

struct LabelWorkerOptions {
  std::string node_name;
  // A longer look is reported as a problem, and not awaited when the worker
  // stops.
  std::chrono::milliseconds slow{10'000};
  std::chrono::milliseconds stop_limit{3'000};
};

// Lives on the loop's thread; its own thread is named "kgpu-labels".
class LabelWorker {
 public:
  // Calls `done` on the loop after each look. `loop` and `host` must outlive the worker.
  LabelWorker(EventLoop& loop, const sys::Root& host, LabelWorkerOptions options,
              std::function<void(labels::LabelLook)> done);
  // Waits for a look in progress, at most `stop_limit`. One that hangs in the kernel cannot be
  // ended: the process exits instead.
  ~LabelWorker();
  LabelWorker(const LabelWorker&) = delete;
  LabelWorker& operator=(const LabelWorker&) = delete;

  // Applies from the next look on.
  void SetConfig(const config::LabelsConfig& config);
  // Looks once, after any look in progress. The newest of several requests counts.
  void Look(labels::LookOptions options);
  // The deadline to stop, instead of `stop_limit` after the request.
  void StopBy(SteadyTime deadline);
  // For people: since when a look takes too long; empty: none does.
  std::string problem() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kgpu::cluster
