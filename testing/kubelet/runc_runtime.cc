#include "testing/kubelet/runc_runtime.h"

#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "src/container/cdi/folder.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"
#include "testing/kubelet/cdi_resolver.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/oci_config.h"
#include "testing/kubelet/pod_cgroup.h"
#include "testing/kubelet/runc_container.h"
#include "testing/kubelet/text_file.h"

namespace kgpu::kubelet {
namespace {

namespace fs = std::filesystem;

std::string ContainersFolder(const std::string& folder) {
  return folder + "/containers";
}

// Ends by itself when it is asked to, although process 1 ignores signals by default.
std::vector<std::string> ArgsOf(const ContainerConfig& config) {
  if (!config.command.empty()) {
    return config.command;
  }
  if (config.exits_with) {
    return {"/bin/sh", "-c", fmt::format("exit {}", *config.exits_with)};
  }
  return {"/bin/sh", "-c", "trap exit TERM; while :; do sleep 3600 & wait; done"};
}

Status Check(const RuncRuntime::Options& options) {
  if (geteuid() != 0) {
    return FailedPrecondition("real containers need root: run as root, or use --runtime none");
  }
  if (options.rootfs.empty() || access((options.rootfs + "/bin/sh").c_str(), X_OK) != 0) {
    return FailedPrecondition(
        "--rootfs: \"{}\" must be a folder with the containers' root file system (bin/sh is "
        "missing)",
        options.rootfs);
  }
  for (const std::string& path : {options.rootfs, options.folder}) {
    if (path.find_first_of(",:\\") != std::string::npos) {
      return FailedPrecondition("{}: must not contain commas, colons or backslashes", path);
    }
  }
  return OkStatus();
}

}  // namespace

struct RuncRuntime::State {
  State(EventLoop& on_loop, Options with_options)
      : loop(on_loop), options(std::move(with_options)) {}

  std::string FolderOf(const std::string& id) const {
    return fmt::format("{}/{}", ContainersFolder(options.folder), id);
  }
  std::unique_ptr<RuncContainer> NewContainer(const std::string& id);
  Status MakeBundle(const ContainerConfig& config) const;
  void OnExit(const std::string& id, int exit_code);
  void Forget(const std::string& id);
  void TakeUpAll();

