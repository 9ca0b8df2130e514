#include "src/kube/api/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/kube/api/api_error.h"
#include "src/kube/api/json.h"
#include "src/kube/api/test_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class HttpClientTest : public ::testing::Test {
 protected:
  void Send(ApiRequest request) {
    result_.reset();
    call_ = client_.Send(std::move(request),
                         [this](StatusOr<json::value> result) { result_ = std::move(result); });
    loop_.Advance(milliseconds(0));
  }
  void Stream() {
    end_.reset();
    call_ = client_.Stream({.path = "/api/v1/nodes"},
                           {.on_event =
                                [this](WatchEventType, json::value&& object) {
                                  names_.emplace_back(NameOf(object));
                                  if (names_.back() == "last") {
                                    call_.reset();
                                  }
                                },
                            .on_end = [this](const Status& status) { end_ = status; }});
    loop_.Advance(milliseconds(0));
  }
  json::value Object() const { return result_ && result_->ok() ? **result_ : json::value(); }
  Status End() const { return end_.value_or(Internal("no end")); }
  Status result() const { return result_ ? result_->status() : Internal("no result"); }

  FakeLoop loop_;
  Random random_{1};
  TestTransport transport_{loop_};
  TestAuthenticator authenticator_;
  HttpClient client_{loop_, transport_, authenticator_, random_, {.user_agent = "test/1"}};
  std::unique_ptr<Call> call_;
  std::optional<StatusOr<json::value>> result_;
  std::optional<Status> end_;
  std::vector<std::string> names_;
};

