// `kgpu fn deploy`, `scale` and `delete`: what runs, and how many replicas of it.
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/cli/base/options.h"
#include "src/cli/base/output.h"
#include "src/cli/base/progress.h"
#include "src/cli/fn/fn.h"
#include "src/cli/fn/fn_build.h"
#include "src/cli/fn/fn_engine.h"
#include "src/cli/fn/fn_file.h"
#include "src/cli/fn/fn_gateway.h"
#include "src/cli/fn/fn_results.h"
#include "src/functions/spec/function_check.h"
#include "src/functions/spec/functions_file.h"
#include "src/functions/spec/image_name.h"
#include "src/functions/spec/wire.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::cli {
namespace {

using std::chrono::milliseconds;

// A deployment may fetch an image of many gigabytes first.
constexpr milliseconds kDeployLimit = std::chrono::minutes(40);
constexpr milliseconds kDeleteLimit = std::chrono::hours(1);

struct FnDeployOptions {
  GatewayOptions gateway;
  FnEngineOptions engine;
  std::string file;
  std::string name;
  std::string registry;
  std::string wait = "2m";
  std::string output = "table";
  std::optional<int64_t> min;
  std::optional<int64_t> max;
  bool updates = true;
  bool replaces = false;
  bool is_verbose = false;
};

struct FnScaleOptions {
  GatewayOptions gateway;
  std::string name;
  int64_t replicas = 0;
  std::string output = "table";
};

struct FnDeleteOptions {
  GatewayOptions gateway;
  std::string file;
  std::string name;
  std::string output = "table";
};

// By function: an image that was built on this host may be older than its sources.
std::map<std::string, std::string> ImageNotes(const FnDeployOptions& options,
                                              const std::vector<functions::Function>& chosen) {
  std::map<std::string, std::string> notes;
  for (const functions::Function& function : chosen) {
    const bool has_sources = options.file != "-" && !function.handler.dir.empty();
    notes[function.name] =
        has_sources ? OutdatedImageNote(function, options.file, options.engine) : "";
  }
  return notes;
}

StatusOr<std::vector<functions::Function>> FunctionsToDeploy(
    const FnDeployOptions& options, std::string& gateway,
    std::map<std::string, std::string>& notes) {
  ASSIGN_OR_RETURN(const functions::FunctionsFile file, ReadFunctionsFile(options.file));
  gateway = file.gateway;
  std::vector<functions::Function> chosen = file.functions;
  if (!options.name.empty()) {
    ASSIGN_OR_RETURN(functions::Function one, functions::SelectFunction(file, options.name));
    chosen = {std::move(one)};
  }
  notes = ImageNotes(options, chosen);
  for (functions::Function& function : chosen) {
    functions::Scaling& scaling = function.scaling;
    scaling.min_replicas = options.min.value_or(scaling.min_replicas);
    // A higher minimum alone means that many.
    scaling.max_replicas = options.max.value_or(
        options.min ? std::max(scaling.max_replicas, *options.min) : scaling.max_replicas);
    // The service does not know `docker_registry`.
    function.image = functions::ImageNameOf(function);
    RETURN_IF_ERROR(functions::CheckFunction(function));
  }
  return chosen;
}

// Only a function that does not exist yet is created: any other error is the user's to see.
StatusOr<http::Response> SendDeployment(const GatewayTarget& target,
                                        const functions::Function& function,
                                        const FnDeployOptions& options) {
  http::Request request{.method = "PUT", .target = "/system/functions"};
  request.headers.Add("Content-Type", "application/json");
  request.body = doc::PrintLine(functions::ToWire(function));
  if (options.replaces) {
    request.target += "?replace=true";
  }
  if (options.updates || options.replaces) {
    ASSIGN_OR_RETURN(http::Response response, AskGateway(target, request, kDeployLimit));
    if (response.code != 404) {
      return response;
    }
  }
  request.method = "POST";
  request.target = "/system/functions";
  return AskGateway(target, request, kDeployLimit);
}

// Of the service, which accepted the function.
std::vector<std::string> NotesIn(const http::Response& response) {
  const StatusOr<boost::json::value> body =
      doc::Parse(response.body, doc::Format::kJson, "the answer");
  const boost::json::value* notes =
      body.ok() && body->is_object() ? body->get_object().if_contains("Notes") : nullptr;
  return doc::TextsOf(notes);
}

std::string TextIn(const boost::json::value& value, const char* key) {
  const boost::json::value* found =
      value.is_object() ? value.get_object().if_contains(key) : nullptr;
  return found != nullptr && found->is_string() ? std::string(found->get_string().c_str()) : "";
}

// Until a replica takes calls, if the function keeps any.
Status AwaitReplica(const GatewayTarget& target, const functions::Function& function,
                    milliseconds limit) {
  if (function.scaling.min_replicas == 0 || limit == milliseconds(0)) {
    return OkStatus();
  }
  constexpr milliseconds kPause{200};
  const Progress progress(fmt::format("waiting for a replica of {}", function.name));
  const auto until = std::chrono::steady_clock::now() + limit;
  std::string problem;
  while (std::chrono::steady_clock::now() < until) {
    ASSIGN_OR_RETURN(const boost::json::value view,
                     AskGatewayForJson(target, {.target = "/system/function/" + function.name}));
    if (TextIn(view, "AvailableReplicas") != "0") {
      return OkStatus();
    }
    const boost::json::value* kgpu = view.get_object().if_contains("Kgpu");
    problem = kgpu == nullptr ? "" : TextIn(*kgpu, "problem");
    if (kgpu != nullptr && TextIn(*kgpu, "state") == "failing") {
      return Unavailable("function {}: is deployed, but no replica starts: {}", function.name,
                         problem);
    }
    std::this_thread::sleep_for(kPause);
  }
  return Unavailable("function {}: is deployed, but no replica is ready yet{}{}", function.name,
                     problem.empty() ? "" : ": ", problem);
}

// `image_note`: about its image; may be empty.
Status DeployOne(const GatewayTarget& target, const functions::Function& function,
                 const FnDeployOptions& options, const std::string& image_note,
                 FnResults& results) {
  ASSIGN_OR_RETURN(const milliseconds wait, ParseDuration("--wait", options.wait));
  if (options.is_verbose) {
    PrintNote(doc::Print(functions::ToWire(function), doc::Format::kYaml));
  }
  std::vector<std::string> notes;
  {
    const Progress progress(fmt::format("deploying {}", function.name));
    ASSIGN_OR_RETURN(const http::Response response, SendDeployment(target, function, options));
    if (response.code != 200) {
      return GatewayRefusal(response);
    }
    notes = NotesIn(response);
  }
  if (!image_note.empty()) {
    notes.push_back(image_note);
  }
  PrintNotes(notes, function.name + ": ");
  RETURN_IF_ERROR(AwaitReplica(target, function, wait));
  return results.Add(fmt::format("deployed {}", function.name),
                     {{"name", function.name},
                      {"image", function.image},
                      {"minReplicas", function.scaling.min_replicas},
                      {"maxReplicas", function.scaling.max_replicas},
                      {"notes", doc::Texts(notes)}});
}

StatusOr<ExitCode> RunFnDeploy(const FnDeployOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  RETURN_IF_ERROR(ParseDuration("--wait", options.wait).status());
  std::string gateway;
  std::map<std::string, std::string> notes;
  ASSIGN_OR_RETURN(const std::vector<functions::Function> chosen,
                   FunctionsToDeploy(options, gateway, notes));
  ASSIGN_OR_RETURN(const GatewayTarget target, FindGateway(options.gateway, gateway));
  FnResults results(format);
  Status status;
  for (const functions::Function& function : chosen) {
    status = DeployOne(target, function, options, notes[function.name], results);
    if (!status.ok()) {
      break;
    }
  }
  return std::move(results).Finish(status);
}

StatusOr<ExitCode> RunFnScale(const FnScaleOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  ASSIGN_OR_RETURN(const GatewayTarget target, FindGateway(options.gateway));
  const boost::json::object body{{"ServiceName", options.name},
                                 {"Replicas", std::to_string(options.replicas)}};
  http::Request request{.method = "PUT", .target = "/system/scale-function"};
  request.headers.Add("Content-Type", "application/json");
  request.body = doc::PrintLine(body);
  RETURN_IF_ERROR(AskGatewayForJson(target, request).status());
  return OkOr(
      PrintAs(format, fmt::format("scaled {} to {}\n", options.name, options.replicas),
              boost::json::object{{"name", options.name}, {"minReplicas", options.replicas}}));
}

Status DeleteOne(const GatewayTarget& target, const std::string& name, FnResults& results) {
  const Progress progress(fmt::format("deleting {}", name));
  RETURN_IF_ERROR(AskGatewayForJson(target,
                                    {.method = "DELETE", .target = "/system/function/" + name},
                                    kDeleteLimit)
                      .status());
  return results.Add(fmt::format("deleted {}", name), {{"name", name}});
}

StatusOr<ExitCode> RunFnDelete(const FnDeleteOptions& options) {
  ASSIGN_OR_RETURN(const OutputFormat format, ParseOutputFormat(options.output));
  std::vector<std::string> names;
  std::string gateway;
  if (!options.file.empty()) {
    ASSIGN_OR_RETURN(const functions::FunctionsFile file, ReadFunctionsFile(options.file));
    gateway = file.gateway;
    for (const functions::Function& function : file.functions) {
      if (options.name.empty() || options.name == function.name) {
        names.push_back(function.name);
      }
    }
  } else if (!options.name.empty()) {
    names = {options.name};
  }
  if (names.empty()) {
    return InvalidArgument("nothing to delete: give NAME, or -f FILE with functions");
  }
  ASSIGN_OR_RETURN(const GatewayTarget target, FindGateway(options.gateway, gateway));
  FnResults results(format);
  Status status;
  for (const std::string& name : names) {
    status = DeleteOne(target, name, results);
    if (!status.ok()) {
      break;
    }
  }
  return std::move(results).Finish(status);
}

}  // namespace

void AddFnDeployCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<FnDeployOptions>(
      group, "deploy", "Deploy the functions of a config.yaml", &RunFnDeploy);
  command.footer(
      "Updates functions that are deployed and creates the others. Calls wait while replicas are\n"
      "replaced; none fails. A function that can never run here (for example, because no such GPU\n"
      "exists) is refused with the reason. Images must have been built, or be in a registry.\n"
      "\n"
      "  kgpu fn deploy -f hello/config.yaml\n"
      "  kgpu fn deploy -f hello/config.yaml hello --min 0 --max 4\n"
      "  kgpu fn deploy -f hello/config.yaml --replace\n"
      "  kgpu fn deploy -f hello/config.yaml --output json | jq -r '.functions[].name'");
  command.add_option("NAME", options.name, "Only this function of the file");
  AddFunctionsFileOption(command, options.file, "File with the functions")->required();
  CLI::Option* replace = command.add_flag("--replace", options.replaces,
                                          "Replace replicas that have not changed, too");
  command
      .add_flag("--update,!--no-update", options.updates,
                "Update functions that are deployed (default); --no-update refuses them")
      ->excludes(replace);
  command.add_option("--min", options.min, "Replicas that always run, instead of the file's")
      ->type_name("N");
  command.add_option("--max", options.max, "Replicas at most, instead of the file's")
      ->type_name("N");
  AddValue(command, "--wait", options.wait, "TIME",
           "How long to wait for the first replica; 0: not at all");
  AddValue(command, "--registry", options.registry, "REGISTRY",
           "Ignored; accepted for compatibility with OpenFx");
  command.add_flag("-v,--deployverbose", options.is_verbose, "Print what is sent");
  AddOutputOption(command, options.output);
  AddEngineOptions(command, options.engine);
  AddGatewayOptions(command, options.gateway);
}

void AddFnScaleCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<FnScaleOptions>(
      group, "scale", "Set how many replicas of a function always run", &RunFnScale);
  command.footer(
      "Up to the function's maximum. Idle replicas over the number end now; with 0, the next call\n"
      "starts one. Holds until the next deployment.\n"
      "\n"
      "  kgpu fn scale hello 2\n"
      "  kgpu fn scale hello 0");
  command.add_option("NAME", options.name, "Function")->required();
  command.add_option("REPLICAS", options.replicas, "Number of replicas")->required();
  AddOutputOption(command, options.output);
  AddGatewayOptions(command, options.gateway);
}

void AddFnDeleteCommand(CommandRegistrar& registrar, CLI::App& group) {
  auto [command, options] = registrar.Add<FnDeleteOptions>(
      group, "delete", "Delete functions, their replicas and logs", &RunFnDelete);
  command.alias("remove");
  command.alias("rm");
  command.footer(
      "Calls in flight are finished first; returns when containers are gone and GPUs are free.\n"
      "\n"
      "  kgpu fn delete hello\n"
      "  kgpu fn delete -f hello/config.yaml");
  command.add_option("NAME", options.name, "Function");
  AddFunctionsFileOption(command, options.file, "Delete every function of this file");
  AddOutputOption(command, options.output);
  AddGatewayOptions(command, options.gateway);
}

}  // namespace kgpu::cli
