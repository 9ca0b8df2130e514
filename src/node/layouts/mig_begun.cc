// Changes of MIG layouts that were begun and not ended, since an earlier agent or the helper was
// killed.
#include <chrono>

#include "src/node/layouts/mig_changes.h"
#include "src/platform/base/backoff.h"

namespace kgpu::layouts {
namespace {

using std::chrono::seconds;

// Before another try to finish one.
constexpr seconds kFirstTry{10};
constexpr seconds kLastTry{600};

}  // namespace

// The plan includes what an earlier process left, or shows that nothing is left.
void MigChanges::SettleLeft() {
  std::erase_if(left_, [this](const std::string& gpu) {
    const GoalState* plan = PlanOf(gpu);
    return plan == nullptr ? limits_.is_complete : plan->pending.empty();
  });
  const GoalState* plan = begun_ ? PlanOf(begun_->gpu) : nullptr;
  const auto card = begun_ ? cards_.find(begun_->gpu) : cards_.end();
  const bool is_as_it_should_be = card == cards_.end() || card->second.is_past;
  if (plan != nullptr && plan->pending.empty() && plan->failed.empty() && is_as_it_should_be) {
    begun_.reset();
    sources_.keep(std::nullopt);
  }
}

// The plan of a goal continues from the state that the interrupted change has left. Only a change
// without such a plan is finished itself.
const MigChanges::Begun* MigChanges::MustFinish() const {
  if (!begun_ || !limits_.may_change) {
    return nullptr;
  }
  const GoalState* plan = PlanOf(begun_->gpu);
  const bool is_planned = plan != nullptr && plan->failed.empty();
  return is_planned ? nullptr : &*begun_;
}

// A helper that is killed, at its deadline for example, may leave half a layout.
void MigChanges::NoteKilled(const Begun& change) {
  if (!begun_) {
    begun_tries_ = 0;
  }
  if (!begun_ || begun_->gpu == change.gpu) {
    begun_ = change;
  }
}

// One that could not be carried out, such as while another kgpu changes the host, is tried again;
// any other result ends it.
void MigChanges::NoteBegun(const std::string& gpu, bool waits, const std::string& reason) {
  if (!begun_ || begun_->gpu != gpu) {
    return;
  }
  if (!waits) {
    begun_.reset();
    return;
  }
  begun_waits_ = reason;
  begun_due_ = loop_.clock().Now() + DoublingPause(++begun_tries_, kFirstTry, kLastTry);
}

}  // namespace kgpu::layouts
