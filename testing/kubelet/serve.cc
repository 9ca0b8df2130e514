#include "testing/kubelet/serve.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"
#include "testing/kubelet/control_socket.h"
#include "testing/kubelet/cri_server.h"
#include "testing/kubelet/node.h"
#include "testing/kubelet/null_runtime.h"
#include "testing/kubelet/pod_cgroup.h"
#include "testing/kubelet/pod_logs.h"
#include "testing/kubelet/runc_runtime.h"
#include "testing/kubelet/service.h"
#include "testing/kubelet/state_file.h"
#include "testing/kubelet/state_store.h"
#include "testing/simhost/daemon.h"
#include "testing/simhost/host_lock.h"
#include "testing/simhost/settings.h"

namespace kgpu::kubelet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStateFile = ".kgpu-sim/kubelet.json";

// The containers' runtime; the null one is also known as such.
struct Runtime {
  std::unique_ptr<ContainerRuntime> any;
  NullRuntime* null = nullptr;
};

StatusOr<Runtime> OpenRuntime(EventLoop& loop, const ServeOptions& options) {
  Runtime runtime;
  if (options.runtime == "runc") {
    ASSIGN_OR_RETURN(runtime.any,
                     RuncRuntime::Open(
                         loop, {.folder = fmt::format("{}/{}", options.folder, simhost::kOwnFolder),
                                .rootfs = options.rootfs,
                                .cdi_folders = options.cdi_folders}));
    return runtime;
  }
  auto null_runtime = std::make_unique<NullRuntime>(loop);
  runtime.null = null_runtime.get();
  runtime.any = std::move(null_runtime);
  return runtime;
}

// Containers on paper go on over a restart of this process.
void Adopt(World& world, NullRuntime& runtime) {
  for (const Pod* pod : world.pods.All()) {
    for (const ContainerStatus& container : pod->status.containers) {
      if (container.state == ContainerState::kRunning) {
        runtime.Adopt(container.id);
      }
    }
  }
}

// The containers as the runtime itself would report them.
std::vector<CriContainer> Containers(World& world) {
  std::vector<CriContainer> containers;
  for (const Pod* pod : world.pods.All()) {
    for (const ContainerStatus& status : pod->status.containers) {
      if (!status.id.empty()) {
        containers.push_back({.id = RuntimeId(status.id),
                              .name_space = pod->spec.name_space,
                              .pod = pod->spec.name,
                              .pod_uid = pod->spec.uid,
                              .container = status.name,
                              .is_running = status.state == ContainerState::kRunning});
      }
    }
  }
  return containers;
}

void ShowLogs(const ServeOptions& options, World& world) {
  if (options.host.empty()) {
    return;
  }
  if (const Status shown = ShowPodLogs(options.host + "/var/log/pods", world.pods.All());
      !shown.ok()) {
    KGPU_LOG(kWarning, "log folders not created", {"reason", Message(shown)});
  }
}

}  // namespace

Status ClaimKubeletFolder(const std::string& folder) {
  std::error_code error;
  const std::string state = fmt::format("{}/{}", folder, kStateFile);
  if (fs::exists(state, error)) {
    return OkStatus();
  }
  if (fs::exists(folder, error) && !fs::is_empty(folder, error)) {
    return FailedPrecondition("{}: contains other files: name an empty or new folder", folder);
  }
  fs::create_directories(fs::path(state).parent_path(), error);
  return error ? ErrnoStatus(error.value(), fmt::format("create folder {}", folder))
               : sys::WriteFileAtomically(state, PrintNodeState({}), 0600);
}

Status ServeKubelet(const ServeOptions& options) {
  ASSIGN_OR_RETURN(const UniqueFd signals, simhost::BlockSignals());
  RETURN_IF_ERROR(ClaimKubeletFolder(options.folder));
  ASSIGN_OR_RETURN(const UniqueFd lock, simhost::LockHost(options.folder));
  RETURN_IF_ERROR(simhost::WritePid(lock));
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(const Runtime runtime, OpenRuntime(*loop, options));
  Node node(*loop, *runtime.any, options.folder);
  node.world().constants = Scaled(options.scale);
  node.world().topology = options.topology;
  StateStore store(node, fmt::format("{}/{}", options.folder, kStateFile));
  RETURN_IF_ERROR(store.Load());
  if (runtime.null != nullptr) {
    Adopt(node.world(), *runtime.null);
  }
  Service service(node, runtime.null);
  node.OnChange([&] {
    store.Changed();
    service.Changed();
    ShowLogs(options, node.world());
  });
  RETURN_IF_ERROR(node.StartKubelet());
  ASSIGN_OR_RETURN(const std::unique_ptr<CriServer> runtime_socket,
                   CriServer::Start(*loop, node.world().layout.cri_socket(),
                                    [&node] { return Containers(node.world()); }));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ControlServer> control,
      ControlServer::Start(*loop, fmt::format("{}/{}", options.folder, kControlSocket),
                           [&service](const std::string& line, const ControlServer::Reply& reply) {
                             service.Handle(line, reply);
                           }));
  ASSIGN_OR_RETURN(const WatchId watch,
                   loop->WatchReadable(signals.get(), [&loop] { loop->Quit(); }));
  simhost::ReportReady(options.ready_fd);
  loop->Run();
  loop->Unwatch(watch);
  node.OnChange(nullptr);
  KGPU_LOG(kInfo, "stopped", {"root", options.folder});
  return store.Save();
}

}  // namespace kgpu::kubelet
