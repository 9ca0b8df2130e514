#include "src/node/claims/claim_status.h"

#include <boost/json.hpp>

#include <utility>

#include "src/kube/api/writes.h"
#include "src/node/dra/offer.h"
#include "src/platform/base/log.h"
#include "src/platform/base/time_text.h"

namespace kgpu::claims {
namespace {

namespace json = boost::json;

// Claims whose pods start at the same time; the status of others is not written.
constexpr size_t kMostCalls = 128;

}  // namespace

json::object StatusOf(const std::string& uid, const dra::PreparedClaim& claim, WallTime now) {
  json::array devices;
  for (const dra::PreparedDevice& device : claim.devices) {
    json::object status = {{"driver", dra::kDriverName},
                           {"pool", device.pool},
                           {"device", device.device},
                           {"data", {{"uuid", device.device_uuid}}},
                           {"conditions", json::array{{{"type", "Ready"},
                                                       {"status", "True"},
                                                       {"reason", "Prepared"},
                                                       {"message", "containers can use it"},
                                                       {"lastTransitionTime", FormatTime(now)}}}}};
    if (!device.share_id.empty()) {
      status["shareID"] = device.share_id;
    }
    if (!device.is_admin) {
      devices.push_back(std::move(status));
    }
  }
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaim"},
          {"metadata", {{"name", claim.name}, {"namespace", claim.space}, {"uid", uid}}},
          {"status", {{"devices", std::move(devices)}}}};
}

void ClaimStatus::Write(kube::Client& client, const std::string& uid,
                        const dra::PreparedClaim& claim, WallTime now) {
  StatusOr<kube::ApiRequest> request = kube::ApplyRequest(
      kClaims.Object(claim.space, claim.name) + "/status", StatusOf(uid, claim, now),
      /*force=*/true, {.field_manager = std::string(dra::kDriverName)});
  if (!request.ok() || calls_.size() >= kMostCalls) {
    return;
  }
  calls_[uid] = client.Send(*std::move(request), [this, uid](const StatusOr<json::value>& answer) {
    OnAnswer(uid, answer.status());
  });
}

void ClaimStatus::OnAnswer(const std::string& uid, const Status& status) {
  const std::unique_ptr<kube::Call> ended = std::move(calls_[uid]);
  calls_.erase(uid);
  // Where it is not allowed, it never is.
  if (std::string problem(Message(status)); problem != problem_) {
    problem_ = std::move(problem);
    if (!problem_.empty()) {
      KGPU_LOG(kInfo, "status of a claim not written", {"reason", problem_});
    }
  }
}

}  // namespace kgpu::claims
