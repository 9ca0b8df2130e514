// Finds the containers and loans that an earlier provider left: adopts what is alive and known,
// removes the rest, and returns loans that no container has. What exists is podman's to say; where
// it cannot list its containers, the records of replicas say it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/functions/provider/container_command.h"
#include "src/functions/provider/loan_client.h"
#include "src/functions/provider/podman.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/timer.h"

namespace kgpu::functions {

class ReplicaOwner {
 public:
  virtual ~ReplicaOwner() = default;
  // Whether a replica of this process has the id: it is left alone.
  virtual bool Owns(const std::string& replica) const = 0;
  // Takes a container that runs; false: it is unknown or outdated. Its loan has no id if it has
  // none.
  virtual bool Adopt(const FoundContainer& container, const Loan& loan) = 0;
};

// The things to do, as a value.
struct ReconcilePlan {
  struct Adoption {
    FoundContainer container;
    Loan loan;
  };
  std::vector<Adoption> adopt{};
  std::vector<FoundContainer> remove{};
};

// A container is kept if it runs and the agent's ledger has its loan, by this container's holder.
ReconcilePlan PlanReconcile(const std::vector<FoundContainer>& containers,
                            const std::vector<Loan>& loans);

// Lives on the loop's thread.
class Reconciler {
 public:
  // All that is passed must outlive this.
  Reconciler(EventLoop& loop, Podman& podman, LoanClient& loans, ProviderFolders folders,
             ReplicaOwner& owner);
  Reconciler(const Reconciler&) = delete;
  Reconciler& operator=(const Reconciler&) = delete;

  // Called from the loop, after each look: all that can be adopted is, but for containers of these
  // functions, which may run. No other may be started beside them.
  using Looked = std::function<void(const std::set<std::string>& undecided)>;
  // Continues until everything is in order.
  void Start(Looked looked);
  // Looks now and once more later, since replicas of the owner may have left loans.
  void LookAgain();
  // Looks once more, for an owner that adopts nothing any longer: `done` is called, from the loop,
  // when no container is left, and no loan unless no agent answers. Errors: those of podman and of
  // the agent; what failed is tried again until this is destroyed. Loans of containers whose
  // processes are gone are returned even if podman does not remove those.
  void Finish(std::function<void(Status)> done);

 private:
  void Round();
  void StartWantedRound();
  void OnLoans(const StatusOr<std::vector<Loan>>& loans);
  void OnContainers(const StatusOr<std::vector<FoundContainer>>& containers);
  void OnUnlisted(const Status& status);
  void Act(const std::vector<FoundContainer>& containers);
  void RemoveContainer(const FoundContainer& container, int attempt = 1);
  void OnRemoved(const FoundContainer& container, int attempt, const Status& status);
  void ReturnLoans();
  void Return(const Loan& loan);
  void Finished();
  void TryAgain(const Status& status);
  void ScheduleAgain(const Status& status);
  void EndRound(const Status& status);
  void TellLooked(const std::set<std::string>& undecided) const;
  bool RemoveStaleFolders(const std::set<std::string>& replicas) const;

  EventLoop& loop_;
  Podman& podman_;
  LoanClient& loans_;
  const ProviderFolders folders_;
  ReplicaOwner& owner_;
  Looked looked_;

  std::vector<Loan> found_loans_;
  bool has_ledger_ = false;  // the agent has answered
  bool has_looked_again_ = false;
  bool wants_look_ = false;  // after the round in progress
  size_t pending_ = 0;       // containers and loans that are being removed
  bool has_failed_ = false;
  Status listed_;                  // whether podman could list its containers, in this round
  std::set<std::string> stuck_;    // replicas that may still run: nothing removes them
  std::set<std::string> removed_;  // replicas whose containers were removed in this round
  bool is_in_round_ = false;
  std::vector<std::function<void(Status)>> finishing_;  // wait for the round after this one
  std::vector<std::function<void(Status)>> finished_;   // wait for this one
  int64_t retries_ = 0;
  Timer timer_;
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
