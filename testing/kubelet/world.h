// What exists whether or not the kubelet runs: the API server's objects for this node, the
// container runtime, and the settings of a test.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "testing/kubelet/call_log.h"
#include "testing/kubelet/claim_source.h"
#include "testing/kubelet/constants.h"
#include "testing/kubelet/container_runtime.h"
#include "testing/kubelet/faults.h"
#include "testing/kubelet/layout.h"
#include "testing/kubelet/pod_store.h"
#include "testing/kubelet/topology.h"

namespace kgpu::kubelet {

// Everything lives on the loop's thread and outlives every kubelet.
struct World {
  World(EventLoop& on_loop, ContainerRuntime& with_runtime, const std::string& root)
      : loop(on_loop),
        runtime(with_runtime),
        layout{root},
        pods([this] { Changed(); }),
        calls(std::make_shared<CallLog>(on_loop.clock())) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Called after each change that is visible from outside.
  void Changed() const {
    if (on_change) {
      on_change();
    }
  }

  EventLoop& loop;
  ContainerRuntime& runtime;
  const Layout layout;
  Constants constants;
  TopologyPolicy topology = TopologyPolicy::kNone;
  // How long kubelet.sock exists before anyone listens: a real kubelet has such a delay too.
  std::chrono::nanoseconds listen_delay{0};
  uint32_t seed = 1;
  std::vector<int64_t> exclusive_cpus;  // for the exclusive use of containers
  ClaimSource* claims = nullptr;        // null: pods cannot use claims
  // If not empty, replaces the real answer of the pod resources API.
  std::string pod_resources_script;
  std::function<void()> on_change;

  PodStore pods;
  NodeResources resources;
  const std::shared_ptr<CallLog> calls;
  Faults faults;
};

}  // namespace kgpu::kubelet
