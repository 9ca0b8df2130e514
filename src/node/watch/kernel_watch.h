// The part that checks whether the kernel of the next boot has NVIDIA's module: a node whose kernel
// was updated without headers works until it restarts, and then has no GPU.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "src/node/part/part.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/disk_worker.h"
#include "src/platform/sys/root.h"

namespace kgpu::watch {

// Lives on the loop's thread; reads the folders on the disk thread. If no kernel came or went, a
// check costs one stat per kernel.
class KernelWatch final : public node::Part {
 public:
  using Post = std::function<bool(sys::DiskWorker::Job, sys::DiskWorker::Failed)>;

  // Checks now and then every five minutes. All arguments must outlive the watch, and `host` also
  // the jobs that `post` takes.
  KernelWatch(EventLoop& loop, const sys::Root& host, Post post);

  void ShowStatus(const node::NodeState& state, node::StatusPage& page) const override;
  void WriteSeries(const node::NodeState& state, metrics::Exposition& page) const override;

 private:
  struct Seen;

  void Look();
  void Take(const Seen& seen);

  EventLoop& loop_;
  const sys::Root& host_;
  const Post post_;
  std::string marks_;    // of the kernels at the last check
  std::string problem_;  // the loss that the next boot brings, with the fix; empty: none
  Timer timer_{loop_};
  Lifetime lifetime_;
};

}  // namespace kgpu::watch
