#include "testing/apiserver/access.h"

#include <algorithm>

#include <boost/json.hpp>

#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

json::object UserJson(const User& user) {
  json::object extra;
  for (const auto& [key, values] : user.extra) {
    extra[key] = json::array(values.begin(), values.end());
  }
  json::object result = {{"username", user.name},
                         {"uid", user.uid},
                         {"groups", json::array(user.groups.begin(), user.groups.end())}};
  if (!extra.empty()) {
    result["extra"] = std::move(extra);
  }
  return result;
}

}  // namespace

void Access::AddToken(std::string token, User user, std::optional<WallTime> expires) {
  tokens_[std::move(token)] = {.user = std::move(user), .expires = expires};
  needs_token_ = true;
}

void Access::RemoveToken(std::string_view token) {
  if (const auto found = tokens_.find(token); found != tokens_.end()) {
    tokens_.erase(found);
  }
}

const Access::Token* Access::Find(std::string_view token) const {
  const auto found = tokens_.find(token);
  const bool is_good = found != tokens_.end() &&
                       (!found->second.expires || clock_.WallNow() < *found->second.expires);
  return is_good ? &found->second : nullptr;
}

StatusOr<User> Access::Authenticate(std::string_view authorization) const {
  static constexpr std::string_view kBearer = "Bearer ";
  const Token* token =
      authorization.starts_with(kBearer) ? Find(authorization.substr(kBearer.size())) : nullptr;
  if (token != nullptr) {
    return token->user;
  }
  if (needs_token_) {
    return Failure(401, "Unauthorized", "Unauthorized");
  }
  return User();
}

json::object Access::ReviewToken(json::object review) const {
  const Token* token = Find(TextAt(review, {"spec", "token"}));
  json::object status = {{"authenticated", false}, {"user", json::object()}};
  if (token == nullptr) {
    status["error"] = "the token is unknown or has expired";
    review["status"] = std::move(status);
    return review;
  }
  std::vector<std::string> own = token->user.audiences;
  if (own.empty()) {
    own = {"https://kubernetes.default.svc"};
  }
  json::array common;
  for (const json::value& audience : ItemsAt(review, {"spec", "audiences"})) {
    if (std::ranges::find(own, PlainText(&audience)) != own.end()) {
      common.push_back(audience);
    }
  }
  const bool is_for_us = ItemsAt(review, {"spec", "audiences"}).empty() || !common.empty();
  status["authenticated"] = is_for_us;
  if (is_for_us) {
    status["user"] = UserJson(token->user);
    status["audiences"] = std::move(common);
  } else {
    status["error"] = "the token is for other audiences";
  }
  review["status"] = std::move(status);
  return review;
}

json::object Access::ReviewAccess(json::object review, const User* asker) const {
  const json::object* asked = ObjectAt(review, {"spec"});
  json::object spec = asked == nullptr ? json::object() : *asked;
  if (asker != nullptr) {
    spec["user"] = asker->name;
    spec["groups"] = json::array(asker->groups.begin(), asker->groups.end());
  }
  const bool is_allowed = !authorizer_ || (asked != nullptr && authorizer_(spec));
  review["status"] = {{"allowed", is_allowed}};
  if (!is_allowed) {
    review["status"].get_object()["reason"] = "no rule allows it";
  }
  return review;
}

}  // namespace kgpu::apiserver
