#include <CLI/CLI.hpp>

#include <memory>

#include "src/platform/base/status_macros.h"
#include "testing/kubelet/ask.h"
#include "testing/kubelet/cli.h"

namespace kgpu::kubelet {
namespace {

namespace json = boost::json;

constexpr const char* kInjectFooter =
    "Points and their faults:\n"
    "  register      a plugin's Register: error, hang, delay, skip (answered, but ignored)\n"
    "  watcher       plugins_registry: skip (not scanned)\n"
    "  getinfo       a watched plugin's answer to GetInfo: error (it gets lost)\n"
    "  notify        a watched plugin's answer to NotifyRegistrationStatus: error (it gets lost)\n"
    "  podresources  the pod resources API: error, hang, delay, skip (an empty answer)\n"
    "\n"
    "  kgpu sim kubelet inject fault /tmp/kubelet register error --text \"not today\" --times 3\n"
    "  kgpu sim kubelet inject drop-stream /tmp/kubelet --resource nvidia.com/gpu";

struct FaultFlags {
  std::string point;
  std::string kind;
  std::string text = "injected";
  double delay = 1;
  uint32_t times = 0;
};

void AddFault(CLI::App& inject, simhost::CliContext& context) {
  auto flags = std::make_shared<FaultFlags>();
  CLI::App* verb =
      AddFolderVerb(inject, context, "fault", "Make calls at a point fail",
                    [flags, &context](const std::string& folder) -> Status {
                      RETURN_IF_ERROR(Ask(folder, {{"command", "inject"},
                                                   {"point", flags->point},
                                                   {"kind", flags->kind},
                                                   {"text", flags->text},
                                                   {"delay", flags->delay},
                                                   {"times", flags->times}})
                                          .status());
                      context.print(fmt::format("{}: {} {}", folder, flags->point, flags->kind));
                      return OkStatus();
                    });
  verb->add_option("POINT", flags->point, "register, watcher, podresources")
      ->required()
      ->check(CLI::IsMember({"register", "watcher", "podresources"}));
  verb->add_option("KIND", flags->kind, "error, hang, delay, skip")
      ->required()
      ->check(CLI::IsMember({"error", "hang", "delay", "skip"}));
  verb->add_option("--text", flags->text, "Error text")->capture_default_str();
  verb->add_option("--delay", flags->delay, "Seconds")->capture_default_str();
  verb->add_option("--times", flags->times, "Number of times; 0: until clear")
      ->capture_default_str();
}

// A verb that sends a command without arguments, or with a resource.
void AddCommand(CLI::App& inject, simhost::CliContext& context, const char* name,
                const char* description, const char* reported, bool has_resource) {
  auto resource = std::make_shared<std::string>();
  CLI::App* verb = AddFolderVerb(
      inject, context, name, description,
      [resource, name, reported, &context](const std::string& folder) -> Status {
        RETURN_IF_ERROR(Ask(folder, {{"command", name}, {"resource", *resource}}).status());
        context.print(fmt::format("{}: {}", folder, reported));
        return OkStatus();
      });
  if (has_resource) {
    verb->add_option("--resource", *resource, "Only this resource's plugin");
  }
}

}  // namespace

void AddInjectVerbs(CLI::App& kubelet, simhost::CliContext& context) {
  CLI::App* inject = kubelet.add_subcommand("inject", "Inject faults");
  inject->footer(kInjectFooter);
  inject->require_subcommand(0, 1);
  AddFault(*inject, context);
  AddCommand(*inject, context, "clear", "Remove all injected faults", "faults cleared", false);
  AddCommand(*inject, context, "drop-stream", "End the plugins' ListAndWatch streams",
             "streams ended", true);
  AddCommand(*inject, context, "cut", "Cut the connections without notice; the sockets stay",
             "connections cut", true);
  AddCommand(*inject, context, "stop-kubelet", "Stop the kubelet; containers and sockets stay",
             "kubelet stopped", false);
  AddCommand(*inject, context, "start-kubelet", "Start the kubelet again", "kubelet started",
             false);
}

}  // namespace kgpu::kubelet
