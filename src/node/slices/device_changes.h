// Lets devices change what they are once no pod holds them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/node/pools/change_guard.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"

namespace kgpu::slices {

// Lives on the loop's thread. While a device waits, looks every second at first, and every ten
// seconds after that: a pod that still holds it then may do so for days.
class DeviceChanges {
 public:
  struct Sources {
    // Why a device that was withdrawn at `since` may still be in use; empty: it is not.
    pools::ChangeGuard::Obstacle obstacle;
    std::function<void()> look_at_pods;
    std::function<void()> again;  // calls Apply with a new assignment
  };

  // `loop` must outlive it.
  DeviceChanges(EventLoop& loop, Sources sources) : loop_(loop), sources_(std::move(sources)) {}
  DeviceChanges(const DeviceChanges&) = delete;
  DeviceChanges& operator=(const DeviceChanges&) = delete;

  // See ChangeGuard.
  void Recall(pools::ChangeGuard::Shapes shapes, std::vector<pools::Resource> slots) {
    guard_.Recall(std::move(shapes), std::move(slots));
  }
  std::vector<pools::Resource> MakeRecall() const { return guard_.MakeRecall(); }
  void Apply(pools::Assignment& fresh, const pools::Assignment& before);
  const pools::ChangeGuard::Shapes& shapes() const { return guard_.shapes(); }
  const pools::Assignment& held() const { return guard_.held(); }

 private:
  EventLoop& loop_;
  const Sources sources_;
  pools::ChangeGuard guard_;
  Timer timer_{loop_};
};

}  // namespace kgpu::slices