TEST_F(HttpClientTest, AsksAndGetsAnObject) {
  Send({.method = "PATCH",
        .path = "/api/v1/nodes/n1",
        .query = {{"fieldManager", "k g"}},
        .content_type = "application/merge-patch+json",
        .body = "{}"});
  ASSERT_EQ(transport_.sent().size(), 1U);
  const http::Request& request = transport_.request(0);
  EXPECT_EQ(request.method, "PATCH");
  EXPECT_EQ(request.target, "/api/v1/nodes/n1?fieldManager=k%20g");
  EXPECT_EQ(request.body, "{}");
  EXPECT_EQ(request.headers, (http::Headers{{"Authorization", "Bearer t0"},
                                            {"User-Agent", "test/1"},
                                            {"Accept", "application/json"},
                                            {"Content-Type", "application/merge-patch+json"}}));
  EXPECT_FALSE(result_.has_value());
  transport_.last().Head(200);
  transport_.last().Data("{\"metadata\":{\"na");
  transport_.last().Data("me\":\"n1\"}}");
  transport_.last().End();
  ASSERT_OK(result());
  const json::value object = Object();
  EXPECT_EQ(NameOf(object), "n1");
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(HttpClientTest, AnAnswerWithoutABodyIsNull) {
  Send({.method = "DELETE", .path = "/x"});
  transport_.last().Answer(200, "");
  ASSERT_OK(result());
  EXPECT_TRUE(Object().is_null());
}

TEST_F(HttpClientTest, AnAnswerThatIsNoJsonIsNoAnswer) {
  Send({.path = "/x"});
  transport_.last().Answer(200, "<html>");
  EXPECT_THAT(result(), StatusIs(StatusCode::kUnavailable, HasSubstr("GET /x")));
}

TEST_F(HttpClientTest, FreshCredentialsAreTriedOnce) {
  Send({.method = "POST", .path = "/x"});
  transport_.last().Refuse(401, "Unauthorized");
  loop_.Advance(milliseconds(0));
  ASSERT_EQ(transport_.sent().size(), 2U);
  EXPECT_EQ(transport_.request(1).headers.Find("Authorization"), "Bearer t1");
  transport_.last().Refuse(401, "Unauthorized");
  loop_.Advance(seconds(60));
  EXPECT_EQ(transport_.sent().size(), 2U);
  EXPECT_THAT(result(), StatusIs(StatusCode::kUnauthenticated, HasSubstr("valid credentials")));
}

TEST_F(HttpClientTest, NoSecretIsInAnError) {
  Send({.method = "POST", .path = "/x", .body = "secret-body"});
  transport_.last().Answer(401, "");
  loop_.Advance(milliseconds(0));
  transport_.last().Answer(401, "");
  EXPECT_THAT(result(), StatusIs(StatusCode::kUnauthenticated,
                                 AllOf(Not(HasSubstr("Bearer")), Not(HasSubstr("secret")))));
}

TEST_F(HttpClientTest, RepeatsWhenTheServerSaysWhen) {
  for (const int code : {429, 500, 503}) {
    transport_.Forget();
    Send({.method = "POST", .path = "/x"});
    loop_.Advance(seconds(20));
    ASSERT_EQ(transport_.sent().size(), 1U) << code;
    const SteadyTime refused = loop_.clock().Now();
    transport_.last().Refuse(code, "Busy", {{"Retry-After", "2"}});
    loop_.Advance(seconds(3));
    ASSERT_EQ(transport_.sent().size(), 2U) << code;
    // Later than asked, so that many nodes do not come back together.
    EXPECT_GT(transport_.sent()[1].time - refused, seconds(2));
    EXPECT_LE(transport_.sent()[1].time - refused, seconds(3));
    transport_.last().Answer(200, "{}");
    EXPECT_OK(result());
  }
}

TEST_F(HttpClientTest, DoesNotRepeatWhatNobodyAskedToRepeat) {
  for (const int code : {429, 500, 503, 504, 409, 422, 404}) {
    Send({.path = "/x"});
    transport_.last().Refuse(code, "Some");
    EXPECT_FALSE(result().ok()) << code;
  }
  EXPECT_EQ(transport_.sent().size(), 7U);
  // Only load is a reason to come later.
  Send({.path = "/x"});
  transport_.last().Refuse(409, "Conflict", {{"Retry-After", "1"}});
  EXPECT_THAT(result(), StatusIs(StatusCode::kAborted));
  Send({.path = "/x"});
  EXPECT_EQ(transport_.sent().size(), 9U);
}

TEST_F(HttpClientTest, StopsRepeatingAtTheDeadline) {
  Send({.path = "/x", .timeout = seconds(10)});
  transport_.last().Refuse(429, "TooManyRequests", {{"Retry-After", "30"}});
  // It would be over by then: reported at once, with the time for whoever tries again.
  EXPECT_THAT(result(), StatusIs(StatusCode::kUnavailable));
  EXPECT_EQ(RetryAfterOf(result()), seconds(30));
}

TEST_F(HttpClientTest, RepeatsNothingForThoseWhoDoSoThemselves) {
  Send({.path = "/x", .is_repeated = false});
  transport_.last().End(Unavailable("reset"));
  EXPECT_THAT(result(), StatusIs(StatusCode::kUnavailable));
  Send({.path = "/x", .is_repeated = false});
  transport_.last().Refuse(429, "TooManyRequests", {{"Retry-After", "1"}});
  EXPECT_EQ(RetryAfterOf(result()), seconds(1));
  loop_.Advance(seconds(60));
  EXPECT_EQ(transport_.sent().size(), 2U);
}

TEST_F(HttpClientTest, RepeatsOnlySoOften) {
  transport_.SetServer([](const http::Request&, const Wire& wire) {
    wire.Refuse(429, "TooManyRequests", {{"Retry-After", "1"}});
  });
  Send({.path = "/x", .timeout = seconds(600)});
  loop_.Advance(seconds(300));
  EXPECT_EQ(transport_.sent().size(), 11U);
  EXPECT_THAT(result(), StatusIs(StatusCode::kUnavailable));
}

TEST_F(HttpClientTest, AServerThatWantsToBeLeftAloneIsLeftAloneByAll) {
  Send({.path = "/x", .timeout = seconds(5)});
  transport_.last().Refuse(429, "TooManyRequests", {{"Retry-After", "20"}});
  Send({.path = "/y", .timeout = seconds(5)});
  loop_.Advance(seconds(19));
  EXPECT_EQ(transport_.sent().size(), 1U);
  EXPECT_FALSE(result_.has_value());
  loop_.Advance(seconds(11));
  EXPECT_EQ(transport_.sent().size(), 2U);
}

TEST_F(HttpClientTest, ABudgetThatForbidsAnEvictionIsNoThrottling) {
  Send({.method = "POST", .path = "/eviction"});
  transport_.last().Answer(429,
                           R"({"kind":"Status","code":429,"reason":"TooManyRequests",
          "details":{"causes":[{"reason":"DisruptionBudget"}]}})",
                           {{"Retry-After", "10"}});
  EXPECT_TRUE(HasReason(result(), "DisruptionBudget"));
  Send({.path = "/other"});
  EXPECT_EQ(transport_.sent().size(), 2U);
}

