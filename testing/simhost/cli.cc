#include "testing/simhost/cli.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "src/platform/base/status_macros.h"
#include "testing/driver/control.h"
#include "testing/simhost/host_lock.h"

namespace kgpu::simhost {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUse = 2;

constexpr const char* kFooter =
    "DIR is the folder of a simulated host. GPU is an index, a UUID or a PCI address.\n"
    "Example:\n"
    "  kgpu-sim create /tmp/host --profile 8xA100-SXM4-80GB\n"
    "  kgpu devices $(kgpu-sim env /tmp/host)\n"
    "  kgpu-sim xid /tmp/host 3 79\n"
    "  kgpu-sim delete /tmp/host\n"
    "Exit codes: 0 done, 1 it could not be done, 2 wrong use.";

int Report(const Status& status) {
  if (status.ok()) {
    return kDone;
  }
  fmt::print(stderr, "kgpu-sim: {}\n", Message(status));
  return status.code() == StatusCode::kInvalidArgument ? kWrongUse : kFailed;
}

}  // namespace

StatusOr<std::string> RunCommands(const std::string& folder,
                                  const std::vector<std::string>& commands) {
  StatusOr<sim::ControlClient> client = sim::ControlClient::Connect(folder);
  if (!client.ok()) {
    if (!LockHolder(folder)) {
      return Unavailable("{}: no state server runs there; run: kgpu-sim start {}", folder, folder);
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
  CLI::App app{"Simulated GPU hosts: a driver and its files in a folder, with faults on demand",
               "kgpu-sim"};
  app.footer(kFooter);
  app.require_subcommand(1);
  AddHostVerbs(app, context);
  AddStatusVerb(app, context);
  AddDriverVerbs(app, context);
  AddFaultVerbs(app, context);
  for (const AddVerbs add : more) {
    add(app, context);
  }
  try {
    // CLI11 takes the words from the back.
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongUse;
  }
  return context.action ? Report(context.action()) : kWrongUse;
}

}  // namespace kgpu::simhost
