// The owners of tokens, and what is allowed: for requests, TokenReviews and
// SubjectAccessReviews.
#pragma once

#include <boost/json/fwd.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::apiserver {

struct User {
  std::string name = "system:anonymous";
  std::string uid{};
  std::vector<std::string> groups{};
  std::map<std::string, std::vector<std::string>> extra{};
  std::vector<std::string> audiences{};  // of its token; empty: the API server's
};

// Loop thread only. `clock` outlives it.
class Access {
 public:
  explicit Access(const Clock& clock) : clock_(clock) {}

  // Once there is a token, requests need one.
  void AddToken(std::string token, User user, std::optional<WallTime> expires = std::nullopt);
  void RemoveToken(std::string_view token);
  bool needs_token() const { return needs_token_; }
  // The value of an Authorization field, "" for none. Errors: a Failure of code 401.
  StatusOr<User> Authenticate(std::string_view authorization) const;

  // Decides SubjectAccessReviews, given their `spec`. Without it, everything is allowed.
  using Authorizer = std::function<bool(const boost::json::object& spec)>;
  void SetAuthorizer(Authorizer authorizer) { authorizer_ = std::move(authorizer); }

  // The review with its status filled in. `asker`: whom a SelfSubjectAccessReview is about; null:
  // whom the review names.
  boost::json::object ReviewToken(boost::json::object review) const;
  boost::json::object ReviewAccess(boost::json::object review, const User* asker = nullptr) const;

 private:
  struct Token {
    User user;
    std::optional<WallTime> expires;
  };
  const Token* Find(std::string_view token) const;

  const Clock& clock_;
  std::map<std::string, Token, std::less<>> tokens_;
  bool needs_token_ = false;
  Authorizer authorizer_;
};

}  // namespace kgpu::apiserver