TEST_F(HttpClientTest, ABrokenConnectionIsTriedAgainForReadersOnly) {
  Send({.path = "/x"});
  transport_.last().End(Unavailable("reset"));
  loop_.Advance(seconds(2));
  ASSERT_EQ(transport_.sent().size(), 2U);
  transport_.last().Answer(200, "{}");
  EXPECT_OK(result());

  Send({.method = "PUT", .path = "/x"});
  transport_.last().End(Unavailable("reset"));
  EXPECT_THAT(result(), StatusIs(StatusCode::kUnavailable, HasSubstr("PUT /x: reset")));
  EXPECT_FALSE(ApiErrorOf(result()).has_value());
}

TEST_F(HttpClientTest, AWrongCertificateIsNotTriedAgain) {
  Send({.path = "/x"});
  transport_.last().End(FailedPrecondition("the certificate has expired"));
  EXPECT_THAT(result(), StatusIs(StatusCode::kFailedPrecondition));
}

TEST_F(HttpClientTest, WhatIsNotFoundHereIsNoObjectThatIsNotFound) {
  for (const StatusCode code : {StatusCode::kNotFound, StatusCode::kPermissionDenied,
                                StatusCode::kInvalidArgument, StatusCode::kOutOfRange}) {
    Send({.path = "/x"});
    transport_.last().End(MakeStatus(code, "/ca.crt"));
    EXPECT_THAT(result(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("GET /x: /ca.crt")));
  }
  authenticator_.SetStatus(NotFound("login: not found in PATH"));
  Send({.path = "/x"});
  EXPECT_THAT(result(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("GET /x: login")));
}

TEST_F(HttpClientTest, HasADeadline) {
  Send({.path = "/x", .timeout = seconds(5)});
  transport_.last().Head(200);
  loop_.Advance(milliseconds(4'999));
  EXPECT_FALSE(result_.has_value());
  loop_.Advance(milliseconds(1));
  EXPECT_THAT(result(), StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("GET /x")));
  EXPECT_FALSE(transport_.last().is_open());
}

TEST_F(HttpClientTest, KeepsItsRate) {
  transport_.SetServer([](const http::Request&, const Wire& wire) { wire.Answer(200, "{}"); });
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 60; ++i) {
    calls.push_back(client_.Send({.path = "/x"}, [](const StatusOr<json::value>&) {}));
  }
  loop_.Advance(seconds(1));
  EXPECT_EQ(transport_.sent().size(), 15U);
  loop_.Advance(seconds(9));
  EXPECT_EQ(transport_.sent().size(), 60U);
}

TEST_F(HttpClientTest, TooManyCallsAreTurnedAway) {
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<Status> ends;
  for (int i = 0; i < 300; ++i) {
    calls.push_back(client_.Send(
        {.path = "/x"}, [&](const StatusOr<json::value>& r) { ends.push_back(r.status()); }));
  }
  EXPECT_TRUE(ends.empty());
  loop_.Advance(milliseconds(0));
  ASSERT_EQ(ends.size(), 300U - 256U);
  EXPECT_THAT(ends[0], StatusIs(StatusCode::kResourceExhausted));
}

TEST_F(HttpClientTest, AnAnswerHasALimit) {
  HttpClient small(loop_, transport_, authenticator_, random_, {.max_answer = 10});
  call_ = small.Send({.path = "/x"}, [this](StatusOr<json::value> r) { result_ = std::move(r); });
  loop_.Advance(milliseconds(0));
  transport_.last().Head(200);
  transport_.last().Data("12345678901");
  EXPECT_THAT(result(), StatusIs(StatusCode::kOutOfRange, HasSubstr("larger than 10 bytes")));
  EXPECT_FALSE(transport_.last().is_open());
  call_.reset();  // before its client
}

TEST_F(HttpClientTest, AnErrorHasALimitToo) {
  Send({.path = "/x"});
  transport_.last().Head(500);
  transport_.last().Data(std::string(1 << 20, 'x'));
  EXPECT_THAT(result(), StatusIs(StatusCode::kUnavailable, HasSubstr("500")));
  EXPECT_LT(Message(result()).size(), 1000U);
}

