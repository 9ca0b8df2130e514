#include "testing/kubelet/sample_plugin.h"

#include <deviceplugin_v1beta1.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <pluginregistration_v1.grpc.pb.h>

#include <chrono>
#include <mutex>
#include <utility>

#include "src/platform/net/rpc/channel.h"
#include "src/platform/net/rpc/status_map.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/kubelet/proto_codec.h"
#include "testing/kubelet/sample_server.h"

namespace kgpu::kubelet {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

}  // namespace

struct SamplePlugin::State final : public v1beta1::DevicePlugin::CallbackService,
                                   public pluginregistration::Registration::CallbackService {
  using DeviceReactor = grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>;

  State(const Options& in_options, Behaviour in_behaviour)
      : options(in_options), behaviour(std::move(in_behaviour)), devices(in_options.devices) {}

  ServerUnaryReactor* GetDevicePluginOptions(CallbackServerContext* context, const v1beta1::Empty*,
                                             v1beta1::DevicePluginOptions* reply) override {
    reply->set_pre_start_required(options.options.pre_start_required);
    reply->set_get_preferred_allocation_available(options.options.has_preferred_allocation);
    return Answer(context, behaviour.get_options ? behaviour.get_options() : OkStatus());
  }

  DeviceReactor* ListAndWatch(CallbackServerContext*, const v1beta1::Empty*) override {
    const Status status = behaviour.list_and_watch ? behaviour.list_and_watch() : OkStatus();
    const std::lock_guard lock(mutex);
    return streams.Open(ToProto(devices), status);
  }

  ServerUnaryReactor* GetPreferredAllocation(CallbackServerContext* context,
                                             const v1beta1::PreferredAllocationRequest* request,
                                             v1beta1::PreferredAllocationResponse* reply) override {
    const auto& asked = request->container_requests(0);
    PreferredRequest wanted{
        .available = {asked.available_deviceids().begin(), asked.available_deviceids().end()},
        .must_include = {asked.must_include_deviceids().begin(),
                         asked.must_include_deviceids().end()},
        .size = asked.allocation_size()};
    const StatusOr<Ids> ids = behaviour.prefer ? behaviour.prefer(wanted) : Ids();
    if (ids.ok()) {
      reply->add_container_responses()->mutable_deviceids()->Assign(ids->begin(), ids->end());
    }
    return Answer(context, ids.status());
  }

  ServerUnaryReactor* Allocate(CallbackServerContext* context,
                               const v1beta1::AllocateRequest* request,
                               v1beta1::AllocateResponse* reply) override {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    auto answer = [this, request, reply, reactor] {
      const auto& asked = request->container_requests(0).devices_ids();
      const Ids ids(asked.begin(), asked.end());
      const StatusOr<ContainerOptions> given =
          behaviour.allocate ? behaviour.allocate(ids) : ContainerOptions();
      if (given.ok()) {
        *reply->add_container_responses() = ToProto(*given);
      }
      reactor->Finish(rpc::ToGrpc(given.status()));
    };
    const std::lock_guard lock(mutex);
    if (behaviour.holds_allocate) {
      held.emplace_back(answer);
    } else {
      answer();
    }
    return reactor;
  }

  ServerUnaryReactor* PreStartContainer(CallbackServerContext* context,
                                        const v1beta1::PreStartContainerRequest* request,
                                        v1beta1::PreStartContainerResponse*) override {
    const Ids ids(request->devices_ids().begin(), request->devices_ids().end());
    return Answer(context, behaviour.pre_start ? behaviour.pre_start(ids) : OkStatus());
  }

  ServerUnaryReactor* GetInfo(CallbackServerContext* context,
                              const pluginregistration::InfoRequest*,
                              pluginregistration::PluginInfo* info) override {
    info->set_type(options.type);
    info->set_name(options.resource);
    info->set_endpoint(options.endpoint);
    info->mutable_supported_versions()->Assign(options.versions.begin(), options.versions.end());
    return Answer(context, behaviour.get_info ? behaviour.get_info() : OkStatus());
  }

  ServerUnaryReactor* NotifyRegistrationStatus(
      CallbackServerContext* context, const pluginregistration::RegistrationStatus* status,
      pluginregistration::RegistrationStatusResponse*) override {
    const bool is_asked = status->plugin_registered() && behaviour.notify != nullptr;
    return Answer(context, is_asked ? behaviour.notify() : OkStatus());
  }

  void ReleaseAll() {
    const std::lock_guard lock(mutex);
    behaviour.holds_allocate = false;
    for (const auto& answer : std::exchange(held, {})) {
      answer();
    }
  }

  const Options options;
  Behaviour behaviour;
  mutable std::mutex mutex;
  std::vector<Device> devices;
  LatestStreams<v1beta1::ListAndWatchResponse> streams;
  std::vector<std::function<void()>> held;

  std::unique_ptr<SampleServer> server;
};

SamplePlugin::SamplePlugin(const Options& options) : SamplePlugin(options, Behaviour()) {
}

SamplePlugin::SamplePlugin(const Options& options, Behaviour behaviour)
    : state_(std::make_unique<State>(options, std::move(behaviour))) {
  std::vector<grpc::Service*> services = {
      static_cast<v1beta1::DevicePlugin::CallbackService*>(state_.get())};
  if (options.is_registrar) {
    services.push_back(
        static_cast<pluginregistration::Registration::CallbackService*>(state_.get()));
  }
  state_->server = std::make_unique<SampleServer>(services, options.socket_path);
}

SamplePlugin::~SamplePlugin() {
  state_->server->StopListening();
  // gRPC waits for every call.
  Release();
  EndStreams(MakeStatus(StatusCode::kUnavailable, "the plugin stops"));
  state_->server.reset();
}

std::vector<Device> SamplePlugin::Devices(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) {
    devices.push_back({.id = fmt::format("dev-{}", i), .health = kHealthy, .numa_nodes = {}});
  }
  return devices;
}

Status SamplePlugin::Register(const std::string& kubelet_socket) const {
  const std::string& path = state_->options.socket_path;
  return RegisterAs(kubelet_socket, kApiVersion, state_->options.resource,
                    path.substr(path.rfind('/') + 1));
}

Status SamplePlugin::RegisterAs(const std::string& kubelet_socket, const std::string& version,
                                const std::string& resource, const std::string& endpoint) const {
  StatusOr<UniqueFd> fd = sys::ConnectUnix(kubelet_socket);
  if (!fd.ok()) {
    return fd.status();
  }
  const auto stub = v1beta1::Registration::NewStub(rpc::ChannelOver(*std::move(fd)));
  v1beta1::RegisterRequest request;
  request.set_version(version);
  request.set_endpoint(endpoint);
  request.set_resource_name(resource);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(15));
  v1beta1::Empty reply;
  return rpc::FromGrpc(stub->Register(&context, request, &reply));
}

void SamplePlugin::SetDevices(const std::vector<Device>& devices) {
  const std::lock_guard lock(state_->mutex);
  state_->devices = devices;
  state_->streams.Send(ToProto(devices));
}

void SamplePlugin::SetHealth(const std::string& id, const std::string& health) {
  std::vector<Device> devices;
  {
    const std::lock_guard lock(state_->mutex);
    devices = state_->devices;
  }
  for (Device& device : devices) {
    if (device.id == id) {
      device.health = health;
    }
  }
  SetDevices(devices);
}

void SamplePlugin::EndStreams(const Status& status) {
  state_->streams.End(status);
}

void SamplePlugin::Release() {
  state_->ReleaseAll();
}

size_t SamplePlugin::streams() const {
  return state_->streams.size();
}

}  // namespace kgpu::kubelet
