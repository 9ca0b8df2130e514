#include "tests/engines/cri_client.h"

#include <cri_pod_v1.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <chrono>
#include <future>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/net/rpc/channel.h"
#include "src/platform/net/rpc/status_map.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::engines {
namespace {

namespace v1 = ::kgpu::cri_pod;

constexpr std::chrono::seconds kDeadline{60};

void SetSecurity(const Security& from, v1::LinuxContainerSecurityContext& to) {
  to.set_privileged(from.is_privileged);
  to.set_readonly_rootfs(from.is_root_read_only);
  to.set_no_new_privs(from.has_no_new_privileges);
  if (from.user) {
    to.mutable_run_as_user()->set_value(*from.user);
  }
  for (const std::string& name : from.added_capabilities) {
    to.mutable_capabilities()->add_add_capabilities(name);
  }
  for (const std::string& name : from.dropped_capabilities) {
    to.mutable_capabilities()->add_drop_capabilities(name);
  }
}

void SetNamespaces(const Security& security, v1::NamespaceOption& namespaces) {
  // With the network of the node: plugins for another are not needed.
  namespaces.set_network(v1::NODE);
  namespaces.set_pid(security.has_host_pids ? v1::NODE : v1::POD);
}

// Without what is run in it.
v1::ContainerConfig ConfigOf(const CriClient::Container& container) {
  v1::ContainerConfig config;
  config.mutable_metadata()->set_name("main");
  config.mutable_image()->set_image(container.image);
  for (const auto* variables : {&container.options.envs, &container.env}) {
    for (const auto& [name, value] : *variables) {
      v1::KeyValue* variable = config.add_envs();
      variable->set_key(name);
      variable->set_value(value);
    }
  }
  for (const kubelet::BindMount& mount : container.options.mounts) {
    v1::Mount* added = config.add_mounts();
    added->set_container_path(mount.container_path);
    added->set_host_path(mount.host_path);
    added->set_readonly(mount.read_only);
  }
  for (const kubelet::DeviceSpec& device : container.options.devices) {
    v1::Device* added = config.add_devices();
    added->set_container_path(device.container_path);
    added->set_host_path(device.host_path);
    added->set_permissions(device.permissions);
  }
  for (const auto& [key, value] : container.options.annotations) {
    (*config.mutable_annotations())[key] = value;
  }
  for (const std::string& name : container.options.cdi_devices) {
    config.add_cdi_devices()->set_name(name);
  }
  auto* security = config.mutable_linux()->mutable_security_context();
  SetSecurity(container.security, *security);
  SetNamespaces(container.security, *security->mutable_namespace_options());
  return config;
}

class Client final : public CriClient {
 public:
  Client(UniqueFd socket, std::string cgroup_parent)
      : channel_(rpc::ChannelOver(std::move(socket))), cgroup_parent_(std::move(cgroup_parent)) {}

  StatusOr<e2e::Result> Run(const Container& container,
                            const std::vector<std::string>& command) override {
    const v1::PodSandboxConfig pod = NextPod(container.security);
    ASSIGN_OR_RETURN(const std::string id, StartPod(pod, container.runtime_handler));
    StatusOr<e2e::Result> result = RunIn(id, pod, container, command);
    const Status removed = Remove(id);
    return result.ok() && !removed.ok() ? removed : std::move(result);
  }

  StatusOr<std::string> Start(const Container& container, const std::vector<std::string>& arguments,
                              const std::string& log_folder) override {
    v1::PodSandboxConfig pod = NextPod(container.security);
    pod.set_log_directory(log_folder);
    ASSIGN_OR_RETURN(const std::string id, StartPod(pod, container.runtime_handler));
    v1::ContainerConfig config = ConfigOf(container);
    config.set_log_path("agent.log");
    for (const std::string& argument : arguments) {
      config.add_args(argument);
    }
    RETURN_IF_ERROR(StartContainer(id, pod, config).status());
    return id;
  }

