// What is there whether the kubelet runs or not: the API server's objects of this node, the
// container runtime, and what a test has set up.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "testing/kubelet/call_log.h"
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

  // Called after each change of anything that can be seen from outside.
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
  // How long kubelet.sock lies there before anyone listens: a real kubelet is slow at that too.
  std::chrono::nanoseconds listen_delay{0};
  uint32_t seed = 1;
  std::vector<int64_t> exclusive_cpus;  // that containers may have for themselves
  // Answer of the pod resources API in place of the truth, when it is not empty.
  std::string pod_resources_script;
  std::function<void()> on_change;

  PodStore pods;
  NodeResources resources;
  const std::shared_ptr<CallLog> calls;
  Faults faults;
};

}  // namespace kgpu::kubelet
