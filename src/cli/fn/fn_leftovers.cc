#include "src/cli/fn/fn_leftovers.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "src/cli/base/ask_agent.h"
#include "src/cli/base/environment.h"
#include "src/cli/fn/fn_daemons.h"
#include "src/cli/fn/fn_engine.h"
#include "src/functions/provider/leftovers.h"
#include "src/functions/provider/loan.h"
#include "src/node/loans/ledger_file.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

namespace fs = std::filesystem;

std::string LedgerFile(const std::string& state_dir) {
  return fmt::format("{}/{}", state_dir, loans::kLedgerFile);
}

// A folder for each replica, until it is removed.
bool HasReplicas(const functions::ProviderOptions& options) {
  std::error_code error;
  const fs::directory_iterator folders(functions::FoldersOf(options).run, error);
  return !error && folders != fs::directory_iterator();
}

StatusOr<bool> HasLoans(const functions::ProviderOptions& options) {
  ASSIGN_OR_RETURN(const pid_t agent, ListenerOf(functions::AgentSocket(options)));
  if (agent == 0) {
    // One that cannot be read stops no containers from going: EndLoansWithoutAgent reports it.
    const auto ledger = loans::LoadLedger(LedgerFile(options.state_dir));
    return ledger.ok() && std::ranges::any_of(ledger->loans(), [](const loans::Loan& loan) {
             return loan.holder.starts_with(functions::kHolderPrefix);
           });
  }
  ASSIGN_OR_RETURN(
      const http::Response response,
      FetchFromAgent(options.run_dir,
                     {.target = fmt::format("/v1/loans?holder={}", functions::kHolderPrefix)}));
  const auto lent = functions::ParseLoans(response.body);
  return lent.ok() && !lent->empty();  // an agent that lends nothing answers something else
}

}  // namespace

Status RemoveLeftovers(const std::string& run_dir, const std::string& state_dir) {
  functions::ProviderOptions options{.run_dir = run_dir, .state_dir = state_dir};
  ASSIGN_OR_RETURN(std::optional<functions::EngineSettings> engine,
                   functions::ReadEngineRecord(run_dir));
  ASSIGN_OR_RETURN(const bool has_loans, HasLoans(options));
  if (!engine && !has_loans && !HasReplicas(options)) {
    return OkStatus();
  }
  if (!engine) {
    ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
    ASSIGN_OR_RETURN(engine, ContainerEngine({}, root));
  }
  options.engine = *std::move(engine);
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  constexpr size_t kProgramsAtATime = 4;
  functions::ChildPrograms programs(*loop, Environment(), kProgramsAtATime);
  functions::Leftovers leftovers(*loop, programs, options);
  Status result;
  leftovers.Remove([&](Status status) {
    result = std::move(status);
    loop->Quit();
  });
  loop->Run();
  return result;
}

Status EndLoansWithoutAgent(const std::string& run_dir, const std::string& state_dir) {
  const std::string socket = functions::AgentSocket({.run_dir = run_dir});
  ASSIGN_OR_RETURN(const pid_t before, ListenerOf(socket));
  if (before != 0) {
    return OkStatus();
  }
  RETURN_IF_ERROR(loans::EndLoansInFile(LedgerFile(state_dir), functions::kHolderPrefix).status());
  // It may have read the ledger as it was.
  ASSIGN_OR_RETURN(const pid_t after, ListenerOf(socket));
  return after == 0
             ? OkStatus()
             : Unavailable("{}: an agent has started meanwhile: run kgpu fn down again", socket);
}

}  // namespace kgpu::cli
