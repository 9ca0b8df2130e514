// `kgpu fn check`, which reads a config.yaml as all commands do and shows what it means, and
// `kgpu fn schema`.
#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <string>

#include "src/cli/base/checked_files.h"
#include "src/cli/base/config_file.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/fn/fn.h"
#include "src/cli/fn/fn_check_view.h"
#include "src/cli/fn/fn_file.h"
#include "src/functions/spec/functions_file.h"
#include "src/functions/spec/schema.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

using functions::FunctionsFile;

struct FnCheckOptions {
  std::string file;
  std::string output = "table";
};

struct FnSchemaOptions {};

StatusOr<ExitCode> RunFnCheck(const FnCheckOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  if (options.file != "-") {
    RETURN_IF_ERROR(CheckNamedPath(options.file));
  }
  const StatusOr<FunctionsFile> file = ReadFunctionsFile(options.file);
  if (file.status().code() == StatusCode::kInvalidArgument) {
    const CheckedFile checked{.name = options.file, .problems = ProblemsOf(Message(file.status()))};
    return PrintCheckedFiles({{checked}}, format);
  }
  RETURN_IF_ERROR(file.status());
  return OkOr(PrintAs(format, FunctionsTable(*file), FunctionsJson(*file)));
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
