#include "src/cli/main.h"

#include <CLI/CLI.hpp>
#include <array>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/agent.h"
#include "src/cli/cdi.h"
#include "src/cli/completion.h"
#include "src/cli/config.h"
#include "src/cli/devices.h"
#include "src/cli/doctor.h"
#include "src/cli/driver.h"
#include "src/cli/explain.h"
#include "src/cli/health.h"
#include "src/cli/labels.h"
#include "src/cli/metrics.h"
#include "src/cli/node.h"
#include "src/cli/output.h"
#include "src/cli/require.h"
#include "src/cli/runtime.h"
#include "src/cli/sim.h"
#include "src/cli/status.h"
#include "src/cli/usage.h"
#include "src/cli/validate.h"
#include "src/cli/verb.h"
#include "src/cli/version.h"
#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"

namespace kgpu::cli {

void VerbRegistrar::OnRun(CLI::App& verb, Action action) {
  verb.callback([this, &verb, action = std::move(action)] {
    // A verb that has verbs below it is called after the one that was given.
    if (verb.get_subcommands().empty()) {
      chosen_ = action;
    }
  });
}

namespace {

Verb TreeOf(const CLI::App& app, const VerbRegistrar& verbs) {
  Verb verb{.name = app.get_name(), .description = app.get_description(), .flags = {}, .verbs = {}};
  if (const auto found = verbs.words().find(&app); found != verbs.words().end()) {
    verb.values = found->second;
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      verb.flags.push_back("--" + name);
    }
  }
  for (const CLI::App* child : app.get_subcommands(nullptr)) {
    verb.verbs.push_back(TreeOf(*child, verbs));
  }
  return verb;
}

void AddCompletionVerb(VerbRegistrar& verbs) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb = verbs.app().add_subcommand(
      "completion", "Print a completion script: source <(kgpu completion bash)");
  verb->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  const CLI::App& app = verbs.app();
  verbs.OnRun(*verb, [&app, &verbs, shell]() -> StatusOr<ExitCode> {
    auto script = CompletionScript(TreeOf(app, verbs), *shell);
    if (!script.ok()) {
      return script.status();
    }
    if (Status status = PrintOut(*script); !status.ok()) {
      return status;
    }
    return ExitCode::kOk;
  });
}

int Report(const StatusOr<ExitCode>& result) {
  if (result.ok()) {
    return static_cast<int>(*result);
  }
  PrintNote(fmt::format("kgpu: {}", Message(result.status())));
  return static_cast<int>(ExitCodeOf(result.status()));
}

void Describe(CLI::App& app) {
  app.set_version_flag("--version", VersionText());
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 try again, 5 no permission,\n"
      "6 change the host first (the text says how), 7 done and the answer is bad news,\n"
      "8 begun, waits for a restart or a person, 9 done with a warning.\n\n"
      "  kgpu devices                       what GPUs are there, and are they well?\n"
      "  kgpu agent                         hand them to the pods of this node\n"
      "  kgpu status                        what does the agent do, and why not more?\n"
      "  kgpu health                        is a GPU sick, why, and what mends it?\n"
      "  kgpu doctor                        what is wrong with this host, and what mends it?\n"
      "  kgpu driver plan                   which driver suits it, and every step to it\n"
      "  kgpu validate                      do the GPUs compute, and rightly?\n"
      "  kgpu explain pod NS/NAME           why has a pod no GPU?\n"
      "  kgpu cdi generate                  make them available to containers\n"
      "  podman run --device kgpu.dev/gpu=0 IMAGE …\n"
      "  kgpu runtime configure --dry-run   let docker, containerd, CRI-O hand them out: a diff\n"
      "  kgpu sim create DIR --profile 8xA100-SXM4-80GB     no GPU? simulate a host");
}

struct Group {
  std::string_view name;
  void (*add)(VerbRegistrar& verbs);
};

// In the order of --help.
constexpr std::array<Group, 19> kGroups = {{
    {"agent", AddAgentVerb},      {"status", AddStatusVerb},    {"usage", AddUsageVerb},
    {"devices", AddDevicesVerb},  {"health", AddHealthVerbs},   {"doctor", AddDoctorVerb},
    {"driver", AddDriverVerbs},   {"explain", AddExplainVerbs}, {"labels", AddLabelsVerb},
    {"metrics", AddMetricsVerb},  {"node", AddNodeVerbs},       {"cdi", AddCdiVerbs},
    {"config", AddConfigVerbs},   {"require", AddRequireVerb},  {"validate", AddValidateVerb},
    {"runtime", AddRuntimeVerbs}, {"sim", AddSimVerb},          {"completion", AddCompletionVerb},
    {"version", AddVersionVerb},
}};

// All flags of all verbs take a millisecond to make, longer than some verbs work: where the first
// word is a verb, the others are left out. Completion and help show them all.
void AddVerbs(VerbRegistrar& verbs, std::string_view first) {
  for (const Group& group : kGroups) {
    if (group.name == first && first != "completion") {
      group.add(verbs);
      return;
    }
  }
  for (const Group& group : kGroups) {
    group.add(verbs);
  }
}

// A word that stands where a verb should, for people; empty: there is none. CLI11 tells only that
// a verb is wanted.
std::string UnknownVerb(const CLI::App& app) {
  const CLI::App* verb = &app;
  std::string words = app.get_name();
  while (!verb->get_subcommands().empty()) {
    verb = verb->get_subcommands().front();
    words += fmt::format(" {}", verb->get_name());
  }
  const std::vector<std::string> left = app.remaining(true);
  if (left.empty() || left.front().starts_with('-')) {
    return "";
  }
  std::vector<std::string> names;
  for (const CLI::App* child : verb->get_subcommands(nullptr)) {
    names.push_back(child->get_name());
  }
  return fmt::format("kgpu: \"{}\" is no verb of {}: {}", Printable(left.front(), 40), words,
                     Join(names, ", "));
}

int Run(int argc, char** argv) {
  CLI::App app("kgpu: GPUs of this host for containers", "kgpu");
  Describe(app);
  VerbRegistrar verbs(app);
  AddVerbs(verbs, argc > 1 ? argv[1] : "");
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& e) {
    const std::string text = UnknownVerb(app);
    if (text.empty()) {
      (void)app.exit(e);
    } else {
      PrintNote(text);
    }
    return static_cast<int>(ExitCode::kUsage);
  } catch (const CLI::ParseError& e) {
    // CLI11 prints help and errors itself; its many codes become our one.
    return app.exit(e) == 0 ? static_cast<int>(ExitCode::kOk) : static_cast<int>(ExitCode::kUsage);
  }
  return Report(verbs.chosen() ? verbs.chosen()() : StatusOr<ExitCode>(ExitCode::kUsage));
}

}  // namespace

int Main(int argc, char** argv) {
  // A verb prints its result; what changed on the way is a daemon's news.
  SetLogLevel(LogLevel::kWarning);
  try {
    return Run(argc, argv);
  } catch (const std::exception& e) {
    PrintNote(fmt::format("kgpu: internal: {}", e.what()));
  } catch (...) {
    PrintNote("kgpu: internal: an exception of unknown type");
  }
  return static_cast<int>(ExitCode::kFailed);
}

}  // namespace kgpu::cli
