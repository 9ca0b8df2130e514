#include "src/container/engine/runtime_users.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <string_view>

#include "src/host/facts/daemons.h"

namespace kgpu::engine {
namespace {

// Where containerd's shims keep a folder for each container: <this>/<namespace>/<id>.
constexpr std::array<std::string_view, 5> kBundles = {
    "run/containerd/io.containerd.runtime.v2.task",
    "run/docker/containerd/daemon/io.containerd.runtime.v2.task",
    "run/k3s/containerd/io.containerd.runtime.v2.task",
    "run/k0s/containerd/io.containerd.runtime.v2.task",
    "var/snap/microk8s/common/run/containerd/io.containerd.runtime.v2.task"};

std::vector<std::string> NamesIn(const sys::Root& host, const std::string& folder) {
  auto names = host.ListDir(folder);
  return names.ok() ? *std::move(names) : std::vector<std::string>();
}

// The shim writes the program that it was given into "runtime", or all it was given into
// "options.json".
bool IsStartedBy(const sys::Root& host, const std::string& bundle, const std::string& program) {
  for (const char* file : {"runtime", "options.json"}) {
    const auto text = host.ReadFile(fmt::format("{}/{}", bundle, file));
    if (text.ok() && text->find(program) != std::string::npos) {
      return true;
    }
  }
  return false;
}

void AddBundles(const sys::Root& host, const std::string& program, std::set<std::string>& ids) {
  for (const std::string_view top : kBundles) {
    for (const std::string& space : NamesIn(host, std::string(top))) {
      const std::string folder = fmt::format("{}/{}", top, space);
      for (const std::string& id : NamesIn(host, folder)) {
        if (IsStartedBy(host, fmt::format("{}/{}", folder, id), program)) {
          ids.insert(id);
        }
      }
    }
  }
}

}  // namespace

std::vector<std::string> RuntimeUsers(const sys::Root& host, const std::string& program) {
  std::set<std::string> ids;
  AddBundles(host, program, ids);
  for (const host::Daemon& monitor : host::FindDaemons(host, {"conmon"})) {
    if (monitor.Flag({"-r", "--runtime"}) == program) {
      ids.insert(monitor.Flag({"-c", "--cid"}));
    }
  }
  return {ids.begin(), ids.end()};
}

}  // namespace kgpu::engine
