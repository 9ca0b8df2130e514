#include <CLI/CLI.hpp>

#include <memory>
#include <optional>

#include "src/platform/base/status_macros.h"
#include "testing/kubelet/ask.h"
#include "testing/kubelet/cli.h"
#include "testing/kubelet/view.h"
#include "testing/simhost/cli_style.h"

namespace kgpu::kubelet {
namespace {

namespace json = boost::json;

using View = StatusOr<std::string> (*)(const json::value&);

// A verb that prints the answer to one command.
void AddLook(CLI::App& kubelet, simhost::CliContext& context, const char* name,
             const char* description, View view) {
  auto output = std::make_shared<std::string>("table");
  CLI::App* verb = AddFolderVerb(
      kubelet, context, name, description,
      [output, name, view, &context](const std::string& folder) -> Status {
        ASSIGN_OR_RETURN(const json::value answer, Ask(folder, {{"command", name}}));
        ASSIGN_OR_RETURN(const std::string text,
                         simhost::InFormat(*output, answer, [&] { return view(answer); }));
        context.print(text);
        return OkStatus();
      });
  simhost::AddOutputOption(*verb, *output);
}

struct WaitFlags {
  std::string resource;
  std::optional<int64_t> allocatable;
  std::optional<int64_t> capacity;
  std::string pod;
  std::string phase;
  double timeout = 30;
};

Status Wait(const WaitFlags& flags, const std::string& folder) {
  json::object request = {{"command", "wait"}, {"timeout", flags.timeout}};
  if (!flags.pod.empty()) {
    request["pod"] = flags.pod;
    request["phase"] = flags.phase.empty() ? "Running" : flags.phase;
  } else if (!flags.resource.empty() && (flags.allocatable || flags.capacity)) {
    request["resource"] = flags.resource;
    request["allocatable"] = flags.allocatable ? json::value(*flags.allocatable) : json::value();
    request["capacity"] = flags.capacity ? json::value(*flags.capacity) : json::value();
  } else {
    return InvalidArgument(
        "wait: set --resource R --allocatable N, or --pod POD --phase Succeeded");
  }
  const auto limit = std::chrono::milliseconds(static_cast<int64_t>((flags.timeout + 20) * 1000));
  return Ask(folder, request, limit).status();
}

void AddWait(CLI::App& kubelet, simhost::CliContext& context) {
  auto flags = std::make_shared<WaitFlags>();
  CLI::App* verb = AddFolderVerb(
      kubelet, context, "wait", "Wait until the node offers devices, or a pod reaches a phase",
      [flags](const std::string& folder) { return Wait(*flags, folder); });
  verb->add_option("--resource", flags->resource, "Resource, e.g. nvidia.com/gpu");
  verb->add_option("--allocatable", flags->allocatable, "Number of healthy devices");
  verb->add_option("--capacity", flags->capacity, "Number of devices");
  verb->add_option("--pod", flags->pod, "Pod name");
  verb->add_option("--phase", flags->phase, "Pending, Running, Succeeded, Failed");
  verb->add_option("--timeout", flags->timeout, "Timeout in seconds")->capture_default_str();
}

}  // namespace

void AddLookVerbs(CLI::App& kubelet, simhost::CliContext& context) {
  AddLook(kubelet, context, "status", "Show the node's resources, plugins, pods and their devices",
          StatusText);
  AddLook(kubelet, context, "calls", "Show the calls between kubelet and plugins, in order",
          CallsText);
  AddWait(kubelet, context);
}

}  // namespace kgpu::kubelet
