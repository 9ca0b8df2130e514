// The server on pod-resources/kubelet.sock: tells monitoring agents which container has which
// device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "testing/kubelet/call_log.h"
#include "testing/kubelet/constants.h"
#include "testing/kubelet/faults.h"
#include "testing/kubelet/pod_resources.h"

namespace kgpu::kubelet {

// Lives on the loop's thread. Serves v1 (List, GetAllocatableResources, Get) and v1alpha1 (List);
// one rate limit for all methods and clients.
class PodResourcesServer {
 public:
  // Provides the answers; called on the loop.
  struct Source {
    std::function<std::vector<ListedPod>()> list;      // active pods
    std::function<std::vector<ListedPod>()> list_all;  // every pod that the kubelet knows
    std::function<std::vector<ListedDevice>()> allocatable;
    std::function<std::vector<int64_t>()> cpus;  // for the exclusive use of containers
    // If not empty, the bytes of the v1 ListPodResourcesResponse to return.
    std::function<std::string()> script;
  };
  struct Setting {
    EventLoop& loop;
    const Constants& constants;
    std::shared_ptr<CallLog> log;
    Faults& faults;
  };

  // The objects in `setting` must outlive the server. Errors: as ErrnoStatus.
  static StatusOr<std::unique_ptr<PodResourcesServer>> Start(const Setting& setting,
                                                             const std::string& path,
                                                             Source source);
  ~PodResourcesServer();
  PodResourcesServer(const PodResourcesServer&) = delete;
  PodResourcesServer& operator=(const PodResourcesServer&) = delete;

  void CutConnections();

 private:
  struct State;
  explicit PodResourcesServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Whether `bytes` are a valid script: a v1 ListPodResourcesResponse.
bool IsListReply(const std::string& bytes);

}  // namespace kgpu::kubelet
