// Looks at the host's features on a thread of its own: some of its files answer late (a network
// card's speed waits for the card), and the loop waits for nothing.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "src/node/config/node_config.h"
#include "src/node/labels/label_source.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

struct LabelWorkerOptions {
  std::string node_name;
  // A look that takes longer is reported as a problem, and waited for no more when the worker
  // stops.
  std::chrono::milliseconds slow{10'000};
  std::chrono::milliseconds stop_limit{3'000};
};

// Lives on the loop's thread; its own is named "kgpu-labels".
class LabelWorker {
 public:
  // `done` is called on the loop with each look. `loop` and `host` outlive the worker.
  LabelWorker(EventLoop& loop, const sys::Root& host, LabelWorkerOptions options,
              std::function<void(labels::LabelLook)> done);
  // Waits for a look in progress, at most `stop_limit`. One that hangs in the kernel cannot be
  // ended: the process is then.
  ~LabelWorker();
  LabelWorker(const LabelWorker&) = delete;
  LabelWorker& operator=(const LabelWorker&) = delete;

  // From the next look on.
  void SetConfig(const config::LabelsConfig& config);
  // Looks once, as soon as the look in progress has ended. Of several requests the newest counts.
  void Look(labels::LookOptions options);
  // When it is to have ended, instead of `stop_limit` after it was asked to.
  void StopBy(SteadyTime deadline);
  // For people: since when a look has been waited for too long; empty: it is not.
  std::string problem() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kgpu::agent
