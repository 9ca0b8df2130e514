#include "src/functions/provider/reconciler.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "src/functions/provider/replica_record.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kFirstRound{500};
constexpr milliseconds kLongestRound = seconds(60);
// A container or a loan that an earlier provider had asked for may come only after its end: there
// is one more look, much later than either takes.
constexpr milliseconds kLastLook = seconds(20);
constexpr milliseconds kNoGrace{0};
// Of a container, in one round.
constexpr int kRemovalAttempts = 4;
constexpr milliseconds kRemovalPause{500};

std::string HolderOf(const FoundContainer& container) {
  return fmt::format("{}{}/{}", kHolderPrefix, container.function, container.replica);
}

// "fn/<function>/<replica>"; empty parts if it reads otherwise.
std::pair<std::string, std::string> PartsOf(const std::string& holder) {
  const std::vector<std::string_view> parts = Split(holder, '/');
  return parts.size() == 3 ? std::pair(std::string(parts[1]), std::string(parts[2]))
                           : std::pair<std::string, std::string>();
}

}  // namespace

ReconcilePlan PlanReconcile(const std::vector<FoundContainer>& containers,
                            const std::vector<Loan>& loans) {
  std::map<std::string, const Loan*> by_id;
  for (const Loan& loan : loans) {
    by_id[loan.id] = &loan;
  }
  ReconcilePlan plan;
  for (const FoundContainer& container : containers) {
    const auto loan = by_id.find(container.loan);
    const bool is_lent = loan != by_id.end() && loan->second->holder == HolderOf(container);
    if (!container.is_running || (!container.loan.empty() && !is_lent)) {
      plan.remove.push_back(container);
    } else {
      plan.adopt.push_back({container, is_lent ? *loan->second : Loan{}});
    }
  }
  return plan;
}

Reconciler::Reconciler(EventLoop& loop, Podman& podman, LoanClient& loans, ProviderFolders folders,
                       ReplicaOwner& owner)
    : loop_(loop),
      podman_(podman),
      loans_(loans),
      folders_(std::move(folders)),
      owner_(owner),
      timer_(loop) {
}

void Reconciler::Start(Looked looked) {
  looked_ = std::move(looked);
  Round();
}

void Reconciler::LookAgain() {
  wants_look_ = true;
  if (!is_in_round_) {
    StartWantedRound();
  }
}

void Reconciler::StartWantedRound() {
  wants_look_ = false;
  has_looked_again_ = false;
  retries_ = 0;
  Round();
}

// A round that is in progress may have listed what was there before the owner stopped.
void Reconciler::Finish(std::function<void(Status)> done) {
  finishing_.push_back(std::move(done));
  if (!is_in_round_) {
    Round();
  }
}

// A `podman run` that an earlier provider started may still be in progress, for a loan that seems
// to have no container. The order makes that safe: first the folders of replicas without a
// container are removed, without which no container starts; only then are containers listed, so
// that one that did get its folder is in the list, and is removed before its loan is returned.
void Reconciler::Round() {
  timer_.Cancel();
  has_failed_ = false;
  listed_ = OkStatus();
  stuck_.clear();
  removed_.clear();
  is_in_round_ = true;
  finished_ = std::exchange(finishing_, {});
  loans_.List(lifetime_.Bind([this](const auto& loans) { OnLoans(loans); }));
}

void Reconciler::OnLoans(const StatusOr<std::vector<Loan>>& loans) {
  // An agent that lends nothing has no loans either.
  has_ledger_ = loans.ok() || loans.status().code() == StatusCode::kFailedPrecondition;
  found_loans_ = loans.ok() ? *loans : std::vector<Loan>();
  podman_.List(lifetime_.Bind([this](const StatusOr<std::vector<FoundContainer>>& first) {
    if (!first.ok()) {
      return OnUnlisted(first.status());
    }
    std::set<std::string> replicas;
    for (const FoundContainer& container : *first) {
      replicas.insert(container.replica);
    }
    if (!RemoveStaleFolders(replicas)) {
      return OnContainers(first);
    }
    podman_.List(lifetime_.Bind(
        [this](const StatusOr<std::vector<FoundContainer>>& second) { OnContainers(second); }));
  }));
}

// Whether there were any.
bool Reconciler::RemoveStaleFolders(const std::set<std::string>& replicas) const {
  bool has_removed = false;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folders_.run, error)) {
    const std::string replica = entry.path().filename();
    if (!replicas.contains(replica) && !owner_.Owns(replica)) {
      std::error_code ignored;
      fs::remove_all(entry.path(), ignored);
      has_removed = true;
    }
  }
  return has_removed;
}

void Reconciler::OnContainers(const StatusOr<std::vector<FoundContainer>>& containers) {
  if (!containers.ok()) {
    return OnUnlisted(containers.status());
  }
  Act(*containers);
}

// A container whose network podman does not see, for one, makes the whole list fail. Adopted and
// removed is what this machine's services have written down.
void Reconciler::OnUnlisted(const Status& status) {
  listed_ = status;
  has_failed_ = true;  // there may be others: looked at again
  Act(RecordedContainers(folders_));
}

