#include "src/cli/fn/fn_check_view.h"

#include <boost/json/value.hpp>

#include <utility>

#include "src/functions/spec/functions_file.h"
#include "src/node/report/table.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

using functions::Function;

// "2", "1 of H100-SXM5-80GB, T4 with 20Gi".
std::string GpusText(const functions::GpuRequest& gpu) {
  std::string text = fmt::format("{}", gpu.count);
  if (!gpu.models.empty()) {
    text += " of " + Join(gpu.models, ", ");
  }
  if (gpu.memory) {
    text += " with " + FormatQuantity(Bytes{static_cast<uint64_t>(*gpu.memory)});
  }
  return text;
}

std::string ReplicasText(const functions::Scaling& scaling) {
  return scaling.min_replicas == scaling.max_replicas
             ? fmt::format("{}", scaling.min_replicas)
             : fmt::format("{}-{}", scaling.min_replicas, scaling.max_replicas);
}

}  // namespace

std::string FunctionsTable(const functions::FunctionsFile& file) {
  report::Table table({"NAME", "RUNTIME", "HANDLER", "GPUS", "REPLICAS", "CONCURRENCY", "TIMEOUT"});
  for (const Function& function : file.functions) {
    table.AddRow({function.name, function.runtime,
                  function.handler.file.empty()
                      ? ""
                      : fmt::format("{}/{}", function.handler.dir, function.handler.file),
                  GpusText(function.gpu), ReplicasText(function.scaling),
                  fmt::format("{}", function.calls.concurrency),
                  FormatDuration(function.calls.timeout)});
  }
  return table.Render();
}

boost::json::value FunctionsJson(functions::FunctionsFile file) {
  for (Function& function : file.functions) {
    if (!function.registry_auth.empty()) {
      function.registry_auth = "(set)";
    }
  }
  return functions::FunctionsFileTree(file);
}

}  // namespace kgpu::cli
