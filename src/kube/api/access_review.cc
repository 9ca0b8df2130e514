#include "src/kube/api/access_review.h"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "src/kube/api/json.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;

using doc::Texts;
using doc::TextsOf;

// Somebody waits for the answer.
constexpr std::chrono::milliseconds kTimeout{5'000};

ApiRequest Review(std::string_view group, std::string_view kind, std::string path,
                  json::object spec) {
  ApiRequest request;
  request.method = "POST";
  request.path = std::move(path);
  request.content_type = "application/json";
  request.timeout = kTimeout;
  request.body = BodyOf(json::object{{"apiVersion", fmt::format("{}/v1", group)},
                                     {"kind", doc::View(kind)},
                                     {"spec", std::move(spec)}});
  return request;
}

bool BoolField(const json::value& object, std::initializer_list<std::string_view> path) {
  const json::value* value = FindField(object, path);
  return value != nullptr && value->is_bool() && value->get_bool();
}

TokenOwner OwnerOf(const json::value& review) {
  TokenOwner owner;
  owner.name = TextField(review, {"status", "user", "username"});
  owner.uid = TextField(review, {"status", "user", "uid"});
  owner.groups = TextsOf(FindField(review, {"status", "user", "groups"}));
  const json::value* extra = FindField(review, {"status", "user", "extra"});
  if (extra != nullptr && extra->is_object()) {
    for (const auto& [key, values] : extra->get_object()) {
      owner.extra.emplace(key, TextsOf(&values));
    }
  }
  return owner;
}

}  // namespace

ApiRequest TokenReviewRequest(const std::string& token, const std::vector<std::string>& audiences) {
  json::object spec{{"token", token}};
  if (!audiences.empty()) {
    spec["audiences"] = Texts(audiences);
  }
  return Review("authentication.k8s.io", "TokenReview",
                "/apis/authentication.k8s.io/v1/tokenreviews", std::move(spec));
}

StatusOr<std::optional<TokenOwner>> OwnerOfReview(const json::value& review,
                                                  const std::vector<std::string>& audiences) {
  if (TextField(review, {"kind"}) != "TokenReview") {
    return Internal("the API server's answer is not a TokenReview");
  }
  if (!BoolField(review, {"status", "authenticated"})) {
    return std::optional<TokenOwner>();
  }
  // A server that knows nothing of audiences names none: its word alone would let any token in.
  if (!audiences.empty()) {
    const std::vector<std::string> common = TextsOf(FindField(review, {"status", "audiences"}));
    if (std::ranges::find_first_of(common, audiences) == common.end()) {
      return std::optional<TokenOwner>();
    }
  }
  TokenOwner owner = OwnerOf(review);
  if (owner.name.empty()) {
    return Internal("the API server accepts the token but names no user");
  }
  return std::optional(std::move(owner));
}

ApiRequest AccessReviewRequest(const TokenOwner& owner, const std::string& verb,
                               const std::string& path) {
  json::object extra;
  for (const auto& [key, values] : owner.extra) {
    extra[key] = Texts(values);
  }
  return Review(
      "authorization.k8s.io", "SubjectAccessReview",
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      json::object{{"user", owner.name},
                   {"uid", owner.uid},
                   {"groups", Texts(owner.groups)},
                   {"extra", std::move(extra)},
                   {"nonResourceAttributes", json::object{{"path", path}, {"verb", verb}}}});
}

StatusOr<bool> IsAllowed(const json::value& review) {
  if (TextField(review, {"kind"}) != "SubjectAccessReview") {
    return Internal("the API server's answer is not a SubjectAccessReview");
  }
  return BoolField(review, {"status", "allowed"}) && !BoolField(review, {"status", "denied"});
}

}  // namespace kgpu::kube
