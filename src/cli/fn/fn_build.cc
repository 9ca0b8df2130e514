#include "src/cli/fn/fn_build.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/base/host_options.h"
#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress_runner.h"
#include "src/cli/fn/fn.h"
#include "src/cli/fn/fn_engine.h"
#include "src/cli/fn/fn_file.h"
#include "src/cli/fn/fn_results.h"
#include "src/functions/build/build.h"
#include "src/functions/runtimes/runtimes.h"
#include "src/functions/spec/functions_file.h"
#include "src/functions/spec/image_name.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/find_program.h"

namespace kgpu::cli {
namespace {

struct FnBuildOptions {
  std::string config = "config.yaml";
  std::string name;
  std::string watchdog;
  std::string auth_file;
  std::string scratch = "/var/tmp";
  std::string output = "table";
  FnEngineOptions engine;
  bool is_again = false;
  bool is_verbose = false;
  bool is_dry_run = false;
  bool pushes = false;
  bool is_plain_http = false;
};

// What builds images on this host.
class ImageTools {
 public:
  static StatusOr<std::unique_ptr<ImageTools>> Open(const FnBuildOptions& options) {
    ASSIGN_OR_RETURN(sys::Root host, sys::Root::Open("/"));
    return std::unique_ptr<ImageTools>(new ImageTools(options, std::move(host)));
  }
  functions::BuildDependencies deps() {
    return {.builder = builder_,
            .bases = bases_,
            .host = host_,
            .scratch = scratch_,
            .on_step = [](std::string_view step) { PrintNote(step); }};
  }

 private:
  ImageTools(const FnBuildOptions& options, sys::Root host)
      : host_(std::move(host)),
        scratch_(options.scratch),
        builder_(runner_, SettingsOf(options, host_)),
        bases_(runner_, builder_, host_, EngineEnvironment(), options.scratch) {}

  static functions::BuilderSettings SettingsOf(const FnBuildOptions& options,
                                               const sys::Root& host) {
    functions::BuilderSettings settings{.buildah = sys::FindProgram(host, "buildah"),
                                        .flags = options.engine.flags,
                                        .environment = EngineEnvironment()};
    if (options.is_verbose) {
      settings.on_line = [](std::string_view line) { PrintNote(line); };
    }
    return settings;
  }

