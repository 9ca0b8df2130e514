// status.devices of claims: which device each claim has, for people and other programs.
#pragma once

#include <boost/json/object.hpp>

#include <map>
#include <memory>
#include <string>

#include "src/kube/api/client.h"
#include "src/kube/api/resource.h"
#include "src/node/dra/checkpoint.h"
#include "src/platform/base/clock.h"

namespace kgpu::claims {

inline constexpr kube::Resource kClaims{"resource.k8s.io", "v1", "resourceclaims"};

// The claim for a server-side apply of its status: the UUID of each device, and that it is ready.
boost::json::object StatusOf(const std::string& uid, const dra::PreparedClaim& claim, WallTime now);

// Lives on the loop's thread. Nobody waits for it: pods run also where the API server is away, does
// not know the field, or does not allow it.
class ClaimStatus {
 public:
  // `client` must outlive the write.
  void Write(kube::Client& client, const std::string& uid, const dra::PreparedClaim& claim,
             WallTime now);

 private:
  void OnAnswer(const std::string& uid, const Status& status);

  std::map<std::string, std::unique_ptr<kube::Call>> calls_;  // by the claims' UIDs
  std::string problem_;                                       // the last, which was logged
};

}  // namespace kgpu::claims
