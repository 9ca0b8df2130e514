#include "src/cli/base/find_pods.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "src/container/cri/runtime_facts.h"
#include "src/node/pods/watch.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

constexpr std::chrono::seconds kPatience{4};

pods::PodMapPtr Nobody(std::string problem) {
  auto map = std::make_shared<pods::PodMap>();
  map->problem = std::move(problem);
  return map;
}

}  // namespace

StatusOr<pods::PodMapPtr> FindPods(const sys::Root& host, const std::string& kubelet_dir,
                                   const device::SampleSetPtr& samples) {
  pods::WatchOptions options;
  options.pod_resources_socket = kubelet_dir + "/pod-resources/kubelet.sock";
  std::error_code error;
  if (!std::filesystem::exists(options.pod_resources_socket, error)) {
    return Nobody(
        fmt::format("{}: not found: no kubelet runs here, or its folder differs: set --kubelet-dir",
                    options.pod_resources_socket));
  }
  for (const std::string_view socket : cri::kUsualSockets) {
    options.runtime_sockets.push_back(host.At(socket));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  const TimerId timer = loop->After(kPatience, [&] { loop->Quit(); });
  pods::PodMapPtr found;
  {
    pods::Watch watch(*loop, host, options, pods::AtOnce(), [&](const pods::PodMapPtr& map) {
      if (map->problem.empty()) {
        loop->Quit();
      }
    });
    if (samples) {
      watch.OnSample(samples);
    }
    loop->Run();
    found = watch.current();
  }
  loop->CancelTimer(timer);
  return found;
}

}  // namespace kgpu::cli
