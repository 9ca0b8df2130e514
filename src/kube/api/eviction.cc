#include "src/kube/api/eviction.h"

#include <boost/json.hpp>

#include <utility>

#include "src/kube/api/api_error.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;

StatusOr<EvictionResult> ResultOf(const Status& status) {
  if (status.ok()) {
    return EvictionResult::kAccepted;
  }
  if (HasReason(status, "DisruptionBudget")) {
    return EvictionResult::kForbidden;
  }
  if (status.code() == StatusCode::kNotFound || HasReason(status, "NamespaceTerminating")) {
    return EvictionResult::kGone;
  }
  if (status.code() == StatusCode::kAborted) {
    return EvictionResult::kOtherPod;
  }
  return status;
}

}  // namespace

std::unique_ptr<Call> Evict(Client& client, const EvictionTarget& target, EvictionDone done) {
  json::object options;
  if (!target.uid.empty()) {
    options["preconditions"] = json::object{{"uid", target.uid}};
  }
  if (target.grace) {
    options["gracePeriodSeconds"] = target.grace->count();
  }
  if (target.is_dry_run) {
    options["dryRun"] = json::array{"All"};
  }
  const json::value body = {{"apiVersion", "policy/v1"},
                            {"kind", "Eviction"},
                            {"metadata", {{"name", target.name}, {"namespace", target.space}}},
                            {"deleteOptions", std::move(options)}};
  return client.Send({.method = "POST",
                      .path = kPods.Object(target.space, target.name, "eviction"),
                      .content_type = "application/json",
                      .body = BodyOf(body)},
                     [done = std::move(done)](const StatusOr<json::value>& answer) {
                       done(ResultOf(answer.status()));
                     });
}

}  // namespace kgpu::kube
