#include "src/node/mps/control_call.h"

#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/run.h"

namespace kgpu::mps {
namespace {

// For a killed program to vanish. One that hangs in the kernel is abandoned.
constexpr std::chrono::seconds kDeathLimit{2};

StatusOr<std::string> AnswerOf(sys::ChildEnd end) {
  if (!end.status.ok()) {
    return DeadlineExceeded("the MPS control daemon does not answer");
  }
  if (!end.result.IsSuccess()) {
    return Unavailable("MPS' control program failed with {}: {}", sys::Describe(end.result.exit),
                       Printable(Trim(end.result.out)));
  }
  return std::move(end.result.out);
}

}  // namespace

StatusOr<std::unique_ptr<ControlCall>> ControlCall::Start(EventLoop& loop,
                                                          const ControlCallOptions& options,
                                                          Done done) {
  // A program that the daemon has started may keep the output open for ever.
  ASSIGN_OR_RETURN(auto run, sys::ChildRun::Start(loop,
                                                  {.argv = options.argv,
                                                   .environment = options.environment,
                                                   .input = options.commands,
                                                   .deadline = options.deadline,
                                                   .grace = kDeathLimit,
                                                   .output_limit = size_t{64} << 10,
                                                   .kills = sys::KillScope::kProgram,
                                                   .errors = sys::ErrorsTo::kOut},
                                                  [done = std::move(done)](sys::ChildEnd end) {
                                                    done(AnswerOf(std::move(end)));
                                                  }));
  return std::unique_ptr<ControlCall>(new ControlCall(std::move(run)));
}

}  // namespace kgpu::mps
