#include "testing/kubelet/pod_resources_server.h"

#include <podresources_v1.grpc.pb.h>
#include <podresources_v1alpha1.grpc.pb.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/net/rpc/server.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/rate_limiter.h"
#include "testing/kubelet/served_call.h"
#include "testing/kubelet/server_socket.h"

namespace kgpu::kubelet {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

void Put(const ListedDevice& device, v1::ContainerDevices& to) {
  to.set_resource_name(device.resource);
  to.add_device_ids(device.id);
  if (device.node) {
    to.mutable_topology()->add_nodes()->set_id(*device.node);
  }
}

// The CDI ids of a claim's device stand with those of the devices of its driver before it, as in
// the kubelet.
void Put(const std::vector<ClaimedDevice>& claims, const std::string& name_space,
         v1::ContainerResources& to) {
  v1::DynamicResource* last = nullptr;
  std::string driver;
  std::vector<std::string> cdi_ids;
  for (const ClaimedDevice& device : claims) {
    if (last == nullptr || last->claim_name() != device.claim) {
      last = to.add_dynamic_resources();
      last->set_claim_name(device.claim);
      last->set_claim_namespace(name_space);
      cdi_ids.clear();
    }
    if (device.driver.empty()) {
      continue;
    }
    if (std::exchange(driver, device.driver) != device.driver) {
      cdi_ids.clear();
    }
    v1::ClaimResource& listed = *last->add_claim_resources();
    listed.set_driver_name(device.driver);
    listed.set_pool_name(device.pool);
    listed.set_device_name(device.device);
    if (device.share_id) {
      listed.set_share_id(*device.share_id);
    }
    cdi_ids.insert(cdi_ids.end(), device.cdi_ids.begin(), device.cdi_ids.end());
    for (const std::string& id : cdi_ids) {
      listed.add_cdi_devices()->set_name(id);
    }
  }
}

void Put(const ListedPod& pod, v1::PodResources& to) {
  to.set_name(pod.name);
  to.set_namespace_(pod.name_space);
  for (const ListedContainer& container : pod.containers) {
    v1::ContainerResources& listed = *to.add_containers();
    listed.set_name(container.name);
    listed.mutable_cpu_ids()->Assign(container.cpus.begin(), container.cpus.end());
    for (const ListedDevice& device : container.devices) {
      Put(device, *listed.add_devices());
    }
    Put(container.claims, pod.name_space, listed);
  }
}

// The old form: one entry for each resource, without nodes.
void Put(const ListedPod& pod, v1alpha1::PodResources& to) {
  to.set_name(pod.name);
  to.set_namespace_(pod.name_space);
  for (const ListedContainer& container : pod.containers) {
    v1alpha1::ContainerResources& listed = *to.add_containers();
    listed.set_name(container.name);
    std::map<std::string, DeviceIds> by_resource;
    for (const ListedDevice& device : container.devices) {
      by_resource[device.resource].insert(device.id);
    }
    for (const auto& [resource, ids] : by_resource) {
      v1alpha1::ContainerDevices& devices = *listed.add_devices();
      devices.set_resource_name(resource);
      devices.mutable_device_ids()->Assign(ids.begin(), ids.end());
    }
  }
}

// The checks of every request before it is answered, on the loop.
class Front {
 public:
  // Writes the response and says how the call ended.
  using Fill = std::function<grpc::Status()>;

  Front(const PodResourcesServer::Setting& setting, PodResourcesServer::Source in_source)
      : source(std::move(in_source)),
        setting_(setting),
        limiter_(setting.loop.clock(), setting.constants.requests_per_second,
                 setting.constants.request_burst) {}

  // Thread: any.
  ServerUnaryReactor* Take(const char* method, const std::string& arguments, Fill fill) {
    const std::shared_ptr<ServedCall> call = calls_.Accept();
    setting_.loop.Post(lifeline_.Guard([this, call, method, arguments, fill = std::move(fill)] {
      Begin(call, method, arguments, fill);
    }));
    return call.get();
  }
  void Close() { calls_.Close(); }

  PodResourcesServer::Source source;

 private:
  void Begin(const std::shared_ptr<ServedCall>& call, const char* method,
             const std::string& arguments, const Fill& fill) {
    const uint64_t number = setting_.log->Begin(method, "podresources", arguments);
    if (!limiter_.Take()) {
      End(call, number,
          grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"));
      return;
    }
    const std::optional<Fault> fault = setting_.faults.Take(kPodResourcesPoint);
    if (!fault) {
      Answer(call, number, fill);
    } else if (fault->kind == FaultKind::kError) {
      End(call, number, grpc::Status(grpc::StatusCode::UNKNOWN, fault->text));
    } else if (fault->kind == FaultKind::kSkip) {
      End(call, number, grpc::Status::OK);
    } else if (fault->kind == FaultKind::kDelay) {
      setting_.loop.After(fault->delay, lifeline_.Guard([this, call, number, fill] {
        Answer(call, number, fill);
      }));
    }
  }
  void Answer(const std::shared_ptr<ServedCall>& call, uint64_t number, const Fill& fill) {
    grpc::Status status;
    // Under the call's lock: the response is gone once the call is over.
    call->Fill([&] { status = fill(); });
    End(call, number, status);
  }
  void End(const std::shared_ptr<ServedCall>& call, uint64_t number, const grpc::Status& status) {
    setting_.log->End(number, status.ok() ? "answered" : status.error_message());
    call->Reply(status);
  }

  PodResourcesServer::Setting setting_;
  RateLimiter limiter_;
  ServedCalls calls_;
  Lifeline lifeline_;
};

class PodResourcesService final : public v1::PodResourcesLister::CallbackService {
 public:
  explicit PodResourcesService(Front& front) : front_(front) {}

