// `kgpu fn init`: a new function, from a runtime's template.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "src/cli/base/config_file.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/fn/fn.h"
#include "src/cli/fn/fn_file.h"
#include "src/functions/init/init.h"
#include "src/functions/spec/functions_file.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::cli {
namespace {

struct FnInitOptions {
  functions::NewFunction request;
  bool is_dry_run = false;
};

// Every file with its path before it, as they would be.
std::string InitPlanText(const functions::InitPlan& plan) {
  std::string text;
  const auto add = [&text](const std::string& path, const std::string& content) {
    text += fmt::format("# {}\n{}\n", path, content);
  };
  if (plan.config_text) {
    add(plan.config, *plan.config_text);
  }
  for (const functions::NewFile& file : plan.files) {
    add((std::filesystem::path(plan.folder) / file.path).string(), file.text);
  }
  return text;
}

std::string InitResultText(const functions::InitPlan& plan) {
  std::string text;
  if (plan.config_text) {
    text += fmt::format("wrote {}\n", plan.config);
  }
  for (const functions::NewFile& file : plan.files) {
    text += fmt::format("wrote {}\n", (std::filesystem::path(plan.folder) / file.path).string());
  }
  return text;
}

StatusOr<ExitCode> RunFnInit(const FnInitOptions& options) {
  functions::NewFunction request = options.request;
  if (!request.config.empty() && access(request.config.c_str(), F_OK) == 0) {
    ASSIGN_OR_RETURN(TextFile text,
                     ReadTextFile(request.config, functions::kMaxFunctionsFileBytes));
    request.config_text = std::move(text.text);
  }
  ASSIGN_OR_RETURN(const functions::InitPlan plan, functions::PlanNewFunction(request));
  if (options.is_dry_run) {
    return OkOr(PrintOut(InitPlanText(plan)));
  }
  RETURN_IF_ERROR(functions::MakeNewFunction(plan));
  RETURN_IF_ERROR(PrintOut(InitResultText(plan)));
  PrintNote(fmt::format("edit {}, then: kgpu fn build -f {}", plan.handler, plan.config));
  return ExitCode::kOk;
}

}  // namespace

void AddFnInitCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<FnInitOptions>(
      group, "init", "Create the folder of a new function", &RunFnInit);
  command.footer(
      "Creates NAME/config.yaml and NAME/src with a handler that returns its input. Existing\n"
      "files and folders are never changed, except that -f adds an entry to the file it names;\n"
      "the folder is then created beside that file.\n"
      "\n"
      "  kgpu fn init hello -r cpp\n"
      "  kgpu fn init embed -r python3 --gpus 2\n"
      "  kgpu fn init second -r go -f hello/config.yaml --dry-run");
  functions::NewFunction& request = options.request;
  command.add_option("NAME", request.name, "Lower-case letters, digits and dashes")->required();
  AddValue(command, "-r,--runtime", request.runtime, "RUNTIME",
           "Language: kgpu fn runtime list shows them")
      ->required();
  AddFunctionsFileOption(command, request.config,
                         "File that gets the function (default: NAME/config.yaml)");
  AddValue(command, "-d,--dir", request.dir, "DIR", "Folder of the handler, below NAME");
  command.add_option("--gpus", request.gpus, "GPUs that the handler sees")
      ->type_name("N")
      ->capture_default_str();
  AddValue(command, "-g,--gateway", request.gateway, "HOST:PORT",
           "Where it is deployed (default: this machine)");
  command.add_flag("--dry-run", options.is_dry_run, "Print the files; write nothing");
}

}  // namespace kgpu::cli