TEST_F(HttpClientTest, ACallGivenUpCallsNobody) {
  Send({.path = "/x"});
  call_.reset();
  EXPECT_FALSE(transport_.last().is_open());
  Send({.path = "/x"});
  transport_.last().Refuse(429, "Busy", {{"Retry-After", "1"}});
  call_.reset();
  loop_.Advance(seconds(60));
  EXPECT_FALSE(result_.has_value());
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(HttpClientTest, BringsTheEventsOfAWatch) {
  Stream();
  transport_.last().Head(200);
  // The deadline was for the beginning.
  loop_.Advance(seconds(3'000));
  transport_.last().Data("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n{\"ty");
  transport_.last().Data("pe\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n");
  EXPECT_THAT(names_, ElementsAre("a", "b"));
  EXPECT_FALSE(end_.has_value());
  transport_.last().End();
  EXPECT_OK(End());
}

TEST_F(HttpClientTest, PassesATextOnAsItComes) {
  std::string text;
  call_ = client_.Stream({.path = "/api/v1/namespaces/a/pods/p/log"},
                         {.on_text = [&](std::string_view bytes) { text += bytes; },
                          .on_end = [this](const Status& status) { end_ = status; }});
  loop_.Advance(milliseconds(0));
  transport_.last().Head(200);
  transport_.last().Data("epoch 1\nepo");
  EXPECT_EQ(text, "epoch 1\nepo");
  loop_.Advance(seconds(3'000));
  transport_.last().Data("ch 2");
  EXPECT_FALSE(end_.has_value());
  transport_.last().End();
  EXPECT_OK(End());
  EXPECT_EQ(text, "epoch 1\nepoch 2");
}

TEST_F(HttpClientTest, ARefusalIsNoText) {
  call_ = client_.Stream({.path = "/api/v1/namespaces/a/pods/p/log"},
                         {.on_text = [](std::string_view) { FAIL() << "no text"; },
                          .on_end = [this](const Status& status) { end_ = status; }});
  loop_.Advance(milliseconds(0));
  transport_.last().Refuse(404, "NotFound");
  EXPECT_THAT(End(), StatusIs(StatusCode::kNotFound));
}

TEST_F(HttpClientTest, AWatchMayBeGivenUpWithinAnEvent) {
  Stream();
  transport_.last().Head(200);
  transport_.last().Data(
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"last\"}}}\n"
      "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"c\"}}}\n");
  EXPECT_THAT(names_, ElementsAre("last"));
  EXPECT_FALSE(transport_.last().is_open());
  EXPECT_FALSE(end_.has_value());
}

TEST_F(HttpClientTest, AWatchThatEndsWithinAnEventIsNotWhole) {
  Stream();
  transport_.last().Head(200);
  transport_.last().Data("{\"type\"");
  transport_.last().End();
  EXPECT_THAT(End(), StatusIs(StatusCode::kUnavailable, HasSubstr("inside an event")));
}

TEST_F(HttpClientTest, AnErrorOfAWatchComesAsAnswerOrWithinIt) {
  Stream();
  transport_.last().Refuse(410, "Gone");
  EXPECT_THAT(End(), StatusIs(StatusCode::kOutOfRange));

  Stream();
  transport_.last().Head(200);
  transport_.last().Data(
      "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}}"
      "\n");
  EXPECT_THAT(End(), StatusIs(StatusCode::kOutOfRange));
  EXPECT_FALSE(transport_.last().is_open());
}

TEST_F(HttpClientTest, AWatchIsNotBegunAgainBehindItsOwnersBack) {
  Stream();
  transport_.last().Refuse(429, "TooManyRequests", {{"Retry-After", "1"}});
  EXPECT_EQ(RetryAfterOf(End()), seconds(1));
  Stream();
  loop_.Advance(seconds(2));
  transport_.last().End(Unavailable("refused"));
  EXPECT_THAT(End(), StatusIs(StatusCode::kUnavailable));
  EXPECT_EQ(transport_.sent().size(), 2U);
}

TEST_F(HttpClientTest, AWatchMustBeginInTime) {
  Stream();
  loop_.Advance(seconds(30));
  EXPECT_THAT(End(), StatusIs(StatusCode::kDeadlineExceeded));
}

}  // namespace
}  // namespace kgpu::kube
