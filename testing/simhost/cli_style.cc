#include "testing/simhost/cli_style.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <boost/json/value.hpp>
#include <memory>
#include <string_view>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/commands/fold.h"
#include "src/platform/doc/doc.h"

namespace kgpu::simhost {
namespace {

constexpr char kHosts[] = "Hosts";
constexpr char kDriver[] = "Driver and GPUs";
constexpr char kFaults[] = "Faults and load";
constexpr char kCluster[] = "Node and cluster";
constexpr char kNone[] = "Commands";

struct Example {
  const char* group;
  std::string_view words;  // of the command
  const char* text;        // empty: the command has a footer of its own
};

constexpr std::array kExamples = std::to_array<Example>({
    {kHosts, "create",
     "  kgpu sim create /tmp/host --profile 8xA100-SXM4-80GB\n  kgpu sim create /tmp/host "
     "--profile 4xT4 --distro ubuntu --with gds,imex=4"},
    {kHosts, "serve", "  kgpu sim serve /tmp/host"},
    {kHosts, "start", "  kgpu sim start /tmp/host"},
    {kHosts, "stop", "  kgpu sim stop /tmp/host"},
    {kHosts, "delete", "  kgpu sim delete /tmp/host"},
    {kHosts, "env", "  kgpu sim env /tmp/host\n  kgpu devices $(kgpu sim env /tmp/host)"},
    {kHosts, "profiles", "  kgpu sim profiles"},
    {kHosts, "status",
     "  kgpu sim status /tmp/host\n  kgpu sim status /tmp/host --output json | jq "
     "'.gpus[].faults'"},
    {kDriver, "unload", "  kgpu sim unload /tmp/host"},
    {kDriver, "load",
     "  kgpu sim load /tmp/host\n  kgpu sim load /tmp/host --driver 550.54.15 --module-only"},
    {kDriver, "nouveau",
     "  kgpu sim nouveau /tmp/host\n  kgpu sim load /tmp/host            NVIDIA's driver again"},
    {kDriver, "add", "  kgpu sim add /tmp/host --model L40S"},
    {kDriver, "remove", "  kgpu sim remove /tmp/host 3"},
    {kDriver, "with", "  kgpu sim with /tmp/host gds,mofed=2\n  kgpu sim with /tmp/host none"},
    {kDriver, "mig",
     "  kgpu sim mig /tmp/host 0 --enable --create 3g.40gb,3g.40gb\n  kgpu sim mig /tmp/host 0 "
     "--destroy all --disable"},
    {kFaults, "xid",
     "  kgpu sim xid /tmp/host 3 79\n  kgpu sim xid /tmp/host 3 48 --times 10 --only kernel-log"},
    {kFaults, "ecc", "  kgpu sim ecc /tmp/host 2 --double 1"},
    {kFaults, "lose", "  kgpu sim lose /tmp/host 3"},
    {kFaults, "heal", "  kgpu sim heal /tmp/host 3\n  kgpu sim heal /tmp/host"},
    {kFaults, "hang", "  kgpu sim hang /tmp/host 4 --call nvmlDeviceGetTemperature"},
    {kFaults, "slow", "  kgpu sim slow /tmp/host 500 --gpu 2"},
    {kFaults, "refuse", "  kgpu sim refuse /tmp/host 15 --gpu 2"},
    {kFaults, "process",
     "  kgpu sim process /tmp/host 1 --pid 4242 --memory 20Gi --sm 40\n  kgpu sim process "
     "/tmp/host 1 --pid 4242 --end"},
    {kFaults, "util", "  kgpu sim util /tmp/host 1 --gpu 90 --memory 40"},
    {kFaults, "temp", "  kgpu sim temp /tmp/host 1 88"},
    {kFaults, "throttle",
     "  kgpu sim throttle /tmp/host 6 hw-thermal\n  kgpu sim throttle /tmp/host 6 off"},
    {kFaults, "nvlink",
     "  kgpu sim nvlink /tmp/host 5 3 --down\n  kgpu sim nvlink /tmp/host 5 3 --errors 100"},
    {kFaults, "set", "  kgpu sim set /tmp/host 0 fan 80"},
    {kCluster, "kubelet", ""},
    {kCluster, "apiserver", ""},
    {kNone, "kubelet serve", "  kgpu sim kubelet serve /tmp/kubelet"},
    {kNone, "kubelet start", "  kgpu sim kubelet start /tmp/kubelet"},
    {kNone, "kubelet stop", "  kgpu sim kubelet stop /tmp/kubelet --pods"},
    {kNone, "kubelet restart", "  kgpu sim kubelet restart /tmp/kubelet --down 5"},
    {kNone, "kubelet pod", "  kgpu sim kubelet pod /tmp/kubelet train --resource nvidia.com/gpu=2"},
    {kNone, "kubelet delete", "  kgpu sim kubelet delete /tmp/kubelet train"},
    {kNone, "kubelet exit", "  kgpu sim kubelet exit /tmp/kubelet train --code 1"},
    {kNone, "kubelet logs", "  kgpu sim kubelet logs /tmp/kubelet train"},
    {kNone, "kubelet status",
     "  kgpu sim kubelet status /tmp/kubelet\n  kgpu sim kubelet status /tmp/kubelet --output "
     "json"},
    {kNone, "kubelet calls", "  kgpu sim kubelet calls /tmp/kubelet"},
    {kNone, "kubelet wait",
     "  kgpu sim kubelet wait /tmp/kubelet --resource nvidia.com/gpu --allocatable 8"},
    {kNone, "kubelet inject fault",
     "  kgpu sim kubelet inject fault /tmp/kubelet register error --text \"not today\" --times 3"},
    {kNone, "kubelet inject clear", "  kgpu sim kubelet inject clear /tmp/kubelet"},
    {kNone, "kubelet inject drop-stream",
     "  kgpu sim kubelet inject drop-stream /tmp/kubelet --resource nvidia.com/gpu"},
    {kNone, "kubelet inject cut", "  kgpu sim kubelet inject cut /tmp/kubelet"},
    {kNone, "kubelet inject stop-kubelet", "  kgpu sim kubelet inject stop-kubelet /tmp/kubelet"},
    {kNone, "kubelet inject start-kubelet", "  kgpu sim kubelet inject start-kubelet /tmp/kubelet"},
});

// "TEXT:{a,b}" as "a|b", "UINT:INT in [1 - 999]" as "N".
std::string Plain(const std::string& type) {
  const size_t open = type.find('{');
  const size_t close = type.find('}', open);
  if (open != std::string::npos && close != std::string::npos) {
    std::string words = type.substr(open + 1, close - open - 1);
    std::ranges::replace(words, ',', '|');
    return words;
  }
  const bool is_number =
      type.starts_with("UINT") || type.starts_with("INT") || type.starts_with("FLOAT");
  return is_number ? "N" : type.substr(0, type.find(':'));
}

class Style final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::string type = option->get_type_name();
    const size_t at = type.empty() ? std::string::npos : text.find(type);
    return at == std::string::npos ? text : text.replace(at, type.size(), Plain(type));
  }
};

