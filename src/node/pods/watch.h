// Keeps the PodMap up to date: regularly queries the kubelet for which container has which device,
// and finds the container of each process that the driver reports.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/pods/background.h"
#include "src/node/pods/claims.h"
#include "src/node/pods/pod_map.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/sys/root.h"

namespace kgpu::pods {

struct WatchOptions {
  // The kubelet's: "<its folder>/pod-resources/kubelet.sock", by this process's path.
  std::string pod_resources_socket{};
  // Possible sockets of a container runtime, most likely first; the first that exists is used.
  std::vector<std::string> runtime_sockets{};
  std::chrono::milliseconds every{15'000};    // between two reads of the kubelet's list; 0: off
  std::chrono::milliseconds deadline{3'000};  // per call
  // If the kubelet does not answer, a list stays valid for this long after its period; then nobody
  // is known to hold a device. Longer than a restart of the kubelet.
  std::chrono::milliseconds stale{60'000};
  ClaimIds claim_ids{};  // of claims that this process has prepared; called on the loop
};

// How far the devices in PodMap can be trusted.
struct ListState {
  // When the kubelet was asked for the list that is in use; nothing: there is none.
  std::optional<SteadyTime> asked{};
  // No kubelet has ever run here: it would have made the folder of its socket, which stays when it
  // stops. So nobody runs pods.
  bool has_no_kubelet = false;
};

// Lives on the loop's thread. Never in a hurry: reports a missing kubelet, runtime or /proc in
// PodMap::problem and retries. Queries the kubelet once per period, and at most once per second
// after failures; the runtime only about unknown containers.
class Watch {
 public:
  // Calls `changed` on the loop after current() has changed, except within OnSample. `loop` must
  // outlive the watch; `host` also what `background` runs. `host` is where /proc and /var/log/pods
  // are.
  Watch(EventLoop& loop, const sys::Root& host, WatchOptions options, Background background,
        std::function<void(const PodMapPtr&)> changed);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void SetEvery(std::chrono::milliseconds every);
  // Looks up the processes of this round and forgets those of earlier rounds. On return,
  // current() has those that the previous round had too; `changed` reports the rest.
  // `looked` is called once, when all have been looked up, or when the next round comes
  // first.
  void OnSample(const device::SampleSetPtr& samples, std::function<void()> looked = {});
  // The existing devices: names of claimed devices mean nothing without them. Null: none are known.
  // May call `changed`.
  void SetSnapshot(const device::SnapshotPtr& snapshot);
  // Queries the kubelet soon: a container has just been given a device.
  void Refresh();
  // Never null; empty with a problem until the kubelet has answered.
  const PodMapPtr& current() const;
  ListState list_state() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::pods
