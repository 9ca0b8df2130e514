#include "src/node/layouts/helper_run.h"

#include <string_view>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::layouts {
namespace {

// An error, if the helper did not reply, says how it ended.
StatusOr<mig::HelperReply> ReplyIn(const ChildResult& result) {
  auto reply = mig::ParseReply(result.out);
  if (reply.ok() || !result.problem.empty()) {
    return reply.ok() ? reply : Unavailable("{}", result.problem);
  }
  const std::string_view text = Trim(result.err);
  const std::string_view last = text.substr(text.rfind('\n') + 1);
  return Internal("kgpu {} ended with exit code {} and no reply{}{}", mig::kHelperCommand,
                  result.code.value_or(0), last.empty() ? "" : ": ", Printable(last, 400));
}

}  // namespace

void AskHelper(ChildRun& child, const std::string& program, const mig::HelperRequest& request,
               std::chrono::seconds deadline, HelperDone done) {
  child.Start({program, std::string(mig::kHelperCommand)}, mig::PrintRequest(request), deadline,
              [done = std::move(done)](const ChildResult& result) { done(ReplyIn(result)); });
}

}  // namespace kgpu::layouts
