#include "src/platform/sys/find_program.h"

#include <sys/stat.h>

#include <fmt/format.h>

namespace kgpu::sys {

std::string FindProgram(const Root& host, std::string_view name) {
  for (const char* folder : {"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin",
                             "/sbin", "/opt/bin", "/usr/libexec/crio"}) {
    std::string path = fmt::format("{}/{}", folder, name);
    if (const auto stat = host.Stat(path); stat.ok() && S_ISREG(stat->st_mode)) {
      return path;
    }
  }
  return "";
}

}  // namespace kgpu::sys
