#include "src/node/object/host_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "src/node/labels/feature_files.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::node {

std::vector<std::string> ForeignPluginSockets(const std::string& folder) {
  std::vector<std::string> sockets;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    // Ours begin with kgpu-; devices of other vendors do not matter here.
    if (name.starts_with("nvidia") && sys::ConnectUnix(entry->path().string()).ok()) {
      sockets.push_back(name);
    }
  }
  std::ranges::sort(sockets);
  return sockets;
}

bool HasGfdFile(const sys::Root& host) {
  return host.Exists(fmt::format("{}/gfd", labels::kFeatureFilesFolder));
}

StatusOr<WallTime> BootTime(const sys::Root& host) {
  ASSIGN_OR_RETURN(const std::string text, host.ReadFile("proc/stat"));
  constexpr std::string_view kKey = "btime ";
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.starts_with(kKey)) {
      continue;
    }
    if (const auto seconds = ParseUint(Trim(line.substr(kKey.size())))) {
      return WallTime(std::chrono::seconds(*seconds));
    }
  }
  return Unavailable("/proc/stat has no btime");
}

}  // namespace kgpu::node