  ServerUnaryReactor* List(CallbackServerContext*, const v1::ListPodResourcesRequest*,
                           v1::ListPodResourcesResponse* reply) override {
    return front_.Take("List", "", [this, reply] {
      Fill(*reply);
      return grpc::Status::OK;
    });
  }

  ServerUnaryReactor* GetAllocatableResources(CallbackServerContext*,
                                              const v1::AllocatableResourcesRequest*,
                                              v1::AllocatableResourcesResponse* reply) override {
    return front_.Take("GetAllocatableResources", "", [this, reply] {
      for (const ListedDevice& device : front_.source.allocatable()) {
        Put(device, *reply->add_devices());
      }
      const std::vector<int64_t> cpus = front_.source.cpus();
      reply->mutable_cpu_ids()->Assign(cpus.begin(), cpus.end());
      return grpc::Status::OK;
    });
  }

  ServerUnaryReactor* Get(CallbackServerContext*, const v1::GetPodResourcesRequest* request,
                          v1::GetPodResourcesResponse* reply) override {
    const std::string name = request->pod_name();
    const std::string name_space = request->pod_namespace();
    return front_.Take("Get", fmt::format("{}/{}", name_space, name), [=, this] {
      v1::ListPodResourcesResponse all;
      Fill(all);
      for (v1::PodResources& pod : *all.mutable_pod_resources()) {
        if (pod.name() == name && pod.namespace_() == name_space) {
          reply->mutable_pod_resources()->Swap(&pod);
          return grpc::Status::OK;
        }
      }
      return grpc::Status(grpc::StatusCode::UNKNOWN,
                          fmt::format("pod {} in namespace {} not found", name, name_space));
    });
  }

 private:
  void Fill(v1::ListPodResourcesResponse& reply) const {
    if (const std::string script = front_.source.script(); !script.empty()) {
      (void)reply.ParseFromString(script);  // checked when it was set
      return;
    }
    for (const ListedPod& pod : front_.source.list()) {
      Put(pod, *reply.add_pod_resources());
    }
  }

  Front& front_;
};

class OldService final : public v1alpha1::PodResourcesLister::CallbackService {
 public:
  explicit OldService(Front& front) : front_(front) {}

  ServerUnaryReactor* List(CallbackServerContext*, const v1alpha1::ListPodResourcesRequest*,
                           v1alpha1::ListPodResourcesResponse* reply) override {
    return front_.Take("v1alpha1.List", "", [this, reply] {
      for (const ListedPod& pod : front_.source.list_all()) {
        Put(pod, *reply->add_pod_resources());
      }
      return grpc::Status::OK;
    });
  }

 private:
  Front& front_;
};

}  // namespace

struct PodResourcesServer::State {
  State(const Setting& setting, Source source)
      : front(setting, std::move(source)), service(front), old_service(front) {}

  Front front;
  PodResourcesService service;
  OldService old_service;
  std::unique_ptr<rpc::Server> server;
  std::unique_ptr<ServerSocket> socket;
};

StatusOr<std::unique_ptr<PodResourcesServer>> PodResourcesServer::Start(const Setting& setting,
                                                                        const std::string& path,
                                                                        Source source) {
  auto state = std::make_unique<State>(setting, std::move(source));
  ASSIGN_OR_RETURN(state->server, rpc::Server::Start({&state->service, &state->old_service}));
  ASSIGN_OR_RETURN(state->socket, ServerSocket::Bind(setting.loop, path,
                                                     [server = state->server.get()](UniqueFd fd) {
                                                       server->Serve(std::move(fd));
                                                     }));
  RETURN_IF_ERROR(state->socket->Listen());
  return std::unique_ptr<PodResourcesServer>(new PodResourcesServer(std::move(state)));
}

PodResourcesServer::PodResourcesServer(std::unique_ptr<State> state) : state_(std::move(state)) {
}

PodResourcesServer::~PodResourcesServer() {
  state_->socket.reset();
  state_->front.Close();
  state_->server.reset();
}

void PodResourcesServer::CutConnections() {
  state_->socket->CutConnections();
}

bool IsListReply(const std::string& bytes) {
  v1::ListPodResourcesResponse reply;
  return reply.ParseFromString(bytes);
}

}  // namespace kgpu::kubelet
