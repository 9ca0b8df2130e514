#include "src/cli/fn/explain_child.h"

#include <boost/json/value.hpp>

#include <chrono>
#include <utility>

#include "src/cli/base/exit_code.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::cli {
namespace {

constexpr std::chrono::seconds kExplainLimit{20};
constexpr size_t kMaxExplanation = size_t{64} << 20;

StatusOr<functions::PodExplanation> ExplanationOf(const StatusOr<sys::RunResult>& result) {
  RETURN_IF_ERROR(result.status());
  const bool has_report = result->exit.code == static_cast<int>(ExitCode::kOk) ||
                          result->exit.code == static_cast<int>(ExitCode::kUnhealthy);
  if (!has_report) {
    return Unavailable("kgpu explain: {}", Printable(result->err, 300));
  }
  return ParseExplanation(result->out);
}

}  // namespace

StatusOr<functions::PodExplanation> ParseExplanation(std::string_view json) {
  constexpr char kWhere[] = "kgpu explain";
  ASSIGN_OR_RETURN(const boost::json::value root,
                   doc::ParseJson(json, kWhere, {.bytes = kMaxExplanation}));
  const boost::json::object* object = root.if_object();
  const boost::json::value* verdict = object == nullptr ? nullptr : object->if_contains("verdict");
  const boost::json::value* may_fit =
      object == nullptr ? nullptr : object->if_contains("mayFitLater");
  if (verdict == nullptr || !verdict->is_string() || may_fit == nullptr || !may_fit->is_bool()) {
    return InvalidArgument("{}: must be a map with verdict and mayFitLater", kWhere);
  }
  const boost::json::string& text = verdict->get_string();
  return functions::PodExplanation{.text = {text.data(), text.size()},
                                   .may_fit_later = may_fit->get_bool()};
}

functions::ExplainPod ExplainByChild(functions::Programs& programs,
                                     std::vector<std::string> flags) {
  return [&programs, flags = std::move(flags)](
             const std::string& space, const std::string& pod,
             const std::function<void(StatusOr<functions::PodExplanation>)>& done) {
    functions::ProgramRequest request{.argv = {"/proc/self/exe", "explain", "pod",
                                               fmt::format("{}/{}", space, pod), "--output=json"},
                                      .limit = kExplainLimit};
    request.argv.insert(request.argv.end(), flags.begin(), flags.end());
    programs.Start(std::move(request),
                   [done](const StatusOr<sys::RunResult>& result) { done(ExplanationOf(result)); });
  };
}

}  // namespace kgpu::cli
