#include "testing/kubelet/sample_plugin.h"

#include <deviceplugin_v1beta1.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <pluginregistration_v1.grpc.pb.h>

#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "src/platform/base/event_loop.h"
#include "src/platform/net/rpc/channel.h"
#include "src/platform/net/rpc/server.h"
#include "src/platform/net/rpc/status_map.h"
#include "src/platform/sys/acceptor.h"
#include "testing/kubelet/proto_codec.h"

namespace kgpu::kubelet {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

ServerUnaryReactor* Answer(CallbackServerContext* context, const Status& status) {
  ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(rpc::ToGrpc(status));
  return reactor;
}

// One open stream: sends the newest list, whatever happened between.
class Stream final : public grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse> {
 public:
  explicit Stream(std::function<void(Stream*)> on_done) : on_done_(std::move(on_done)) {}

  void Send(const std::vector<Device>& devices) {
    const std::lock_guard lock(mutex_);
    next_ = ToProto(devices);
    has_next_ = true;
    Write();
  }
  void End(const Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(is_finished_, true)) {
        return;
      }
    }
    Finish(rpc::ToGrpc(status));
  }

  void OnWriteDone(bool is_ok) override {
    if (!is_ok) {
      End(MakeStatus(StatusCode::kCancelled, "the kubelet is gone"));
      return;
    }
    const std::lock_guard lock(mutex_);
    is_writing_ = false;
    Write();
  }
  void OnCancel() override { End(MakeStatus(StatusCode::kCancelled, "the kubelet gave up")); }
  void OnDone() override { on_done_(this); }

 private:
  void Write() {
    if (is_finished_ || is_writing_ || !std::exchange(has_next_, false)) {
      return;
    }
    is_writing_ = true;
    message_ = std::exchange(next_, {});
    StartWrite(&message_);
  }

  std::function<void(Stream*)> on_done_;
  std::mutex mutex_;
  v1beta1::ListAndWatchResponse message_;
  v1beta1::ListAndWatchResponse next_;
  bool has_next_ = false;
  bool is_writing_ = false;
  bool is_finished_ = false;
};

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
    auto* stream = new Stream([this](Stream* done) {  // owned by gRPC until on_done
      {
        const std::lock_guard lock(mutex);
        streams.erase(done);
      }
      delete done;
    });
    const Status status = behaviour.list_and_watch ? behaviour.list_and_watch() : OkStatus();
    const std::lock_guard lock(mutex);
    streams.insert(stream);
    if (status.ok()) {
      stream->Send(devices);
    } else {
      stream->End(status);
    }
    return stream;
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
  std::set<Stream*> streams;
  std::vector<std::function<void()>> held;

  std::unique_ptr<EpollLoop> loop = EpollLoop::Create().value();
  std::unique_ptr<rpc::Server> server;
  std::unique_ptr<sys::Acceptor> acceptor;
  std::jthread thread;
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
  state_->server = rpc::Server::Start(services).value();
  state_->acceptor =
      sys::Acceptor::Create(
          *state_->loop, sys::UnixListener::Listen(options.socket_path, {}).value(),
          [server = state_->server.get()](UniqueFd fd) { server->Serve(std::move(fd)); })
          .value();
  state_->thread = std::jthread([loop = state_->loop.get()] { loop->Run(); });
}

SamplePlugin::~SamplePlugin() {
  state_->loop->Quit();
  state_->thread.join();
  state_->acceptor.reset();
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
  for (Stream* stream : state_->streams) {
    stream->Send(devices);
  }
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
  const std::lock_guard lock(state_->mutex);
  for (Stream* stream : state_->streams) {
    stream->End(status);
  }
}

void SamplePlugin::Release() {
  state_->ReleaseAll();
}

size_t SamplePlugin::streams() const {
  const std::lock_guard lock(state_->mutex);
  return state_->streams.size();
}

}  // namespace kgpu::kubelet
