#include "src/node/pods/kubelet_list.h"

#include <podresources_v1.pb.h>

#include <algorithm>
#include <utility>

#include "src/platform/net/rpc/one_call.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::pods {
namespace {

using Done = std::function<void(StatusOr<std::vector<DeviceUse>>)>;

// Ids of device plugins that name GPUs by UUID, as ours and NVIDIA's do.
bool IsGpu(std::string_view device_id) {
  return device_id.starts_with("GPU-") || device_id.starts_with("MIG-");
}

void AddUses(const v1::ContainerResources& resources, const Container& user,
             std::vector<DeviceUse>& uses) {
  for (const v1::ContainerDevices& devices : resources.devices()) {
    for (const std::string& id : devices.device_ids()) {
      if (IsGpu(id)) {
        uses.push_back({.resource = devices.resource_name(), .device_id = id, .user = user});
      }
    }
  }
}

// "k8s.gpu.nvidia.com/claim=<uid>-GPU-…" → "GPU-…"; empty where no UUID is named.
std::string UuidIn(std::string_view cdi_id) {
  constexpr size_t kUuidSize = 40;  // with "GPU-" or "MIG-"
  for (const std::string_view kind : {"GPU-", "MIG-"}) {
    if (const size_t at = cdi_id.rfind(kind); at != cdi_id.npos) {
      return std::string(cdi_id.substr(at, kUuidSize));
    }
  }
  return {};
}

// The kubelet lists the CDI ids of a driver's first device with its second one too: only those of a
// single device say which it is.
std::string OnlyUuid(const v1::DynamicResource& claim) {
  if (claim.claim_resources_size() != 1) {
    return {};
  }
  for (const v1::CDIDevice& device : claim.claim_resources(0).cdi_devices()) {
    if (std::string uuid = UuidIn(device.name()); !uuid.empty()) {
      return uuid;
    }
  }
  return {};
}

// A claim on a device that is prepared twice over is listed twice.
void AddClaims(const v1::ContainerResources& resources, const Container& user,
               std::vector<DeviceUse>& uses) {
  for (const v1::DynamicResource& claim : resources.dynamic_resources()) {
    for (const v1::ClaimResource& device : claim.claim_resources()) {
      if (device.driver_name().empty()) {
        continue;
      }
      uses.push_back({.resource = device.driver_name(),
                      .device_id = "",
                      .user = user,
                      .claim = {.claim_namespace = claim.claim_namespace(),
                                .claim = claim.claim_name(),
                                .driver = device.driver_name(),
                                .pool = device.pool_name(),
                                .device = device.device_name(),
                                .cdi_uuid = OnlyUuid(claim)}});
    }
  }
}

std::vector<DeviceUse> Uses(const v1::ListPodResourcesResponse& response) {
  std::vector<DeviceUse> uses;
  for (const v1::PodResources& pod : response.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      const Container user{.pod_namespace = pod.namespace_(),
                           .pod = pod.name(),
                           .container = container.name(),
                           .pod_uid = ""};
      AddUses(container, user, uses);
      AddClaims(container, user, uses);
    }
  }
  std::ranges::sort(uses);
  const auto again = std::ranges::unique(uses);
  uses.erase(again.begin(), again.end());
  return uses;
}

Status Explain(const Status& status) {
  return Annotate(status, "list the pods' devices from the kubelet");
}

class Asked final : public ListCall {
 public:
  explicit Asked(std::unique_ptr<rpc::PendingCall> call) : call_(std::move(call)) {}

 private:
  std::unique_ptr<rpc::PendingCall> call_;
};

}  // namespace

std::unique_ptr<ListCall> AskKubelet(EventLoop& loop, const std::string& socket,
                                     std::chrono::milliseconds deadline, Done done) {
  StatusOr<UniqueFd> fd = sys::ConnectUnix(socket);
  if (!fd.ok()) {
    return std::make_unique<Asked>(
        std::make_unique<rpc::RefusedCall>(loop, Explain(fd.status()), std::move(done)));
  }
  return std::make_unique<Asked>(
      rpc::StartCall<v1::ListPodResourcesRequest, v1::ListPodResourcesResponse>(
          loop, *std::move(fd), "/v1.PodResourcesLister/List", v1::ListPodResourcesRequest(),
          deadline,
          [done = std::move(done)](const StatusOr<v1::ListPodResourcesResponse>& response) {
            if (response.ok()) {
              done(Uses(*response));
            } else {
              done(Explain(response.status()));
            }
          }));
}

StatusOr<std::vector<DeviceUse>> UsesOf(std::string_view response) {
  v1::ListPodResourcesResponse message;
  if (!message.ParseFromArray(response.data(), static_cast<int>(response.size()))) {
    return InvalidArgument("invalid pod list: {} bytes", response.size());
  }
  return Uses(message);
}

}  // namespace kgpu::pods
