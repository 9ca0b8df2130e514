// Removes what a service that was killed has left, without a service: its containers and its loans.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "src/functions/provider/container_command.h"
#include "src/functions/provider/loan_client.h"
#include "src/functions/provider/podman.h"
#include "src/functions/provider/programs.h"
#include "src/functions/provider/provider.h"
#include "src/functions/provider/reconciler.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// How the service of this run folder calls podman, for whoever removes its containers later.
// Errors: those of the file.
Status WriteEngineRecord(const std::string& run_dir, const EngineSettings& engine);
// Nothing: no service has started since the folder was made. Errors: those of the file.
StatusOr<std::optional<EngineSettings>> ReadEngineRecord(const std::string& run_dir);
// Not an error if there is none.
Status RemoveEngineRecord(const std::string& run_dir);

// Lives on the loop's thread, while no service runs.
class Leftovers final : private ReplicaOwner {
 public:
  // `loop` and `programs` must outlive this.
  Leftovers(EventLoop& loop, Programs& programs, const ProviderOptions& options);
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;

  // `done` is called, from the loop, when no container of a function is left, and no loan unless no
  // agent answers. Errors: those of podman and of the agent.
  void Remove(std::function<void(Status)> done) { reconciler_.Finish(std::move(done)); }

 private:
  bool Owns(const std::string& /*replica*/) const override { return false; }
  bool Adopt(const FoundContainer& /*container*/, const Loan& /*loan*/) override { return false; }

  Podman podman_;
  LoanClient loans_;
  Reconciler reconciler_;
};

}  // namespace kgpu::functions