  EventLoop& loop;
  Options options;
  RuncPrograms programs;
  ExitHandler on_exit;
  std::map<std::string, std::unique_ptr<RuncContainer>> containers;
  std::set<std::string> removed;  // those of them that still end
  Lifeline lifeline;
};

std::unique_ptr<RuncContainer> RuncRuntime::State::NewContainer(const std::string& id) {
  return std::make_unique<RuncContainer>(RuncContainer::Setting{
      .loop = loop,
      .programs = programs,
      .runc_root = options.folder + "/runc",
      .rootfs = options.rootfs,
      .folder = FolderOf(id),
      .id = id,
      .on_exit = lifeline.Guard([this, id](int exit_code) { OnExit(id, exit_code); })});
}

Status RuncRuntime::State::MakeBundle(const ContainerConfig& config) const {
  ASSIGN_OR_RETURN(const sys::Root host, sys::Root::Open("/"));
  OciRequest request{.cgroup = CgroupOf(config.pod_uid, config.id),
                     .hostname = config.pod,
                     .args = ArgsOf(config),
                     .env = config.env,
                     .options = config.options,
                     .cdi_edits = {}};
  ASSIGN_OR_RETURN(request.cdi_edits, ResolveCdi(cdi::ReadFolders(host, options.cdi_folders),
                                                 config.options.cdi_devices));
  ASSIGN_OR_RETURN(const std::string text, OciConfigText(request, host));
  const std::string folder = FolderOf(config.id);
  std::error_code error;
  for (const char* name : {"rootfs", "upper", "work"}) {
    fs::create_directories(fmt::format("{}/{}", folder, name), error);
    if (error) {
      return ErrnoStatus(error.value(), fmt::format("create folder {}/{}", folder, name));
    }
  }
  return sys::WriteFileAtomically(folder + "/config.json", text);
}

void RuncRuntime::State::OnExit(const std::string& id, int exit_code) {
  if (removed.contains(id)) {
    Forget(id);
  }
  if (on_exit) {
    on_exit(id, exit_code);
  }
}

void RuncRuntime::State::Forget(const std::string& id) {
  removed.erase(id);
  containers.erase(id);
  std::error_code error;
  // The files that runc leaves when its own process is killed.
  fs::remove_all(fmt::format("{}/runc/{}", options.folder, id), error);
  fs::remove_all(FolderOf(id), error);
  // An id begins with the pod's UID.
  RemovePodCgroup(std::string_view(id).substr(0, id.find('_')));
  if (error) {
    KGPU_LOG(kWarning, "container folder not removed", {"folder", FolderOf(id)},
             {"reason", error.message()});
  }
}

void RuncRuntime::State::TakeUpAll() {
  std::error_code error;
  for (fs::directory_iterator entry(ContainersFolder(options.folder), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string id = entry->path().filename().string();
    auto container = NewContainer(id);
    container->TakeUp();
    containers[id] = std::move(container);
  }
}

StatusOr<std::unique_ptr<RuncRuntime>> RuncRuntime::Open(EventLoop& loop, const Options& options) {
  RETURN_IF_ERROR(Check(options));
  auto state = std::make_unique<State>(loop, options);
  ASSIGN_OR_RETURN(state->programs, FindRuncPrograms());
  std::error_code error;
  fs::create_directories(ContainersFolder(options.folder), error);
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("create folder {}", options.folder));
  }
  state->TakeUpAll();
  return std::unique_ptr<RuncRuntime>(new RuncRuntime(std::move(state)));
}

RuncRuntime::RuncRuntime(std::unique_ptr<State> state) : state_(std::move(state)) {
}

RuncRuntime::~RuncRuntime() = default;

void RuncRuntime::SetExitHandler(ExitHandler handler) {
  state_->on_exit = std::move(handler);
}

void RuncRuntime::Start(const ContainerConfig& config, std::function<void(const Status&)> started) {
  if (const Status status = state_->MakeBundle(config); !status.ok()) {
    state_->loop.Post([started = std::move(started), status] { started(status); });
    return;
  }
  auto& container = state_->containers[config.id] = state_->NewContainer(config.id);
  container->Start(std::move(started));
}

void RuncRuntime::Stop(const std::string& id, std::chrono::nanoseconds grace) {
  if (const auto found = state_->containers.find(id); found != state_->containers.end()) {
    found->second->Stop(grace);
  }
}

std::optional<RunState> RuncRuntime::Find(const std::string& id) const {
  const auto found = state_->containers.find(id);
  if (found == state_->containers.end() || state_->removed.contains(id)) {
    return std::nullopt;
  }
  return RunState{.is_running = found->second->is_running(),
                  .exit_code = found->second->exit_code().value_or(0)};
}

std::vector<std::string> RuncRuntime::List() const {
  std::vector<std::string> ids;
  for (const auto& [id, container] : state_->containers) {
    ids.push_back(id);
  }
  return ids;
}

void RuncRuntime::Remove(const std::string& id) {
  const auto found = state_->containers.find(id);
  if (found != state_->containers.end() && found->second->is_running()) {
    state_->removed.insert(id);
    found->second->Kill();
    return;
  }
  // Later: a container may be asking for its own removal.
  state_->loop.Post(state_->lifeline.Guard([this, id] { state_->Forget(id); }));
}

StatusOr<std::string> ContainerLog(const std::string& folder, const std::string& id) {
  constexpr size_t kLimit = size_t{16} << 20;
  return ReadTextFile(fmt::format("{}/{}/log", ContainersFolder(folder), id), kLimit);
}

}  // namespace kgpu::kubelet
