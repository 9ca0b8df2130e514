#include "src/cli/program/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <utility>

#include "src/cli/base/commands.h"
#include "src/cli/base/options.h"
#include "src/cli/base/version.h"
#include "src/platform/commands/command_tree.h"

namespace kgpu::cli {

void CommandRegistrar::OnRun(CLI::App& command, Action action) {
  command.callback([this, &command, action = std::move(action)] {
    // A command that has commands below it is called after the one that was given.
    if (command.get_subcommands().empty()) {
      chosen_ = action;
    }
  });
}

CLI::App& CommandRegistrar::AddBelow(CLI::App& parent, const char* name, const char* help) {
  return *parent.add_subcommand(name, help);
}

CLI::App& CommandRegistrar::AddGroup(const char* name, const char* help) {
  CLI::App& group = AddBelow(app_, name, help);
  // Words after a command are its own, also where another command has such a name.
  group.require_subcommand(0, 1);
  return group;
}

namespace {

void Describe(CLI::App& app) {
  app.set_version_flag("--version", VersionText(), "Print the version and exit");
  app.require_subcommand(0, 1);
  app.footer(
      "Exit codes: 0 ok, 1 failed, 2 usage error, 3 not found, 4 try again, 5 no permission,\n"
      "6 the host needs a change first (see the message), 7 a check failed,\n"
      "8 waiting for a reboot or for your action, 9 ok with warnings.\n"
      "\n"
      "  kgpu devices                       list the GPUs and their health\n"
      "  kgpu agent                         serve them to the pods of this node\n"
      "  kgpu status                        show what the agent does\n"
      "  kgpu top                           watch GPUs and who uses them\n"
      "  kgpu health                        show GPU faults and how to fix them\n"
      "  kgpu doctor                        find what is wrong with this host\n"
      "  kgpu driver plan                   show the driver that suits this host\n"
      "  kgpu validate                      run a CUDA test on the GPUs\n"
      "  kgpu mig list                      show the MIG layout of the GPUs\n"
      "  kgpu explain pod NS/NAME           explain why a pod has no GPU\n"
      "  kgpu cluster install               install kgpu on a Kubernetes cluster\n"
      "  kgpu run jupyter                   start Jupyter on a GPU of a cluster\n"
      "  kgpu cdi generate                  give containers access to GPUs\n"
      "  podman run --device kgpu.dev/gpu=0 IMAGE …\n"
      "  kgpu runtime configure --dry-run   show the changes to docker, containerd, CRI-O\n"
      "  kgpu sim create DIR --profile 8xA100-SXM4-80GB     simulate a host with GPUs\n"
      "  kgpu help driver install           explain one command");
}

// Titles of --help, in its order.
constexpr char kHost[] = "This host";
constexpr char kCluster[] = "Cluster";
constexpr char kFunctions[] = "Functions";
constexpr char kDaemon[] = "Daemon of a node";
constexpr char kTools[] = "Tools";
constexpr char kHidden[] = "";  // a former name: a release longer

struct Group {
  std::string_view name;
  const char* title;
  void (*add)(CommandRegistrar& registrar);
  bool needs_all = false;  // it is about the other commands
};

// In the order of --help.
constexpr std::array<Group, 29> kGroups = {{
    {"devices", kHost, AddDevicesCommand},
    {"status", kHost, AddStatusCommand},
    {"top", kHost, AddTopCommand},
    {"health", kHost, AddHealthCommands},
    {"doctor", kHost, AddDoctorCommand},
    {"collect", kHost, AddCollectCommand},
    {"validate", kHost, AddValidateCommand},
    {"usage", kHost, AddUsageCommand},
    {"node", kHost, AddNodeCommands},
    {"driver", kHost, AddDriverCommands},
    {"runtime", kHost, AddRuntimeCommands},
    {"cdi", kHost, AddCdiCommands},
    {"mig", kHost, AddMigCommands},
    {"config", kHost, AddConfigCommands},
    {"labels", kHost, AddLabelsCommand},
    {"metrics", kHost, AddMetricsCommand},
    {"explain", kCluster, AddExplainCommands},
    {"run", kCluster, AddRunCommands},
    {"cluster", kCluster, AddClusterCommands},
    {"fn", kFunctions, AddFnCommands},
    {"agent", kDaemon, AddAgentCommand},
    {"completion", kTools, AddCompletionCommand},
    {"help", kTools, AddHelpCommand},
    {"man", kTools, AddManCommand, true},
    {"version", kTools, AddVersionCommand},
    {"sim", kTools, AddSimCommand},
    {"controller", kHidden,
     [](CommandRegistrar& registrar) { AddControllerCommand(registrar, registrar.app()); }},
    {"gateway", kHidden,
     [](CommandRegistrar& registrar) { AddGatewayCommand(registrar, registrar.app()); }},
    {"require", kHidden,
     [](CommandRegistrar& registrar) { AddRequireCommand(registrar, registrar.app()); }},
}};

void Add(CommandRegistrar& registrar, const Group& group) {
  group.add(registrar);
  registrar.app().get_subcommand(std::string(group.name))->group(group.title);
}

void AddGroups(CommandRegistrar& registrar, std::string_view only) {
  const auto* const found =
      std::ranges::find_if(kGroups, [only](const Group& group) { return group.name == only; });
  if (found != kGroups.end() && !found->needs_all) {
    Add(registrar, *found);
    return;
  }
  for (const Group& group : kGroups) {
    Add(registrar, group);
  }
}

// Every command accepts it, before or after its name.
void AddColorOption(CLI::App& app, std::string& color) {
  if (app.get_prefix_command()) {
    return;
  }
  AddValue(app, "--color", color, "auto|always|never",
           "Whether to print colors; auto: on terminals, unless NO_COLOR is set");
  for (CLI::App* child : app.get_subcommands(nullptr)) {
    AddColorOption(*child, color);
  }
}

}  // namespace

Program::Program(std::string_view only)
    : app_(std::make_unique<CLI::App>(
          "kgpu: turn a Linux host with NVIDIA GPUs into a Kubernetes GPU node", "kgpu")),
      registrar_(*app_) {
  Describe(*app_);
  AddGroups(registrar_, only);
  AddColorOption(*app_, color_);
}

Program::~Program() = default;

void Program::Parse(std::vector<std::string> words) {
  std::ranges::reverse(words);  // CLI11 takes them from the back
  app_->parse(std::move(words));
}

commands::Command Program::Tree() const {
  return commands::TreeOf(*app_, registrar_.offers());
}

}  // namespace kgpu::cli
