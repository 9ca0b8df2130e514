// Looks whether the kernel of the next start has NVIDIA's module: a node that updates its kernel
// without headers works until it is restarted, and then has no GPU.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "src/agent/disk_worker.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

// Lives on the loop's thread; the folders are read on that of the disk. A look at a host where no
// kernel came or went costs one stat a kernel.
class KernelWatch {
 public:
  using Post = std::function<bool(DiskWorker::Job, DiskWorker::Failed)>;

  // Looks now and then every five minutes. `changed` is called when problem() is another. All
  // arguments outlive the watch, and `host` the jobs that `post` takes.
  KernelWatch(EventLoop& loop, const sys::Root& host, Post post, std::function<void()> changed);
  ~KernelWatch();
  KernelWatch(const KernelWatch&) = delete;
  KernelWatch& operator=(const KernelWatch&) = delete;

  // What the next start loses, with the fix; empty: nothing.
  const std::string& problem() const { return problem_; }

 private:
  struct Seen;

  void Look();
  void Take(const Seen& seen);

  EventLoop& loop_;
  const sys::Root& host_;
  const Post post_;
  const std::function<void()> changed_;
  std::string marks_;  // of the kernels as they were looked at last
  std::string problem_;
  TimerId timer_ = TimerId::kNone;
  // Gone with the watch: an answer that comes later is for nobody.
  std::shared_ptr<KernelWatch*> self_;
};

}  // namespace kgpu::agent