void Reconciler::Act(const std::vector<FoundContainer>& containers) {
  std::vector<FoundContainer> foreign;
  std::set<std::string> undecided;
  for (const FoundContainer& container : containers) {
    if (owner_.Owns(container.replica)) {
      continue;
    }
    // Without the ledger nobody knows whether a container may keep its GPUs.
    if (has_ledger_ || container.loan.empty() || !finished_.empty()) {
      foreign.push_back(container);
    } else {
      undecided.insert(container.function);
    }
  }
  ReconcilePlan plan = PlanReconcile(foreign, found_loans_);
  std::error_code ignored;
  for (const ReconcilePlan::Adoption& adoption : plan.adopt) {
    // Nobody reaches a container whose folder was removed while it started.
    const bool is_reachable =
        fs::exists(ReplicaFolder(folders_, adoption.container.replica), ignored);
    if (!is_reachable || !owner_.Adopt(adoption.container, adoption.loan)) {
      plan.remove.push_back(adoption.container);
    }
  }
  if (!listed_.ok()) {
    // Removal may fail here. Without its folder, a container that is about to start fails to.
    for (const FoundContainer& container : plan.remove) {
      undecided.insert(container.function);
      if (!container.is_running) {
        fs::remove_all(ReplicaFolder(folders_, container.replica), ignored);
      }
    }
  }
  TellLooked(undecided);
  ++pending_;  // until all removals are begun
  for (const FoundContainer& container : plan.remove) {
    KGPU_LOG(kInfo, "container removed", {"container", container.name},
             {"running", container.is_running});
    RemoveContainer(container);
  }
  Finished();
}

void Reconciler::RemoveContainer(const FoundContainer& container, int attempt) {
  pending_ += attempt == 1 ? 1 : 0;
  podman_.Remove(container.name, kNoGrace,
                 lifetime_.Bind([this, container, attempt](const Status& status) {
                   OnRemoved(container, attempt, status);
                 }));
}

void Reconciler::OnRemoved(const FoundContainer& container, int attempt, const Status& status) {
  std::error_code ignored;
  if (status.ok() && !container.replica.empty()) {
    removed_.insert(container.replica);
    fs::remove_all(fs::path(folders_.run) / container.replica, ignored);
  }
  if (!status.ok() && attempt < kRemovalAttempts) {
    // Its monitor, which sees the network, then reports its end to podman.
    KillRecorded(folders_, container.replica);
    return (void)loop_.After(kRemovalPause, lifetime_.Bind([this, container, attempt] {
      RemoveContainer(container, attempt + 1);
    }));
  }
  if (!status.ok()) {
    has_failed_ = true;
    KGPU_LOG(kWarning, "container not removed", {"container", container.name},
             {"reason", Message(status)});
    if (StateOfRecorded(folders_, container.replica) != RecordedProcess::kGone) {
      stuck_.insert(container.replica);
    }
  }
  Finished();
}

// One container or loan less; after the last container, the loans follow.
void Reconciler::Finished() {
  if (--pending_ > 0) {
    return;
  }
  if (!found_loans_.empty()) {
    return ReturnLoans();
  }
  if (!listed_.ok() && !finished_.empty() && !removed_.empty()) {
    // The container that made the list fail may be gone now.
    std::ranges::move(std::exchange(finished_, {}), std::back_inserter(finishing_));
    return EndRound(OkStatus());
  }
  if (has_failed_) {
    return TryAgain(
        listed_.ok()
            ? Unavailable(
                  "not all containers and loans were removed: the log of the service says why; "
                  "kgpu fn down tries again")
            : listed_);
  }
  if (!has_ledger_) {
    // The loans wait for the agent, and for the next provider.
    ScheduleAgain(Unavailable("no agent answers"));
    return EndRound(OkStatus());
  }
  if (!std::exchange(has_looked_again_, true)) {
    timer_.Arm(kLastLook, [this] { Round(); });
  }
  EndRound(OkStatus());
}

void Reconciler::ReturnLoans() {
  const std::vector<Loan> loans = std::exchange(found_loans_, {});
  ++pending_;
  for (const Loan& loan : loans) {
    const std::string replica = PartsOf(loan.holder).second;
    // A container that is in no list may have it.
    const bool is_known = listed_.ok() ||
                          StateOfRecorded(folders_, replica) == RecordedProcess::kGone ||
                          removed_.contains(replica);
    if (is_known && !owner_.Owns(replica) && !stuck_.contains(replica)) {
      Return(loan);
    }
  }
  Finished();
}

void Reconciler::Return(const Loan& loan) {
  KGPU_LOG(kInfo, "loan returned", {"holder", loan.holder});
  ++pending_;
  loans_.Return(loan.id, lifetime_.Bind([this](const Status& status) {
    has_failed_ = has_failed_ || !status.ok();
    Finished();
  }));
}

void Reconciler::TryAgain(const Status& status) {
  ScheduleAgain(status);
  EndRound(status);
}

void Reconciler::ScheduleAgain(const Status& status) {
  KGPU_LOG(kWarning, "earlier replicas not all looked at", {"reason", Message(status)});
  timer_.Arm(DoublingPause(++retries_, kFirstRound, kLongestRound), [this] { Round(); });
}

void Reconciler::EndRound(const Status& status) {
  is_in_round_ = false;
  for (const auto& done : std::exchange(finished_, {})) {
    loop_.Post([done, status] { done(status); });
  }
  if (wants_look_) {
    StartWantedRound();
  } else if (!finishing_.empty()) {
    Round();
  }
}

void Reconciler::TellLooked(const std::set<std::string>& undecided) const {
  if (looked_) {
    looked_(undecided);
  }
}

}  // namespace kgpu::functions
