// Knows which privileges this process lacks, and says it once in the log.
#pragma once

#include <functional>

#include "src/agent/privileges.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/disk_worker.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

// Lives on the loop's thread; asks the kernel on the disk thread.
class PrivilegeWatch {
 public:
  using Post = std::function<bool(sys::DiskWorker::Job, sys::DiskWorker::Failed)>;

  // Looks now, and every five minutes: device nodes come later than the agent. Calls `changed`
  // when missing() changes. All arguments must outlive the watch, and `host` and `options` also the
  // jobs that `post` takes.
  PrivilegeWatch(EventLoop& loop, const sys::Root& host, const AgentOptions& options, Post post,
                 std::function<void()> changed);
  PrivilegeWatch(const PrivilegeWatch&) = delete;
  PrivilegeWatch& operator=(const PrivilegeWatch&) = delete;

  // Looks again: the GPUs have changed.
  void Look();
  const MissingPrivileges& missing() const { return missing_; }

 private:
  void Take(MissingPrivileges missing);

  EventLoop& loop_;
  const sys::Root& host_;
  const AgentOptions& options_;
  const Post post_;
  const std::function<void()> changed_;
  MissingPrivileges missing_;
  Timer timer_{loop_};
  Lifetime lifetime_;
};

}  // namespace kgpu::agent
