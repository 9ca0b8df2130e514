#include "src/bringup/systemctl.h"

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/engine/find.h"

namespace kgpu::bringup {

Status Systemctl(const sys::Root& host, sys::ProgramRunner& runner,
                 std::vector<std::string> words) {
  const std::string program = engine::FindProgram(host, "systemctl");
  if (program.empty()) {
    return FailedPrecondition("no systemctl on this host: systemctl {} there", Join(words, " "));
  }
  sys::RunRequest request;
  request.argv = {program};
  request.argv.insert(request.argv.end(), words.begin(), words.end());
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
