#include "src/node/telemetry/cluster_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/base/log.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::telemetry {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using ::testing::HasSubstr;

// An API server that answers when the test says so.
class TestClient final : public kube::Client {
 public:
  struct Sent {
    kube::ApiRequest request;
    Done done;
  };

  std::unique_ptr<kube::Call> Send(kube::ApiRequest request, Done done) override {
    auto sent = std::make_shared<Sent>(Sent{std::move(request), std::move(done)});
    sent_.push_back(sent);
    ++count_;
    return std::make_unique<TestCall>(std::move(sent));
  }
  std::unique_ptr<kube::Call> Stream(kube::ApiRequest /*request*/,
                                     kube::StreamHandlers /*handlers*/) override {
    return nullptr;
  }
  size_t open() const { return sent_.size(); }
  size_t count() const { return count_; }
  const kube::ApiRequest& first() const { return sent_.front()->request; }
  void Answer(StatusOr<json::value> answer) {
    const std::shared_ptr<Sent> sent = sent_.front();
    sent_.erase(sent_.begin());
    if (const Done done = std::exchange(sent->done, nullptr)) {
      done(std::move(answer));
    }
  }
  void Answer(std::string_view text) { Answer(StatusOr<json::value>(json::parse(text))); }

 private:
  class TestCall final : public kube::Call {
   public:
    explicit TestCall(std::shared_ptr<Sent> sent) : sent_(std::move(sent)) {}
    ~TestCall() override { sent_->done = nullptr; }
    TestCall(const TestCall&) = delete;
    TestCall& operator=(const TestCall&) = delete;

   private:
    std::shared_ptr<Sent> sent_;
  };

  std::vector<std::shared_ptr<Sent>> sent_;
  size_t count_ = 0;
};

constexpr std::string_view kOwner =
    R"({"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"prometheus"}}})";
constexpr std::string_view kNobody = R"({"kind":"TokenReview","status":{"authenticated":false}})";
constexpr std::string_view kYes = R"({"kind":"SubjectAccessReview","status":{"allowed":true}})";
constexpr std::string_view kNo = R"({"kind":"SubjectAccessReview","status":{"allowed":false}})";

class ClusterTokensTest : public ::testing::Test {
 protected:
  explicit ClusterTokensTest(ClusterTokensOptions options = {.max_known = 4, .max_asked = 2})
      : tokens_(ClusterTokens::Create(
                    loop_, [this] { return has_cluster_ ? &client_ : nullptr; }, std::move(options))
                    .value()) {}

  // The verdict so far: code 0 while there is none.
  std::shared_ptr<Verdict> Check(const std::string& token) {
    auto verdict = std::make_shared<Verdict>(Verdict{.code = 0});
    tokens_->Check(token, [verdict](const Verdict& said) { *verdict = said; });
    return verdict;
  }
  int Ask(const std::string& token, std::string_view owner, std::string_view access = "") {
    const auto verdict = Check(token);
    client_.Answer(owner);
    if (!access.empty()) {
      client_.Answer(access);
    }
    return verdict->code;
  }

  FakeLoop loop_;
  TestClient client_;
  bool has_cluster_ = true;
  std::unique_ptr<ClusterTokens> tokens_;
};

