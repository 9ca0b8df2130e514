// Keeps the PodMap: asks the kubelet now and then which container has which device, and finds the
// container of each process that the driver tells of.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/pods/pod_map.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/sys/root.h"

namespace kgpu::pods {

struct WatchOptions {
  // The kubelet's: "<its folder>/pod-resources/kubelet.sock", a path of this process.
  std::string pod_resources_socket{};
  // Where a container runtime may listen, most likely first; the first that is there is asked.
  std::vector<std::string> runtime_sockets{};
  std::chrono::milliseconds every{15'000};    // between two looks at the kubelet's list; 0: off
  std::chrono::milliseconds deadline{3'000};  // of one call
  // For so long past its period a list stands when the kubelet does not answer; then nobody is
  // known to hold a device. Longer than a restart of the kubelet.
  std::chrono::milliseconds stale{60'000};
};

// Takes work that may wait for a disk or for the kernel: does `job` on another thread, and what it
// leaves, or `failed` when it threw, on the loop. False: it is not taken now.
using Background = std::function<bool(std::function<std::function<void()>()> job,
                                      std::function<void(const Status&)> failed)>;
// For programs that have nothing else to do: does it there and then.
Background AtOnce();

// Lives on the loop's thread. It is never in a hurry: a missing kubelet, runtime or /proc is
// reported in PodMap::problem and tried again. The kubelet is asked once per period, and at most
// once per second after failures; the runtime only for containers that are not known yet.
class Watch {
 public:
  // `changed` is called on the loop after current() has changed, but for OnSample.
  // `loop` outlives the watch, `host` what `background` does, too. `host` is where /proc and
  // /var/log/pods are seen.
  Watch(EventLoop& loop, const sys::Root& host, WatchOptions options, Background background,
        std::function<void(const PodMapPtr&)> changed);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void SetEvery(std::chrono::milliseconds every);
  // The processes of this round are looked up; those of earlier rounds are forgotten. When it
  // returns, current() has those that were there in the round before; `changed` tells of the rest.
  // `looked` is called once they all have been looked up, or when the next round comes and that is
  // still waited for.
  void OnSample(const device::SampleSetPtr& samples, std::function<void()> looked = {});
  // Which devices there are: names of devices in claims mean nothing without them. Null: none are
  // known. May call `changed`.
  void SetSnapshot(const device::SnapshotPtr& snapshot);
  // Asks the kubelet soon: a container has just been given a device.
  void Refresh();
  // Never null; empty with a problem until the kubelet has answered.
  const PodMapPtr& current() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::pods
