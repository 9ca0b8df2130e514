// Checks whether the kernel of the next boot has NVIDIA's module: a node whose kernel was updated
// without headers works until it restarts, and then has no GPU.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "src/agent/disk_worker.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

// Lives on the loop's thread; reads the folders on the disk thread. If no kernel came or went, a
// check costs one stat per kernel.
class KernelWatch {
 public:
  using Post = std::function<bool(DiskWorker::Job, DiskWorker::Failed)>;

  // Checks now and then every five minutes. Calls `changed` when problem() changes. All arguments
  // must outlive the watch, and `host` also the jobs that `post` takes.
  KernelWatch(EventLoop& loop, const sys::Root& host, Post post, std::function<void()> changed);
  ~KernelWatch();
  KernelWatch(const KernelWatch&) = delete;
  KernelWatch& operator=(const KernelWatch&) = delete;

  // What the next boot loses, with the fix; empty: nothing.
  const std::string& problem() const { return problem_; }

 private:
  struct Seen;

  void Look();
  void Take(const Seen& seen);

  EventLoop& loop_;
  const sys::Root& host_;
  const Post post_;
  const std::function<void()> changed_;
  std::string marks_;  // of the kernels at the last check
  std::string problem_;
  TimerId timer_ = TimerId::kNone;
  // Destroyed with the watch: a later answer is ignored.
  std::shared_ptr<KernelWatch*> self_;
};

}  // namespace kgpu::agent