TEST_F(ClusterTokensTest, LetsThroughWhoMayGetThePath) {
  const auto verdict = Check("t");
  EXPECT_EQ(client_.first().path, "/apis/authentication.k8s.io/v1/tokenreviews");
  client_.Answer(kOwner);
  EXPECT_EQ(verdict->code, 0);
  EXPECT_EQ(client_.first().path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
  EXPECT_THAT(client_.first().body, HasSubstr(R"({"path":"/metrics","verb":"get"})"));
  client_.Answer(kYes);
  EXPECT_EQ(verdict->code, 200);
}

TEST_F(ClusterTokensTest, TellsWhoIsNotAllowedHowToBe) {
  const auto verdict = Check("t");
  client_.Answer(kOwner);
  client_.Answer(kNo);
  EXPECT_EQ(verdict->code, 403);
  EXPECT_THAT(verdict->text, HasSubstr("prometheus is not allowed to get /metrics"));
  EXPECT_THAT(verdict->text, HasSubstr("nonResourceURLs"));
}

TEST_F(ClusterTokensTest, LetsNobodyThroughWithAnUnknownToken) {
  EXPECT_EQ(Ask("t", kNobody), 401);
  EXPECT_EQ(client_.open(), 0U) << "there is no second question";
}

TEST_F(ClusterTokensTest, AsksOnceForRequestsThatComeTogether) {
  const auto first = Check("t");
  const auto second = Check("t");
  EXPECT_EQ(client_.count(), 1U);
  client_.Answer(kOwner);
  client_.Answer(kYes);
  EXPECT_EQ(first->code, 200);
  EXPECT_EQ(second->code, 200);
}

TEST_F(ClusterTokensTest, RemembersAYesForAWhile) {
  EXPECT_EQ(Ask("t", kOwner, kYes), 200);
  loop_.Advance(seconds(119));
  EXPECT_EQ(Check("t")->code, 200);
  loop_.Advance(seconds(1));
  EXPECT_EQ(Ask("t", kNobody), 401) << "it was taken back";
}

TEST_F(ClusterTokensTest, RemembersANoForLess) {
  EXPECT_EQ(Ask("t", kOwner, kNo), 403);
  loop_.Advance(seconds(9));
  EXPECT_EQ(Check("t")->code, 403);
  loop_.Advance(seconds(1));
  EXPECT_EQ(Ask("t", kOwner, kYes), 200);
}

TEST_F(ClusterTokensTest, AYesOutlivesTheServersAbsence) {
  EXPECT_EQ(Ask("t", kOwner, kYes), 200);
  loop_.Advance(seconds(121));
  const auto verdict = Check("t");
  client_.Answer(Unavailable("connection refused"));
  EXPECT_EQ(verdict->code, 200);
  EXPECT_EQ(Check("t")->code, 200) << "the server is not asked with every request";
  EXPECT_EQ(client_.count(), 3U);
  loop_.Advance(seconds(800));
  const auto late = Check("t");
  client_.Answer(Unavailable("connection refused"));
  EXPECT_EQ(late->code, 503);
  EXPECT_THAT(late->text, HasSubstr("connection refused"));
}

TEST_F(ClusterTokensTest, CannotTellWhileTheServerIsAway) {
  const auto verdict = Check("t");
  client_.Answer(Unavailable("connection refused"));
  EXPECT_EQ(verdict->code, 503);
  loop_.Advance(seconds(5));
  EXPECT_EQ(Ask("t", kOwner, kYes), 200);
}

TEST_F(ClusterTokensTest, CannotTellWithoutACluster) {
  has_cluster_ = false;
  EXPECT_EQ(Check("t")->code, 503);
  EXPECT_EQ(tokens_->known(), 0U);
  has_cluster_ = true;
  EXPECT_EQ(Ask("t", kOwner, kYes), 200);
}

TEST_F(ClusterTokensTest, AsksAboutFewTokensAtATime) {
  const auto first = Check("t1");
  const auto second = Check("t2");
  EXPECT_EQ(Check("t3")->code, 503);
  client_.Answer(kNobody);
  EXPECT_EQ(first->code, 401);
  const auto third = Check("t3");
  EXPECT_EQ(third->code, 0);
  EXPECT_EQ(second->code, 0);
}

TEST_F(ClusterTokensTest, GuessedTokensDoNotPushAGoodOneOut) {
  EXPECT_EQ(Ask("good", kOwner, kYes), 200);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(Ask(fmt::format("guess {}", i), kNobody), 401);
    EXPECT_LE(tokens_->known(), 4U);
  }
  EXPECT_EQ(Check("good")->code, 200);
}

TEST_F(ClusterTokensTest, GuessesDoNotKeepAGoodTokenFromBeingRenewed) {
  EXPECT_EQ(Ask("good", kOwner, kYes), 200);
  loop_.Advance(seconds(121));
  const auto guess = Check("guess 1");
  const auto other = Check("guess 2");
  EXPECT_EQ(Check("guess 3")->code, 503);
  const size_t before = client_.count();
  const auto good = Check("good");
  EXPECT_EQ(client_.count(), before + 1) << "it is asked about all the same";
  client_.Answer(kNobody);
  client_.Answer(kNobody);
  client_.Answer(kOwner);
  client_.Answer(kYes);
  EXPECT_EQ(good->code, 200);
  EXPECT_EQ(Check("guess 4")->code, 0) << "there is room again";
}

TEST_F(ClusterTokensTest, GuessesDoNotPushOutAYesThatIsToBeRenewed) {
  EXPECT_EQ(Ask("good", kOwner, kYes), 200);
  loop_.Advance(seconds(121));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Ask(fmt::format("guess {}", i), kNobody), 401);
  }
  has_cluster_ = false;
  EXPECT_EQ(Check("good")->code, 200);
}

TEST_F(ClusterTokensTest, SaysThatTheServerIsAwayAFewTimesOnly) {
  size_t lines = 0;
  SetLogSink([&](LogLevel, std::string_view line) {
    lines += line.find("tokens not checked") != std::string_view::npos ? 1 : 0;
  });
  for (int i = 0; i < 20; ++i) {
    (void)Check(fmt::format("t{}", i));
    client_.Answer(Unavailable("connection refused"));
    EXPECT_THAT(tokens_->Problem(), HasSubstr("connection refused"));
    EXPECT_EQ(Ask(fmt::format("u{}", i), kNobody), 401);
    EXPECT_EQ(tokens_->Problem(), "");
  }
  SetLogSink({});
  EXPECT_EQ(lines, 3U);
}

TEST_F(ClusterTokensTest, TakesNoEndlessToken) {
  EXPECT_EQ(Check(std::string(10'000, 'x'))->code, 401);
  EXPECT_EQ(client_.count(), 0U);
}

TEST_F(ClusterTokensTest, AnswersWhoWaitsWhenItGoes) {
  const auto verdict = Check("t");
  tokens_.reset();
  EXPECT_EQ(verdict->code, 503);
  client_.Answer(kOwner);
}

TEST_F(ClusterTokensTest, AVerdictMayLeadToTheNextQuestion) {
  int code = 0;
  tokens_->Check("t", [&](const Verdict&) {
    tokens_->Check("t", [&](const Verdict& verdict) { code = verdict.code; });
  });
  client_.Answer(kOwner);
  client_.Answer(kYes);
  EXPECT_EQ(code, 200);
}

}  // namespace
}  // namespace kgpu::telemetry
