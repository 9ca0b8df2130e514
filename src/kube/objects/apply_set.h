// Brings a set of objects to a cluster by server-side apply, in an order that works.
#pragma once

#include <boost/json/value.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/kube/objects/blocking_client.h"
#include "src/kube/objects/diff.h"
#include "src/kube/objects/kinds.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

enum class ApplyOutcome : uint8_t { kCreated, kChanged, kUnchanged, kFailed };
// "created", "changed", "unchanged", "failed".
std::string_view ToString(ApplyOutcome outcome);

struct ApplyResult {
  ObjectRef ref{};
  ApplyOutcome outcome = ApplyOutcome::kUnchanged;
  std::vector<FieldChange> changes{};  // of a changed object
  // Why it failed, with the fix: a conflict names fields and owners.
  Status status{};
  std::string uid{};  // of the object on the server; empty in a dry run that would create it
};

struct ApplyOptions {
  std::string field_manager = "kgpu-cluster";
  bool force = false;       // other managers lose fields that differ
  bool is_dry_run = false;  // the server validates, but writes nothing
  // Whether the object was made by `kubectl apply` of the same manifests: kubectl then owns its
  // fields no longer, since each later change of one would be a conflict with it. Empty: none was.
  std::function<bool(const ObjectRef&)> replaces_kubectl{};
  // How long a CustomResourceDefinition may take until it is served.
  std::chrono::milliseconds established_time{60'000};
  // How long to try again while the server cannot be reached.
  std::chrono::milliseconds reach_time{30'000};
  std::function<void(const ApplyResult&)> on_result{};  // after each object
};

// Applies `objects` in the order of SortForApply, and waits until definitions are established.
// Continues after an object that fails, unless the server cannot be reached: then the rest is
// missing from the results. In a dry run, what lies in a namespace or is of a kind that the same
// set creates counts as created without the server's check.
std::vector<ApplyResult> ApplyObjects(BlockingClient& client, Kinds& kinds,
                                      std::vector<boost::json::value> objects,
                                      const ApplyOptions& options);

// The first error among `results`, annotated with the object's name and the number of others; of
// conflicts each one, since somebody must decide about each.
Status StatusOfResults(const std::vector<ApplyResult>& results);

// Waits until the API serves what a definition describes. Errors: DeadlineExceeded with the
// condition that is missing; InvalidArgument (names are taken); those of Send.
Status WaitEstablished(BlockingClient& client, const std::string& definition,
                       std::chrono::milliseconds time);

}  // namespace kgpu::kube
