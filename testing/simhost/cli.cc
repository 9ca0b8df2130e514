#include "testing/simhost/cli.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "src/gpu/device/mig.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/commands/candidates.h"
#include "src/platform/commands/command_tree.h"
#include "src/platform/commands/usage_error.h"
#include "testing/driver/control.h"
#include "testing/simhost/cli_style.h"
#include "testing/simhost/host_folder.h"
#include "testing/simhost/host_lock.h"
#include "testing/simhost/profile.h"

namespace kgpu::simhost {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUse = 2;

constexpr const char* kFooter =
    "DIR is the folder of a simulated host. GPU is an index, a UUID or a PCI address.\n"
    "Exit codes: 0 ok, 1 failed, 2 usage error.\n"
    "\n"
    "  kgpu sim create /tmp/host --profile 8xA100-SXM4-80GB\n"
    "  kgpu devices $(kgpu sim env /tmp/host)\n"
    "  kgpu sim xid /tmp/host 3 79\n"
    "  kgpu sim delete /tmp/host";

int Report(const Status& status) {
  if (status.ok()) {
    return kDone;
  }
  fmt::print(stderr, "kgpu sim: {}\n", Message(status));
  return status.code() == StatusCode::kInvalidArgument ? kWrongUse : kFailed;
}

// The profiles of A100, A30, H100, H200 and B200.
std::set<std::string> MigProfileNames() {
  std::set<std::string> names;
  for (const uint16_t model : {uint16_t{0x20b0}, uint16_t{0x20b2}, uint16_t{0x20b7},
                               uint16_t{0x2330}, uint16_t{0x2335}, uint16_t{0x2901}}) {
    for (const device::MigProfile& profile : device::MigProfiles(model)) {
      names.insert(profile.name);
    }
  }
  return names;
}

std::vector<commands::Candidate> ValuesOfKind(std::string_view kind) {
  std::vector<commands::Candidate> values;
  const auto add = [&values](const std::map<std::string_view, std::string_view>& named) {
    for (const auto& [name, text] : named) {
      values.push_back({.word = std::string(name)});
    }
  };
  if (kind == "PROFILE") {
    add(BuiltinProfiles());
  } else if (kind == "MODEL") {
    add(BuiltinModels());
  } else if (kind == "MIG_PROFILE") {
    for (const std::string& name : MigProfileNames()) {
      values.push_back({.word = name});
    }
  } else if (kind == "GPU") {
    for (int i = 0; i < 8; ++i) {
      values.push_back({.word = fmt::format("{}", i)});
    }
  }
  return values;
}

// Completion for a shell's line: `kgpu sim` passes its words on.
std::string Complete(const CLI::App& app, std::vector<std::string> words) {
  return std::string(Trim(commands::CandidatesText(commands::CandidatesFor(
      commands::TreeOf(app), commands::TypedLineOf(std::move(words)), &ValuesOfKind))));
}

}  // namespace

StatusOr<std::string> RunCommands(const std::string& folder,
                                  const std::vector<std::string>& commands) {
  StatusOr<sim::ControlClient> client = sim::ControlClient::Connect(folder);
  if (!client.ok()) {
    if (!LockHolder(folder)) {
      RETURN_IF_ERROR(HostFolder::Open(folder).status());
      return Unavailable("{}: no state server is running: run kgpu sim start {}", folder, folder);
    }
    return Annotate(client.status(), "{}", folder);
  }
  std::string answer;
  for (const std::string& command : commands) {
    ASSIGN_OR_RETURN(answer, client->Run(command));
  }
  return answer;
}

StatusOr<std::string> AbsoluteFolder(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(folder, error).lexically_normal();
  if (error) {
    return InvalidArgument("{}: {}", folder, error.message());
  }
  // "x/" is the folder "x".
  return (path.has_filename() || path == "/" ? path : path.parent_path()).string();
}

int RunSim(const std::vector<std::string>& arguments, CliContext& context,
           const std::vector<AddVerbs>& more) {
  CLI::App app{"Simulate GPU hosts: a driver and its files in a folder, with faults on demand",
               "kgpu sim"};
  SetStyle(app);
  app.require_subcommand(0, 1);
  AddHostVerbs(app, context);
  AddStatusVerb(app, context);
  AddDriverVerbs(app, context);
  AddFaultVerbs(app, context);
  for (const AddVerbs add : more) {
    add(app, context);
  }
  app.footer(kFooter);
  AddExamples(app);
  if (!arguments.empty() && arguments.front() == "__complete") {
    const std::string offered = Complete(app, {arguments.begin() + 1, arguments.end()});
    if (!offered.empty()) {
      context.print(offered);
    }
    return kDone;
  }
  try {
    // CLI11 takes the words from the back.
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      context.print(HelpOf(app));
      return kDone;
    }
    fmt::print(stderr, "{}\n", commands::UsageError(app, error));
    return kWrongUse;
  }
  if (!context.action) {
    context.print(HelpOf(app));
    return kDone;
  }
  return Report(context.action());
}

}  // namespace kgpu::simhost
