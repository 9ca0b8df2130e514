#include "src/kube/api/access_review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "testing/apiserver/api_fixture.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::Optional;

class AccessReviewTest : public apiserver::ApiTest {
 protected:
  AccessReviewTest() {
    api_.access().AddToken("admin", {.name = "admin"});
    api_.access().AddToken(
        "scrape",
        {.name = "prometheus", .uid = "u1", .groups = {"monitoring"}, .extra = {{"pod", {"p1"}}}});
  }
  json::value Ask(const ApiRequest& request) {
    const auto seen =
        Send(request.method, request.path, request.body,
             {{"Content-Type", request.content_type}, {"Authorization", "Bearer admin"}});
    EXPECT_EQ(seen->code, 201) << seen->body;
    return json::value(seen->Json());
  }
  StatusOr<std::optional<TokenOwner>> OwnerOf(const std::string& token,
                                              const std::vector<std::string>& audiences = {}) {
    return OwnerOfReview(Ask(TokenReviewRequest(token, audiences)), audiences);
  }
};

TEST_F(AccessReviewTest, NamesTheOwnerOfAToken) {
  const auto owner = OwnerOf("scrape");
  ASSERT_OK(owner);
  EXPECT_THAT(*owner, Optional(TokenOwner{.name = "prometheus",
                                          .uid = "u1",
                                          .groups = {"monitoring"},
                                          .extra = {{"pod", {"p1"}}}}));
}

TEST_F(AccessReviewTest, KnowsNoOwnerOfAnUnknownToken) {
  EXPECT_THAT(OwnerOf("guessed"), IsOkAndHolds(std::optional<TokenOwner>()));
}

TEST_F(AccessReviewTest, TakesNoTokenForAnotherAudience) {
  EXPECT_THAT(OwnerOf("scrape", {"kgpu"}), IsOkAndHolds(std::optional<TokenOwner>()));
  api_.access().AddToken("ours", {.name = "prometheus", .audiences = {"kgpu"}});
  const auto owner = OwnerOf("ours", {"other", "kgpu"});
  ASSERT_OK(owner);
  EXPECT_TRUE(owner->has_value());
}

TEST_F(AccessReviewTest, TakesNoTokenWhenTheServerNamesNoAudience) {
  const json::value review = json::parse(
      R"({"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"n"}}})");
  EXPECT_THAT(OwnerOfReview(review, {"kgpu"}), IsOkAndHolds(std::optional<TokenOwner>()));
  EXPECT_THAT(OwnerOfReview(review, {}), IsOkAndHolds(Optional(TokenOwner{.name = "n"})));
}

TEST_F(AccessReviewTest, AsksWhatTheOwnerMayDo) {
  std::vector<std::string> asked;
  api_.access().SetAuthorizer([&](const json::object& spec) {
    asked.push_back(json::serialize(spec));
    return spec.at("user") == "prometheus";
  });
  const TokenOwner owner{
      .name = "prometheus", .uid = "u1", .groups = {"g"}, .extra = {{"k", {"v"}}}};
  EXPECT_THAT(IsAllowed(Ask(AccessReviewRequest(owner, "get", "/metrics"))), IsOkAndHolds(true));
  EXPECT_THAT(asked,
              ElementsAre(R"({"user":"prometheus","uid":"u1","groups":["g"],"extra":{"k":["v"]},)"
                          R"("nonResourceAttributes":{"path":"/metrics","verb":"get"}})"));
  EXPECT_THAT(IsAllowed(Ask(AccessReviewRequest({.name = "x"}, "get", "/metrics"))),
              IsOkAndHolds(false));
}

TEST_F(AccessReviewTest, DenialWins) {
  EXPECT_THAT(IsAllowed(json::parse(
                  R"({"kind":"SubjectAccessReview","status":{"allowed":true,"denied":true}})")),
              IsOkAndHolds(false));
}

TEST_F(AccessReviewTest, RefusesOtherAnswers) {
  for (const char* text : {"null", "[]", "{}", R"({"kind":"Status"})",
                           R"({"kind":"TokenReview","status":{"authenticated":true}})"}) {
    EXPECT_THAT(OwnerOfReview(json::parse(text), {}), StatusIs(StatusCode::kInternal)) << text;
    EXPECT_THAT(IsAllowed(json::parse(text)), StatusIs(StatusCode::kInternal)) << text;
  }
  for (const char* status : {"null", "1", "{}", R"({"authenticated":"yes"})"}) {
    EXPECT_THAT(
        OwnerOfReview(json::parse(fmt::format(R"({{"kind":"TokenReview","status":{}}})", status)),
                      {}),
        IsOkAndHolds(std::optional<TokenOwner>()))
        << status;
  }
}

}  // namespace
}  // namespace kgpu::kube
