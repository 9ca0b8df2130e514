// Brings rendered objects to a cluster and records them; what an earlier version had and this one
// has not is removed.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "src/cluster/install/record.h"
#include "src/kube/objects/apply_set.h"
#include "src/kube/objects/blocking_client.h"
#include "src/kube/objects/kinds.h"
#include "src/kube/objects/readiness.h"
#include "src/kube/objects/remove_set.h"
#include "src/platform/base/status.h"

namespace kgpu::install {

struct InstallRequest {
  std::string space = "kgpu";
  std::string version{};                      // of kgpu
  std::vector<boost::json::value> objects{};  // rendered; all with the label of kManager
  boost::json::object request{};              // kept in the record
  bool is_dry_run = false;
  bool force = false;  // fields that others have changed are overwritten
  std::chrono::milliseconds reach_time{30'000};
  std::function<void(const std::string&)> on_progress{};  // "ConfigMap kgpu/x created"
};

struct InstallReport {
  std::string version_before{};  // empty: it was not installed
  std::vector<kube::ApplyResult> applied{};
  std::vector<kube::RemoveResult> removed{};  // of the earlier version
};

// Can be ended at any request: the same call later continues. `report` says what was done, also
// after an error. Errors: FailedPrecondition (helm or somebody else has installed kgpu here), the
// first error of an object with its name, those of Send.
Status Install(kube::BlockingClient& client, kube::Kinds& kinds, const InstallRequest& request,
               InstallReport& report);

// The workloads among objects, which become ready: DaemonSets, Deployments.
std::vector<kube::ObjectRef> WorkloadsOf(const std::vector<boost::json::value>& objects);

// Takes the fields that we own from an object that existed before us; it stays. Errors: those of
// Send.
Status ReleaseFields(kube::BlockingClient& client, kube::Kinds& kinds, const kube::ObjectRef& ref);

}  // namespace kgpu::install
