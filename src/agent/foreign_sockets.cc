#include "src/agent/foreign_sockets.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <fmt/format.h>

#include "src/sys/root.h"
#include "src/sys/unix_socket.h"

namespace kgpu::agent {

std::vector<std::string> FindForeignSockets(const std::string& folder) {
  std::vector<std::string> found;
  const auto root = sys::Root::Open(folder);
  const auto names = root.ok() ? root->ListDir("/") : root.status();
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (name.starts_with("nvidia") && name.ends_with(".sock") &&
        sys::ConnectUnix(fmt::format("{}/{}", folder, name)).ok()) {
      found.push_back(name);
    }
  }
  return found;
}

}  // namespace kgpu::agent
