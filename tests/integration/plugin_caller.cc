#include "tests/integration/plugin_caller.h"

#include <deviceplugin_v1beta1.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <pluginregistration_v1.grpc.pb.h>

#include <chrono>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/net/rpc/channel.h"
#include "src/platform/net/rpc/status_map.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/kubelet/proto_codec.h"

namespace kgpu::integration {
namespace {

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
}

}  // namespace

struct PluginCaller::Stubs {
  explicit Stubs(const std::shared_ptr<grpc::Channel>& channel)
      : plugin(v1beta1::DevicePlugin::NewStub(channel)),
        registration(pluginregistration::Registration::NewStub(channel)) {}

  std::unique_ptr<v1beta1::DevicePlugin::Stub> plugin;
  std::unique_ptr<pluginregistration::Registration::Stub> registration;
};

PluginCaller::PluginCaller(std::unique_ptr<Stubs> stubs) : stubs_(std::move(stubs)) {
}

PluginCaller::~PluginCaller() = default;

StatusOr<std::unique_ptr<PluginCaller>> PluginCaller::Connect(const std::string& socket_path) {
  ASSIGN_OR_RETURN(UniqueFd fd, sys::ConnectUnix(socket_path));
  return std::unique_ptr<PluginCaller>(
      new PluginCaller(std::make_unique<Stubs>(rpc::ChannelOver(std::move(fd)))));
}

StatusOr<kubelet::PluginOptions> PluginCaller::GetOptions() {
  grpc::ClientContext context;
  SetDeadline(context);
  v1beta1::DevicePluginOptions reply;
  RETURN_IF_ERROR(
      rpc::FromGrpc(stubs_->plugin->GetDevicePluginOptions(&context, v1beta1::Empty(), &reply)));
  return kubelet::PluginOptions{
      .pre_start_required = reply.pre_start_required(),
      .has_preferred_allocation = reply.get_preferred_allocation_available()};
}

StatusOr<std::vector<kubelet::Device>> PluginCaller::FirstList() {
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = stubs_->plugin->ListAndWatch(&context, v1beta1::Empty());
  v1beta1::ListAndWatchResponse list;
  const bool is_there = stream->Read(&list);
  context.TryCancel();
  const grpc::Status status = stream->Finish();
  if (!is_there) {
    return rpc::FromGrpc(status);
  }
  return kubelet::FromProto(list);
}

StatusOr<kubelet::ContainerOptions> PluginCaller::Allocate(const std::vector<std::string>& ids) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1beta1::AllocateRequest request;
  auto* container = request.add_container_requests();
  for (const std::string& id : ids) {
    container->add_devices_ids(id);
  }
  v1beta1::AllocateResponse reply;
  RETURN_IF_ERROR(rpc::FromGrpc(stubs_->plugin->Allocate(&context, request, &reply)));
  if (reply.container_responses_size() != 1) {
    return Internal("{} answers to one container", reply.container_responses_size());
  }
  return kubelet::FromProto(reply.container_responses(0));
}

StatusOr<std::vector<std::string>> PluginCaller::Prefer(const kubelet::PreferredRequest& request) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1beta1::PreferredAllocationRequest message;
  auto* container = message.add_container_requests();
  for (const std::string& id : request.available) {
    container->add_available_deviceids(id);
  }
  for (const std::string& id : request.must_include) {
    container->add_must_include_deviceids(id);
  }
  container->set_allocation_size(request.size);
  v1beta1::PreferredAllocationResponse reply;
  RETURN_IF_ERROR(rpc::FromGrpc(stubs_->plugin->GetPreferredAllocation(&context, message, &reply)));
  if (reply.container_responses_size() != 1) {
    return Internal("{} answers to one container", reply.container_responses_size());
  }
  const auto& ids = reply.container_responses(0).deviceids();
  return std::vector<std::string>(ids.begin(), ids.end());
}

Status PluginCaller::PreStart(const std::vector<std::string>& ids) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1beta1::PreStartContainerRequest request;
  for (const std::string& id : ids) {
    request.add_devices_ids(id);
  }
  v1beta1::PreStartContainerResponse reply;
  return rpc::FromGrpc(stubs_->plugin->PreStartContainer(&context, request, &reply));
}

StatusOr<PluginInfo> PluginCaller::GetInfo() {
  grpc::ClientContext context;
  SetDeadline(context);
  pluginregistration::PluginInfo reply;
  RETURN_IF_ERROR(rpc::FromGrpc(
      stubs_->registration->GetInfo(&context, pluginregistration::InfoRequest(), &reply)));
  return PluginInfo{
      .type = reply.type(),
      .name = reply.name(),
      .endpoint = reply.endpoint(),
      .versions = {reply.supported_versions().begin(), reply.supported_versions().end()}};
}

Status PluginCaller::NotifyRegistrationStatus(bool is_registered, const std::string& error) {
  grpc::ClientContext context;
  SetDeadline(context);
  pluginregistration::RegistrationStatus request;
  request.set_plugin_registered(is_registered);
  request.set_error(error);
  pluginregistration::RegistrationStatusResponse reply;
  return rpc::FromGrpc(stubs_->registration->NotifyRegistrationStatus(&context, request, &reply));
}

}  // namespace kgpu::integration
