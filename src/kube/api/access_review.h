// Who the owner of a token is, and whether they may get a path: asked of the API server.
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

// POST of a TokenReview. Without audiences the token must be for the API server's own.
// Source: authentication.k8s.io/v1.
ApiRequest TokenReviewRequest(const std::string& token, const std::vector<std::string>& audiences);
// Nothing: the token is nobody's, has expired, or is for none of those audiences. Errors: Internal
// (the answer is no TokenReview).
StatusOr<std::optional<TokenOwner>> OwnerOfReview(const boost::json::value& review,
                                                  const std::vector<std::string>& audiences);

// POST of a SubjectAccessReview: may they `verb` ("get") the path that belongs to no object
// ("/metrics")? Source: authorization.k8s.io/v1.
ApiRequest AccessReviewRequest(const TokenOwner& owner, const std::string& verb,
                               const std::string& path);
// Errors: Internal (the answer is no SubjectAccessReview).
StatusOr<bool> IsAllowed(const boost::json::value& review);

}  // namespace kgpu::kube
