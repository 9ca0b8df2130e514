// Removes a set of objects from a cluster, only those that were meant, and waits until they are
// gone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/kube/objects/blocking_client.h"
#include "src/kube/objects/kinds.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

struct RemoveTarget {
  ObjectRef ref{};
  std::string uid{};  // another object of the same name stays; empty: whichever is there now
};

enum class RemoveOutcome : uint8_t {
  kRemoved,
  kAbsent,    // it did not exist
  kReplaced,  // somebody has created another one of that name: it stays
  kFailed,
};
// "removed", "absent", "replaced", "failed".
std::string_view ToString(RemoveOutcome outcome);

struct RemoveResult {
  ObjectRef ref{};
  RemoveOutcome outcome = RemoveOutcome::kRemoved;
  Status status{};
};

struct RemoveOptions {
  bool is_dry_run = false;
  // For each object to be gone, with what belongs to it.
  std::chrono::milliseconds gone_time{120'000};
  std::chrono::milliseconds reach_time{30'000};
  std::function<void(const RemoveResult&)> on_result{};
};

// Removes `targets` in the reverse of the order of creation; each is gone, with its pods, before
// the next. Continues after one that fails, unless the server cannot be reached: then the rest is
// missing from the results. Errors of one: DeadlineExceeded naming what holds it; those of Send.
std::vector<RemoveResult> RemoveObjects(BlockingClient& client, Kinds& kinds,
                                        std::vector<RemoveTarget> targets,
                                        const RemoveOptions& options);

// The first error among `results`, annotated with the object's name.
Status StatusOfResults(const std::vector<RemoveResult>& results);

}  // namespace kgpu::kube
