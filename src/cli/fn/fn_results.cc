#include "src/cli/fn/fn_results.h"

#include <boost/json/value.hpp>

#include <string>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::cli {

Status FnResults::Add(std::string_view line, boost::json::object result) {
  if (format_ == OutputFormat::kTable) {
    return PrintOut(std::string(line) + "\n");
  }
  results_.push_back(std::move(result));
  return OkStatus();
}

StatusOr<ExitCode> FnResults::Finish(const Status& status) && {
  if (format_ != OutputFormat::kTable && (status.ok() || !results_.empty())) {
    const boost::json::object all{{"functions", std::move(results_)}};
    RETURN_IF_ERROR(PrintOut(Render(all, format_)));
  }
  return OkOr(status);
}

}  // namespace kgpu::cli
