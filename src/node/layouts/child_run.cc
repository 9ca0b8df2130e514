#include "src/node/layouts/child_run.h"

#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/run.h"

namespace kgpu::layouts {
namespace {

ChildResult ResultOf(sys::ChildEnd end) {
  ChildResult result{.code = end.result.exit.code,
                     .out = std::move(end.result.out),
                     .err = std::move(end.result.err)};
  if (!end.status.ok()) {
    result.problem = Message(end.status);
  } else if (end.result.exit.signal) {
    result.problem = fmt::format("ended by {}", sys::Describe(end.result.exit));
  }
  return result;
}

}  // namespace

void ChildRun::Start(std::vector<std::string> argv, std::string_view input,
                     std::chrono::seconds deadline, Done done) {
  done_ = std::move(done);
  if (const Status status = TryStart(std::move(argv), input, deadline); !status.ok()) {
    // From the loop, as always.
    failure_.Arm({}, [this, result = ChildResult{.problem = std::string(Message(status))}] {
      Finish(result);
    });
  }
}

Status ChildRun::TryStart(std::vector<std::string> argv, std::string_view input,
                          std::chrono::seconds deadline) {
  if (run_ && run_->has_process()) {
    return Unavailable("process {} of an earlier run is stuck in the kernel", run_->pid());
  }
  ASSIGN_OR_RETURN(
      run_, sys::ChildRun::Start(loop_,
                                 {.argv = std::move(argv),
                                  .environment = sys::RunRequest().environment,
                                  .input = std::string(input),
                                  .deadline = deadline,
                                  .output_limit = kMaxChildOutput,
                                  .kills = sys::KillScope::kLeftovers},
                                 [this](sys::ChildEnd end) { Finish(ResultOf(std::move(end))); }));
  return OkStatus();
}

void ChildRun::Finish(const ChildResult& result) {
  std::exchange(done_, nullptr)(result);
}

}  // namespace kgpu::layouts
