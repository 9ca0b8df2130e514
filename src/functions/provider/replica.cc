#include "src/functions/provider/replica.h"

#include <array>

namespace kgpu::functions {
namespace {

using enum ReplicaState;
using enum ReplicaEvent;
using enum ReplicaAction;

ReplicaTransition Starting(ReplicaStep step, ReplicaAction action) {
  return {{kStarting, step}, {action}};
}

ReplicaTransition Draining(ReplicaStep step) {
  return {{kDraining, step}, {}};
}

ReplicaTransition Remove() {
  return {{kDraining, ReplicaStep::kRemoval}, {kRemoveContainer}};
}

ReplicaTransition Return() {
  return {{kDraining, ReplicaStep::kReturn}, {kReturnLoan}};
}

ReplicaTransition Forget() {
  return {{kGone, ReplicaStep::kNothing}, {kForget}};
}

ReplicaTransition FromCold(const ReplicaLife& life, ReplicaEvent event) {
  switch (event) {
    case kNeeded:
      return Starting(ReplicaStep::kLoan, kBorrow);
    case kAdopted:
      return Starting(ReplicaStep::kReadiness, kAwaitReady);
    case kStopAsked:
      return Forget();
    default:
      return {life, {}};
  }
}

ReplicaTransition FromStarting(const ReplicaLife& life, ReplicaEvent event) {
  const bool borrows = life.step == ReplicaStep::kLoan;
  const bool starts = life.step == ReplicaStep::kContainer;
  const bool waits = life.step == ReplicaStep::kReadiness;
  if (borrows && event == kLoanGranted) {
    return Starting(ReplicaStep::kContainer, kStartContainer);
  }
  if (borrows && event == kLoanRefused) {
    return Forget();
  }
  if (starts && event == kContainerStarted) {
    return Starting(ReplicaStep::kReadiness, kAwaitReady);
  }
  if (starts && event == kContainerFailed) {
    return Remove();
  }
  if (waits && event == kReady) {
    return {{kRunning, ReplicaStep::kNothing}, {kServe}};
  }
  if (waits && (event == kContainerEnded || event == kStartExpired || event == kStopAsked)) {
    return Remove();
  }
  return event == kStopAsked ? Draining(life.step) : ReplicaTransition{life, {}};
}

ReplicaTransition FromRunning(const ReplicaLife& life, ReplicaEvent event) {
  switch (event) {
    case kStopAsked:
      return {{kDraining, ReplicaStep::kCalls}, {kAwaitCalls}};
    case kContainerEnded:
      return Remove();
    default:
      return {life, {}};
  }
}

ReplicaTransition FromDraining(const ReplicaLife& life, ReplicaEvent event) {
  switch (life.step) {
    case ReplicaStep::kLoan:
      if (event == kLoanGranted) {
        return Return();
      }
      return event == kLoanRefused ? Forget() : ReplicaTransition{life, {}};
    case ReplicaStep::kContainer:
      return event == kContainerStarted || event == kContainerFailed ? Remove()
                                                                     : ReplicaTransition{life, {}};
    case ReplicaStep::kCalls:
      return event == kCallsEnded || event == kContainerEnded ? Remove()
                                                              : ReplicaTransition{life, {}};
    case ReplicaStep::kRemoval:
      return event == kContainerRemoved ? Return() : ReplicaTransition{life, {}};
    case ReplicaStep::kReturn:
      return event == kLoanReturned ? Forget() : ReplicaTransition{life, {}};
    default:
      return {life, {}};
  }
}

}  // namespace

ReplicaTransition Next(const ReplicaLife& life, ReplicaEvent event) {
  switch (life.state) {
    case kCold:
      return FromCold(life, event);
    case kStarting:
      return FromStarting(life, event);
    case kRunning:
      return FromRunning(life, event);
    case kDraining:
      return FromDraining(life, event);
    case kGone:
      break;
  }
  return {life, {}};
}

}  // namespace kgpu::functions
