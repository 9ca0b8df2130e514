// `kgpu fn run`: one call of a function that is built but not deployed.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/cli/base/options.h"
#include "src/cli/base/progress.h"
#include "src/cli/fn/fn.h"
#include "src/cli/fn/fn_answer.h"
#include "src/cli/fn/fn_engine.h"
#include "src/cli/fn/fn_file.h"
#include "src/functions/build/build.h"
#include "src/functions/spec/functions_file.h"
#include "src/functions/spec/image_name.h"
#include "src/functions/trial/trial.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::cli {
namespace {

struct FnRunOptions {
  std::string file = "config.yaml";
  std::string name;
  std::string run_dir = kRunDir;
  std::string state_dir = kStateDir;
  std::string host_root;
  std::string start_limit = "2m";
  FnEngineOptions engine;
};

// The image that was built last from the sources, or the one that config.yaml names.
StatusOr<std::string> ImageToRun(const functions::Function& function, const sys::Root& root,
                                 const FnEngineOptions& engine) {
  sys::RealRunner runner;
  functions::ImageBuilder builder(runner, {.buildah = sys::FindProgram(root, "buildah"),
                                           .flags = engine.flags,
                                           .environment = EngineEnvironment()});
  ASSIGN_OR_RETURN(const std::optional<std::string> built, functions::FindBuilt(builder, function));
  if (!built) {
    return NotFound("function {}: there is no image {}: build it with kgpu fn build", function.name,
                    functions::ImageNameOf(function));
  }
  return *built;
}

StatusOr<ExitCode> RunFnRun(const FnRunOptions& options) {
  ASSIGN_OR_RETURN(const functions::FunctionsFile file, ReadFunctionsFile(options.file));
  ASSIGN_OR_RETURN(const functions::Function function,
                   functions::SelectFunction(file, options.name));
  ASSIGN_OR_RETURN(const std::chrono::milliseconds start_limit,
                   ParseDuration("--start-limit", options.start_limit));
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  functions::TrialOptions trial_options{
      .environment = EngineEnvironment(),
      .agent_socket = BelowHostRoot(options.run_dir, kRunDir, options.host_root) + "/agent.sock",
      .secrets =
          BelowHostRoot(options.state_dir, kStateDir, options.host_root) + "/functions/secrets",
      .start_limit = start_limit};
  ASSIGN_OR_RETURN(trial_options.engine, ContainerEngine(options.engine, root));
  ASSIGN_OR_RETURN(trial_options.image, ImageToRun(function, root, options.engine));
  ASSIGN_OR_RETURN(const http::Request request, CallRequest({}));
  std::optional<Progress> progress(std::in_place, fmt::format("starting {}", function.name));
  ASSIGN_OR_RETURN(const std::unique_ptr<functions::Trial> trial,
                   functions::Trial::Start(function, std::move(trial_options)));
  progress.reset();
  return PrintAnswer(function.name, {.address = trial->socket(), .is_watchdog = true}, request);
}

}  // namespace

void AddFnRunCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<FnRunOptions>(
      group, "run", "Call a function once in a container of its own", &RunFnRun);
  command.footer(
      "Starts the image that kgpu fn build made, passes standard input to the handler and its\n"
      "answer to standard output, and removes the container. The function need not be deployed.\n"
      "GPUs come from the agent of this machine. Exits as kgpu fn call does.\n"
      "\n"
      "  echo hi | kgpu fn run hello -f hello/config.yaml");
  command.add_option("NAME", options.name, "The function (default: the only one in the file)");
  AddFunctionsFileOption(command, options.file, "File that describes functions");
  AddValue(command, "--start-limit", options.start_limit, "TIME",
           "How long it may take until the handler is loaded");
  AddRunDirOption(command, options.run_dir);
  AddStateDirOption(command, options.state_dir);
  AddHostRootOption(command, options.host_root);
  AddEngineOptions(command, options.engine);
}

}  // namespace kgpu::cli
