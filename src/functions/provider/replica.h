// The life of a replica as a pure state machine: what happened, in which state, gives the next
// state and what to do about it. ReplicaRunner carries the actions out; the states are drawn in
// docs/reference/functions.md.
#pragma once

#include <cstdint>
#include <vector>

#include "src/functions/replicas/replica.h"

namespace kgpu::functions {

enum class ReplicaEvent : uint8_t {
  kNeeded,       // a call waits, or there are fewer replicas than the minimum
  kAdopted,      // its container and loan were found after a restart of the provider
  kLoanGranted,  // or no GPU is needed
  kLoanRefused,
  kContainerStarted,
  kContainerFailed,  // the engine did not start it, or not completely
  kReady,            // the watchdog has a worker
  kContainerEnded,   // it was running, and is not any more
  kStartExpired,     // it took longer than allowed to become ready
  kStopAsked,        // idle, too many, replaced or deleted
  kCallsEnded,       // no call is in flight
  kContainerRemoved,
  kLoanReturned,
};

enum class ReplicaAction : uint8_t {
  kBorrow,           // ends with kLoanGranted or kLoanRefused
  kStartContainer,   // ends with kContainerStarted or kContainerFailed
  kAwaitReady,       // ends with kReady, kContainerEnded or kStartExpired
  kServe,            // calls may be given to it
  kAwaitCalls,       // ends with kCallsEnded, at once if none is in flight
  kRemoveContainer,  // ends with kContainerRemoved, however often that must be tried
  kReturnLoan,       // ends with kLoanReturned, as above; at once if there is no loan
  kForget,           // the last action
};

// The event that the replica waits for. A replica that is draining may still wait for something
// that it requested while it was starting, and then gives it back.
enum class ReplicaStep : uint8_t {
  kNothing,
  kLoan,
  kContainer,
  kReadiness,
  kCalls,
  kRemoval,
  kReturn,
};

struct ReplicaLife {
  ReplicaState state = ReplicaState::kCold;
  ReplicaStep step = ReplicaStep::kNothing;
  bool operator==(const ReplicaLife&) const = default;
};

struct ReplicaTransition {
  ReplicaLife next{};
  std::vector<ReplicaAction> actions{};
  bool operator==(const ReplicaTransition&) const = default;
};

// An event that means nothing in this state changes nothing: events may arrive late.
ReplicaTransition Next(const ReplicaLife& life, ReplicaEvent event);

}  // namespace kgpu::functions
