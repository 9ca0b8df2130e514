#include "testing/simhost/server.h"

#include <optional>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/unix_socket.h"
#include "testing/driver/server.h"
#include "testing/driver/state_file.h"
#include "testing/simhost/daemon.h"
#include "testing/simhost/host_command.h"
#include "testing/simhost/host_folder.h"
#include "testing/simhost/host_lock.h"
#include "testing/simhost/kernel_log.h"

namespace kgpu::simhost {
namespace {

// The state the host had when its last server ended, or that of a boot.
Status PrepareState(HostFolder& host) {
  StatusOr<std::unique_ptr<sim::SimState>> state = sim::LoadState(host.path());
  if (!state.ok()) {
    ASSIGN_OR_RETURN(state, host.BootState());
    RETURN_IF_ERROR(sim::SaveState(host.path(), **state));
  }
  return host.Show(**state).status();
}

}  // namespace

Status Serve(const std::string& folder, int ready_fd) {
  ASSIGN_OR_RETURN(const UniqueFd signals, BlockSignals());
  ASSIGN_OR_RETURN(HostFolder host, HostFolder::Open(folder));
  ASSIGN_OR_RETURN(const UniqueFd lock, LockHost(host.path()));
  RETURN_IF_ERROR(WritePid(lock));
  RETURN_IF_ERROR(PrepareState(host));
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  KernelLog kernel_log(host.At("dev/kmsg"));
  RETURN_IF_ERROR(kernel_log.Make());
  sim::ServerOptions options;
  options.root = host.path();
  options.counts_on = true;
  options.on_change = [&](const sim::SimState& before, const sim::SimState& now) {
    kernel_log.Notify(before, now);
    RETURN_IF_ERROR(host.ReloadSettings());
    return host.Show(now).status();
  };
  options.apply = [&](sim::SimState& state, std::string_view line) {
    return ApplyHostCommand(host, kernel_log, state, line);
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<sim::StateServer> server,
                   sim::StateServer::Create(*loop, options));
  // For programs that only look whether the service is there: nobody answers.
  std::optional<sys::UnixListener> fabric_manager;
  if (!host.profile().nvswitches.empty()) {
    ASSIGN_OR_RETURN(fabric_manager,
                     sys::UnixListener::Listen(host.At("run/nvidia-fabricmanager/socket"), {}));
  }
  ASSIGN_OR_RETURN(const WatchId watch,
                   loop->WatchReadable(signals.get(), [&loop] { loop->Quit(); }));
  ReportReady(ready_fd);
  KGPU_LOG(kInfo, "serving", {"host", host.path()}, {"profile", host.settings().profile});
  loop->Run();
  loop->Unwatch(watch);
  KGPU_LOG(kInfo, "stopped", {"host", host.path()});
  return OkStatus();
}

}  // namespace kgpu::simhost
