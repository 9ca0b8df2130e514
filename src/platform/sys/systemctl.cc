#include "src/platform/sys/systemctl.h"

#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::sys {

bool HasSystemd(const Root& host) {
  return host.Exists("run/systemd/system");
}

StatusOr<std::vector<std::string>> SystemctlCommand(const Root& host,
                                                    std::vector<std::string> words) {
  std::string program = FindProgram(host, "systemctl");
  if (program.empty()) {
    return FailedPrecondition(
        "systemctl not found: use your init system's equivalent of: systemctl {}",
        Join(words, " "));
  }
  words.insert(words.begin(), std::move(program));
  return words;
}

}  // namespace kgpu::sys
