#include <CLI/CLI.hpp>

#include <boost/json/value.hpp>
#include <memory>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/driver/state_file.h"
#include "testing/simhost/cli.h"
#include "testing/simhost/cli_style.h"
#include "testing/simhost/host_folder.h"
#include "testing/simhost/host_lock.h"
#include "testing/simhost/host_status.h"

namespace kgpu::simhost {
namespace {

// One "PID UID" for each client but ourselves.
StatusOr<std::vector<std::string>> Clients(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string answer, RunCommands(folder, {"clients"}));
  std::vector<std::string> clients;
  for (const std::string_view line : Split(answer, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() >= 2 && words[0] != std::to_string(getpid())) {
      clients.push_back(fmt::format("pid {} (uid {})", words[0], words[1]));
    }
  }
  return clients;
}

Status Show(const std::string& folder, const std::string& output, const CliContext& context) {
  ASSIGN_OR_RETURN(const HostFolder host, HostFolder::Open(folder));
  HostStatus status{host.path(), host.settings(), LockHolder(host.path()), {}};
  if (status.server) {
    ASSIGN_OR_RETURN(status.clients, Clients(host.path()));
    // What CUDA processes allocate is in the server's memory only.
    RETURN_IF_ERROR(RunCommands(host.path(), {"save"}).status());
  }
  // Without a server it is what the next one starts from.
  StatusOr<std::unique_ptr<sim::SimState>> state = sim::LoadState(host.path());
  if (state.status().code() == StatusCode::kNotFound) {
    state = host.BootState();
  }
  RETURN_IF_ERROR(state.status());
  ASSIGN_OR_RETURN(const std::string text,
                   InFormat(output, StatusJson(status, **state), [&]() -> StatusOr<std::string> {
                     return std::string(Trim(StatusTable(status, **state)));
                   }));
  context.print(text);
  return OkStatus();
}

}  // namespace

void AddStatusVerb(CLI::App& app, CliContext& context) {
  auto folder = std::make_shared<std::string>();
  auto output = std::make_shared<std::string>("table");
  CLI::App* verb = app.add_subcommand("status", "Show GPUs, faults and connected clients of DIR");
  verb->add_option("DIR", *folder, "Folder of the simulated host")->required();
  AddOutputOption(*verb, *output);
  verb->callback([folder, output, &context] {
    context.action = [folder, output, &context] { return Show(*folder, *output, context); };
  });
}

}  // namespace kgpu::simhost
