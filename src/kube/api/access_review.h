// Asks the API server who owns a token, and whether they may access a path.
#pragma once

#include <boost/json/fwd.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/platform/base/status.h"

namespace kgpu::kube {

struct TokenOwner {
  std::string name{};  // "system:serviceaccount:monitoring:prometheus"
  std::string uid{};
  std::vector<std::string> groups{};
  std::map<std::string, std::vector<std::string>> extra{};
  bool operator==(const TokenOwner&) const = default;
};

// POST of a TokenReview. Without audiences, the token must be for the API server's own audience.
// Source: authentication.k8s.io/v1.
ApiRequest TokenReviewRequest(const std::string& token, const std::vector<std::string>& audiences);
// Nothing: the token is invalid, has expired, or is for none of those audiences. Errors: Internal
// (the response is no TokenReview).
StatusOr<std::optional<TokenOwner>> OwnerOfReview(const boost::json::value& review,
                                                  const std::vector<std::string>& audiences);

// POST of a SubjectAccessReview: may the owner `verb` ("get") the non-resource path ("/metrics")?
// Source: authorization.k8s.io/v1.
ApiRequest AccessReviewRequest(const TokenOwner& owner, const std::string& verb,
                               const std::string& path);
// Errors: Internal (the response is no SubjectAccessReview).
StatusOr<bool> IsAllowed(const boost::json::value& review);

}  // namespace kgpu::kube