  Status Remove(const std::string& pod_id) override {
    v1::RemovePodSandboxRequest request;
    request.set_pod_sandbox_id(pod_id);
    v1::RemovePodSandboxResponse response;
    // A container that ends at this moment makes it fail. The kubelet tries again, too.
    Status removed = Call("RemovePodSandbox", request, response);
    for (int i = 0; i < 5 && !removed.ok(); ++i) {
      removed = Call("RemovePodSandbox", request, response);
    }
    return removed;
  }

 private:
  template <typename Request, typename Response>
  Status Call(const std::string& name, const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    std::promise<grpc::Status> done;
    grpc::TemplatedGenericStub<Request, Response>(channel_).UnaryCall(
        &context, "/runtime.v1.RuntimeService/" + name, grpc::StubOptions(), &request, &response,
        [&done](grpc::Status status) { done.set_value(std::move(status)); });
    return Annotate(rpc::FromGrpc(done.get_future().get()), "{}", name);
  }

  v1::PodSandboxConfig NextPod(const Security& security) {
    v1::PodSandboxConfig pod;
    const std::string name = fmt::format("pod-{}", ++pods_);
    pod.mutable_metadata()->set_name(name);
    pod.mutable_metadata()->set_uid(name + "-uid");
    pod.mutable_metadata()->set_namespace_("default");
    pod.mutable_linux()->set_cgroup_parent(cgroup_parent_);
    auto* context = pod.mutable_linux()->mutable_security_context();
    context->set_privileged(security.is_privileged);
    SetNamespaces(security, *context->mutable_namespace_options());
    return pod;
  }

  StatusOr<std::string> StartPod(const v1::PodSandboxConfig& pod, const std::string& handler) {
    v1::RunPodSandboxRequest request;
    *request.mutable_config() = pod;
    request.set_runtime_handler(handler);
    v1::RunPodSandboxResponse response;
    RETURN_IF_ERROR(Call("RunPodSandbox", request, response));
    return response.pod_sandbox_id();
  }

  // Its id.
  StatusOr<std::string> StartContainer(const std::string& pod_id, const v1::PodSandboxConfig& pod,
                                       const v1::ContainerConfig& config) {
    v1::CreateContainerRequest create;
    create.set_pod_sandbox_id(pod_id);
    *create.mutable_config() = config;
    *create.mutable_sandbox_config() = pod;
    v1::CreateContainerResponse created;
    RETURN_IF_ERROR(Call("CreateContainer", create, created));
    v1::StartContainerRequest start;
    start.set_container_id(created.container_id());
    v1::StartContainerResponse started;
    RETURN_IF_ERROR(Call("StartContainer", start, started));
    return created.container_id();
  }

  StatusOr<e2e::Result> RunIn(const std::string& pod_id, const v1::PodSandboxConfig& pod,
                              const Container& container, const std::vector<std::string>& command) {
    v1::ContainerConfig config = ConfigOf(container);
    config.add_command("/bin/sleep");
    config.add_args("1000");
    ASSIGN_OR_RETURN(const std::string id, StartContainer(pod_id, pod, config));
    v1::ExecSyncRequest exec;
    exec.set_container_id(id);
    for (const std::string& word : command) {
      exec.add_cmd(word);
    }
    exec.set_timeout(kDeadline.count());
    v1::ExecSyncResponse done;
    RETURN_IF_ERROR(Call("ExecSync", exec, done));
    return e2e::Result{.code = done.exit_code(), .out = done.stdout(), .err = done.stderr()};
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::string cgroup_parent_;
  int pods_ = 0;
};

}  // namespace

StatusOr<std::unique_ptr<CriClient>> CriClient::Connect(const std::string& socket,
                                                        const std::string& cgroup_parent) {
  ASSIGN_OR_RETURN(UniqueFd connected, sys::ConnectUnix(socket));
  return std::make_unique<Client>(std::move(connected), cgroup_parent);
}

}  // namespace kgpu::engines
