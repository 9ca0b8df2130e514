// A kubelet for tests, on a thread of its own: the code under test keeps its own threads and loop.
//
//   FakeKubelet kubelet({.root = dir.At("kubelet")});
//   ASSERT_OK(kubelet.Start());
//   … start the plugin, it registers at kubelet.layout().kubelet_socket() …
//   ASSERT_TRUE(kubelet.WaitForResource("nvidia.com/gpu", {.capacity = 8, .allocatable = 8}));
//   ASSERT_OK(kubelet.AddPod(SimplePod("p", "nvidia.com/gpu", 2)));
//   ASSERT_TRUE(kubelet.WaitForPhase("p", PodPhase::kRunning));
//   EXPECT_EQ(kubelet.FindPod("p")->status.containers[0].devices["nvidia.com/gpu"].size(), 2);
//
// docs/how-it-works/stub-kubelet.md says how it behaves.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/call_log.h"
#include "testing/kubelet/claim_source.h"
#include "testing/kubelet/constants.h"
#include "testing/kubelet/faults.h"
#include "testing/kubelet/kubelet.h"
#include "testing/kubelet/layout.h"
#include "testing/kubelet/pod.h"
#include "testing/kubelet/pod_store.h"
#include "testing/kubelet/topology.h"

namespace kgpu::kubelet {

// Thread: any, for every method; each runs on the kubelet's thread and returns when it is done.
class FakeKubelet {
 public:
  struct Options {
    std::string root = {};  // the kubelet's root folder; its parent must exist
    Constants constants = Scaled(1.0 / 60);
    TopologyPolicy topology = TopologyPolicy::kNone;
    uint32_t seed = 1;                         // for what a real kubelet leaves to chance
    std::vector<int64_t> exclusive_cpus = {};  // for the exclusive use of containers
    // Called on the kubelet's thread; must outlive the kubelet. Null: pods cannot use claims.
    ClaimSource* claims = nullptr;
  };
  static constexpr std::chrono::milliseconds kPatience{10'000};

  // The kubelet is stopped initially; containers are those of NullRuntime.
  explicit FakeKubelet(const Options& options);
  // Stops it without notifying anybody, like Stop.
  ~FakeKubelet();
  FakeKubelet(const FakeKubelet&) = delete;
  FakeKubelet& operator=(const FakeKubelet&) = delete;

  const Layout& layout() const;

  // `listen_delay`: how long kubelet.sock exists but refuses connections.
  Status Start(std::chrono::nanoseconds listen_delay = std::chrono::nanoseconds(0));
  // Like a killed process: connections end, pods continue, kubelet.sock stays as a dead file.
  void Stop();
  Status Restart();
  // Stops, and every container ends unnoticed, as when the machine is switched off.
  void Reboot();

  // Pods. `key` is the name, or "namespace/name".
  Status AddPod(const PodSpec& spec);
  Status RemovePod(const std::string& key, bool is_forced = false);
  std::optional<Pod> FindPod(const std::string& key) const;
  std::vector<Pod> Pods() const;
  // The process of a running container ends.
  Status ExitContainer(const std::string& key, const std::string& container, int exit_code);

  // The node's status: an absent entry is nothing.
  std::optional<ResourceAmount> Resource(const std::string& resource) const;
  // -1: absent.
  int64_t Capacity(const std::string& resource) const;
  int64_t Allocatable(const std::string& resource) const;
  // Empty while the kubelet is stopped.
  std::vector<EndpointStatus> Endpoints() const;
  std::vector<WatchedPlugin> WatchedPlugins() const;
  // By driver, in the order of registration.
  std::vector<DraPluginStatus> DraPlugins() const;
  // The files as they are; empty if there is none.
  std::string CheckpointText() const;
  std::string DraStateText() const;

  // Calls between kubelet and plugins since the start of the test, or since ClearCalls.
  std::vector<CallRecord> Calls() const;
  uint64_t CallCount(const std::string& method) const;
  void ClearCalls();

  // From now on the pod resources API returns this v1 ListPodResourcesResponse, in its wire form;
  // empty: the real one again. Errors: InvalidArgument (no such message).
  Status ScriptPodResources(const std::string& list_reply);

  // Injects a fault: see faults.h for the points.
  void Inject(const std::string& point, const Fault& fault);
  void ClearFaults();
  // Of one resource or DRA driver, or of all if it is empty. False if there was none.
  bool DropStream(const std::string& resource = "");
  bool CutPluginConnection(const std::string& resource = "");
  // Connections that plugins made to the kubelet's own sockets.
  void CutServedConnections();

  // Waits until `condition` holds; it is called again after each change of anything above, on the
  // caller's thread. False if it did not hold within `limit`.
  bool WaitFor(const std::function<bool()>& condition,
               std::chrono::milliseconds limit = kPatience) const;
  bool WaitForResource(const std::string& resource, const ResourceAmount& amount,
                       std::chrono::milliseconds limit = kPatience) const;
  bool WaitForPhase(const std::string& key, PodPhase phase,
                    std::chrono::milliseconds limit = kPatience) const;
  // At least `count` calls of `method`.
  bool WaitForCalls(const std::string& method, uint64_t count,
                    std::chrono::milliseconds limit = kPatience) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kgpu::kubelet
