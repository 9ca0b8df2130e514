#include "src/setup/bringup/systemctl.h"

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/systemctl.h"

namespace kgpu::bringup {

Status Systemctl(const sys::Root& host, sys::ProgramRunner& runner,
                 std::vector<std::string> words) {
  sys::RunRequest request;
  ASSIGN_OR_RETURN(request.argv, sys::SystemctlCommand(host, words));
  request.root = host.path();
  request.deadline = std::chrono::minutes(2);
  ASSIGN_OR_RETURN(const sys::RunResult result, runner.Run(request));
  if (!result.IsSuccess()) {
    return FailedPrecondition("systemctl {}: {}; journalctl -u {} may tell more", Join(words, " "),
                              sys::Describe(result), words.back());
  }
  return OkStatus();
}

}  // namespace kgpu::bringup
