// The DRA driver's socket in the kubelet's plugins_registry/: registration, claims and health on
// one socket, which the kubelet finds by itself.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/node/claims/preparer.h"
#include "src/node/claims/service.h"
#include "src/node/plugin/watcher_registration.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/rpc/server.h"
#include "src/platform/sys/acceptor.h"
#include "src/platform/sys/folder_watch.h"

namespace kgpu::claims {

// Lives on the loop's thread.
class KubeletLink {
 public:
  // Calls `changed` from the loop when problem() may have changed. `loop` and `preparer` must
  // outlive it. Errors: Internal (gRPC does not start).
  static StatusOr<std::unique_ptr<KubeletLink>> Open(EventLoop& loop, Preparer& preparer,
                                                     const std::string& kubelet_dir,
                                                     std::function<void()> changed);
  ~KubeletLink();
  KubeletLink(const KubeletLink&) = delete;
  KubeletLink& operator=(const KubeletLink&) = delete;

  // Sent at once where it differs, and again often enough for the kubelet.
  void SetHealth(std::vector<DeviceHealth> health);
  // Why the kubelet does not know the driver, with the fix; empty: it does.
  const std::string& problem() const { return problem_; }
  // Another driver of the same name serves the kubelet.
  bool is_other_there() const { return is_other_there_; }
  // For the end: see sys::Inotify::RemoveWatches.
  void StopWatching();

 private:
  KubeletLink(EventLoop& loop, Preparer& preparer, std::string folder,
              std::function<void()> changed);
  void Look();
  void LookForOther();
  void Tick();
  void Report(std::string problem);

  EventLoop& loop_;
  const std::string folder_;
  const std::function<void()> changed_;
  plugin::WatcherRegistration registration_;
  ClaimService service_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<sys::Acceptor> acceptor_;
  std::unique_ptr<sys::FolderWatch> watch_;
  std::vector<DeviceHealth> health_;
  bool is_other_there_ = false;
  std::string problem_;
  Timer tick_{loop_};
  Lifetime lifetime_;
};

}  // namespace kgpu::claims