// Empty, or what is wrong with the value.
std::string OutputProblem(const std::string& output) {
  return output == "table" || output == "json" || output == "yaml"
             ? ""
             : fmt::format("\"{}\" must be table, json or yaml", Printable(output, 40));
}

}  // namespace

void SetStyle(CLI::App& app) {
  app.formatter(std::make_shared<Style>());
}

void AddExamples(CLI::App& app) {
  for (const Example& example : kExamples) {
    CLI::App* command = &app;
    for (const std::string_view word : Words(example.words)) {
      command = command->get_subcommand(std::string(word));
    }
    command->group(example.group);
    if (*example.text != '\0') {
      command->footer(example.text);
    }
  }
}

std::string HelpOf(const CLI::App& app) {
  struct winsize size = {};
  const bool is_terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  const std::string help(Trim(app.help()));
  return is_terminal ? commands::FoldHelp(help, size.ws_col) : help;
}

void AddOutputOption(CLI::App& verb, std::string& output) {
  verb.add_option("-o,--output", output, "Output format")
      ->type_name("table|json|yaml")
      ->check(&OutputProblem)
      ->capture_default_str()
      ->envname("KGPU_OUTPUT");
}

StatusOr<std::string> InFormat(const std::string& output, const boost::json::value& json,
                               const std::function<StatusOr<std::string>()>& table) {
  if (output == "table") {
    return table();
  }
  std::string text = doc::Print(json, output == "json" ? doc::Format::kJson : doc::Format::kYaml);
  text.pop_back();
  return text;
}

}  // namespace kgpu::simhost
