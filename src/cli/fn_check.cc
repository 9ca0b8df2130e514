// `kgpu fn check`, which reads a config.yaml as all commands do and shows what it means, and
// `kgpu fn schema`.
#include <boost/json.hpp>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/checked_files.h"
#include "src/cli/config_file.h"
#include "src/cli/fn.h"
#include "src/cli/fn_file.h"
#include "src/cli/options.h"
#include "src/cli/output.h"
#include "src/functions/spec/functions_file.h"
#include "src/functions/spec/schema.h"
#include "src/node/report/table.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

using functions::Function;
using functions::FunctionsFile;

struct FnCheckOptions {
  std::string file;
  std::string output = "table";
};

struct FnSchemaOptions {};

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

std::string FunctionsText(const FunctionsFile& file) {
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

// With all defaults, but without what nobody should see.
boost::json::value FunctionsJson(FunctionsFile file) {
  for (Function& function : file.functions) {
    if (!function.registry_auth.empty()) {
      function.registry_auth = "(set)";
    }
  }
  return functions::FunctionsFileTree(file);
}

StatusOr<ExitCode> RunFnCheck(const FnCheckOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  RETURN_IF_ERROR(CheckNamedPath(options.file));
  const StatusOr<FunctionsFile> file = ReadFunctionsFile(options.file);
  if (file.status().code() == StatusCode::kInvalidArgument) {
    const CheckedFile checked{.name = options.file, .problems = ProblemsOf(Message(file.status()))};
    return PrintCheckedFiles({{checked}}, format);
  }
  RETURN_IF_ERROR(file.status());
  return OkOr(PrintAs(format, FunctionsText(*file), FunctionsJson(*file)));
}

StatusOr<ExitCode> RunFnSchema(const FnSchemaOptions& /*options*/) {
  return OkOr(PrintOut(doc::Print(functions::FunctionsFileSchema(), doc::Format::kJson)));
}

void AddFnSchema(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<FnSchemaOptions>(
      group, "schema", "Print a JSON schema of config.yaml, for editors", &RunFnSchema);
  command.footer("  kgpu fn schema > functions.schema.json");
}

}  // namespace

void AddFnCheckCommands(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<FnCheckOptions>(
      group, "check", "Check a config.yaml, and show what it means", &RunFnCheck);
  command.footer(
      "Each error names the file, line, column and field. Exits 7 when the file has an error. "
      "JSON\n"
      "and YAML have every field with its default and the variables of environment_file.\n"
      "\n"
      "  kgpu fn check -f hello/config.yaml\n"
      "  kgpu fn check -f hello/config.yaml --output yaml");
  AddFunctionsFileOption(command, options.file, "File to check; - for standard input")->required();
  AddOutputOption(command, options.output);
  AddFnSchema(registrar, group);
}

}  // namespace kgpu::cli
