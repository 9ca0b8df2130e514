#include "src/kube/api/eviction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <optional>

#include "src/kube/api/http_client.h"
#include "src/kube/api/test_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;

class EvictionTest : public ::testing::Test {
 protected:
  StatusOr<EvictionResult> Ask(int code, std::string_view reason, std::string_view cause = "") {
    std::optional<StatusOr<EvictionResult>> result;
    const auto call =
        Evict(client_, {.space = "ns", .name = "p", .uid = "u", .grace = std::chrono::seconds(9)},
              [&](StatusOr<EvictionResult> r) { result = std::move(r); });
    loop_.Advance(std::chrono::milliseconds(0));
    transport_.last().Answer(code, code < 300
                                       ? R"({"kind":"Status","status":"Success"})"
                                       : fmt::format(R"({{"kind":"Status","code":{},"reason":"{}",
                                      "details":{{"causes":[{{"reason":"{}"}}]}}}})",
                                                     code, reason, cause));
    return result.value_or(Internal("no result"));
  }

  FakeLoop loop_;
  Random random_{1};
  TestTransport transport_{loop_};
  TestAuthenticator authenticator_;
  HttpClient client_{loop_, transport_, authenticator_, random_};
};

TEST_F(EvictionTest, AsksForThePodThatWasSeen) {
  EXPECT_THAT(Ask(201, ""), IsOkAndHolds(EvictionResult::kAccepted));
  EXPECT_EQ(transport_.request(0).method, "POST");
  EXPECT_EQ(transport_.request(0).target, "/api/v1/namespaces/ns/pods/p/eviction");
  EXPECT_EQ(json::parse(transport_.request(0).body),
            json::parse(R"({"apiVersion":"policy/v1","kind":"Eviction",
                "metadata":{"name":"p","namespace":"ns"},
                "deleteOptions":{"preconditions":{"uid":"u"},"gracePeriodSeconds":9}})"));
}

TEST_F(EvictionTest, SaysWhatCameOfIt) {
  EXPECT_THAT(Ask(429, "TooManyRequests", "DisruptionBudget"),
              IsOkAndHolds(EvictionResult::kForbidden));
  EXPECT_THAT(Ask(404, "NotFound"), IsOkAndHolds(EvictionResult::kGone));
  EXPECT_THAT(Ask(403, "Forbidden", "NamespaceTerminating"), IsOkAndHolds(EvictionResult::kGone));
  EXPECT_THAT(Ask(409, "Conflict"), IsOkAndHolds(EvictionResult::kOtherPod));
  EXPECT_THAT(Ask(403, "Forbidden"), StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(Ask(429, "TooManyRequests"), StatusIs(StatusCode::kUnavailable));
  EXPECT_THAT(Ask(500, "InternalError"), StatusIs(StatusCode::kUnavailable));
}

}  // namespace
}  // namespace kgpu::kube