  sys::RealRunner programs_;
  ProgressRunner runner_{programs_};
  const sys::Root host_;
  const std::string scratch_;
  functions::ImageBuilder builder_;
  functions::BaseImages bases_;
};

std::string FolderOf(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

StatusOr<functions::BuildPlan> PlanOf(functions::Function function, const FnBuildOptions& options) {
  const functions::Runtime* runtime = functions::FindRuntime(function.runtime);
  std::vector<functions::WorkerFile> worker;
  if (runtime != nullptr) {
    function.runtime = runtime->name;  // an alias has the same image
    std::ranges::transform(functions::WorkerFiles(*runtime), std::back_inserter(worker),
                           [](const EmbeddedFile& file) {
                             return functions::WorkerFile{.path = std::string(file.path),
                                                          .content = std::string(file.text)};
                           });
  }
  ASSIGN_OR_RETURN(std::string watchdog,
                   FindCompanion("kgpu-fnwatch", "--watchdog", options.watchdog));
  return functions::PlanBuild({.function = std::move(function),
                               .config_folder = FolderOf(options.config),
                               .worker = std::move(worker),
                               .watchdog = std::move(watchdog)});
}

Status BuildOne(const functions::BuildPlan& plan, ImageTools& tools, const FnBuildOptions& options,
                FnResults& results) {
  ASSIGN_OR_RETURN(const functions::BuiltImage image,
                   functions::BuildFunction(plan, tools.deps(), options.is_again));
  if (!image.is_new) {
    PrintNote(fmt::format("{}: nothing changed since it was built", plan.function.name));
  }
  if (options.pushes) {
    RETURN_IF_ERROR(functions::PushFunction(
        plan.function, image.content_name, tools.deps(),
        {.auth_file = options.auth_file, .is_plain_http = options.is_plain_http}));
  }
  return results.Add(image.content_name, {{"name", plan.function.name},
                                          {"image", image.content_name},
                                          {"new", image.is_new},
                                          {"pushed", options.pushes}});
}

boost::json::object PlanJson(const functions::BuildPlan& plan) {
  boost::json::array files;
  for (const functions::SourceFile& file : plan.sources.files) {
    files.emplace_back(file.path);
  }
  return {{"name", plan.function.name},          {"image", plan.image},
          {"folder", plan.sources.folder},       {"files", std::move(files)},
          {"containerfile", plan.containerfile}, {"script", plan.script}};
}

Status BuildAll(std::vector<functions::Function> chosen, ImageTools& tools,
                const FnBuildOptions& options, FnResults& results) {
  for (functions::Function& function : chosen) {
    if (options.pushes) {
      RETURN_IF_ERROR(functions::CheckCanPush(function));
    }
    ASSIGN_OR_RETURN(const functions::BuildPlan plan, PlanOf(std::move(function), options));
    RETURN_IF_ERROR(options.is_dry_run
                        ? results.Add(Trim(functions::PlanText(plan)), PlanJson(plan))
                        : BuildOne(plan, tools, options, results));
  }
  return OkStatus();
}

StatusOr<ExitCode> RunFnBuild(const FnBuildOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const functions::FunctionsFile file, ReadFunctionsFile(options.config));
  std::vector<functions::Function> chosen = file.functions;
  if (!options.name.empty()) {
    ASSIGN_OR_RETURN(functions::Function function, functions::SelectFunction(file, options.name));
    chosen = {std::move(function)};
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ImageTools> tools, ImageTools::Open(options));
  FnResults results(format);
  const Status status = BuildAll(std::move(chosen), *tools, options, results);
  return std::move(results).Finish(status);
}

}  // namespace

std::string OutdatedImageNote(const functions::Function& function, const std::string& config,
                              const FnEngineOptions& engine) {
  FnBuildOptions options;
  options.config = config;
  options.engine = engine;
  const auto tools = ImageTools::Open(options);
  const StatusOr<functions::BuildPlan> plan = PlanOf(function, options);
  if (!tools.ok() || !plan.ok()) {
    return "";
  }
  const StatusOr<std::optional<bool>> outdated = functions::IsOutdated(*plan, (*tools)->deps());
  const bool is_outdated = outdated.ok() && outdated->value_or(false);
  return is_outdated ? fmt::format(
                           "its sources have changed since its image was built: "
                           "kgpu fn build -f {} {}, then deploy again",
                           config, function.name)
                     : "";
}

void AddFnBuildCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] =
      registrar.Add<FnBuildOptions>(group, "build", "Build the images of functions", &RunFnBuild);
  command.footer(
      "Needs buildah, and apt for images without baseImage. Prints the name of each image, whose\n"
      "tag is the digest of its content. docs/guides/build-functions.md explains what is in it.\n"
      "\n"
      "  kgpu fn build -f hello/config.yaml\n"
      "  kgpu fn build -f hello/config.yaml --push --plain-http\n"
      "  kgpu fn build -f hello/config.yaml --output json | jq -r '.functions[].image'");
  command.add_option("NAME", options.name, "The function (default: all in the file)");
  AddFunctionsFileOption(command, options.config, "File that describes functions");
  command.add_flag("--nocache", options.is_again,
                   "Build again, with the current versions of packages and base images");
  command.add_flag("-v,--buildverbose", options.is_verbose, "Print what buildah prints");
  command.add_flag("--push", options.pushes, "Push the images to their registries");
  command.add_flag("--plain-http", options.is_plain_http,
                   "The registry uses HTTP, or an untrusted certificate");
  AsPath(AddValue(command, "--authfile", options.auth_file, "FILE",
                  "Credentials for registries (default: those of buildah login)"));
  command.add_flag("--dry-run", options.is_dry_run, "Print what would be built");
  AddOutputOption(command, options.output);
  AsPath(AddValue(command, "--watchdog", options.watchdog, "FILE",
                  "The program kgpu-fnwatch (default: beside kgpu)"));
  AsPath(AddValue(command, "--scratch-dir", options.scratch, "DIR",
                  "Folder for temporary files, up to 1 GiB"));
  AddEngineOptions(command, options.engine);
}

}  // namespace kgpu::cli
