#include "src/kube/api/leader_election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/kube/api/http_client.h"
#include "src/kube/api/json.h"
#include "src/kube/api/test_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// One Lease with optimistic locking, as the API server keeps it.
class LeaseServer {
 public:
  void operator()(const http::Request& request, const Wire& wire) {
    if (is_away) {
      return wire.End(Unavailable("connection refused"));
    }
    ++(request.method == "GET" ? reads : writes);
    if (request.method == "GET") {
      return lease ? wire.Answer(200, BodyOf(*lease)) : wire.Refuse(404, "NotFound");
    }
    json::value body = json::parse(request.body);
    if (request.method == "POST" ? lease.has_value()
                                 : !lease || VersionOf(*lease) != VersionOf(body)) {
      return wire.Refuse(409, request.method == "POST" ? "AlreadyExists" : "Conflict");
    }
    body.at("metadata").as_object()["resourceVersion"] = fmt::format("{}", ++version);
    lease = body;
    wire.Answer(200, BodyOf(body));
  }
  std::string Text(std::string_view key) const {
    return lease ? std::string(TextField(*lease, {"spec", key})) : "none";
  }
  int64_t Number(std::string_view key) const {
    return lease ? IntField(*lease, {"spec", key}).value_or(-1) : -1;
  }
  // Somebody else writes.
  void Set(std::string_view holder, int64_t duration, std::string_view time) {
    lease = {{"metadata", {{"name", "l"}, {"resourceVersion", fmt::format("{}", ++version)}}},
             {"spec",
              {{"holderIdentity", holder},
               {"leaseDurationSeconds", duration},
               {"acquireTime", time},
               {"renewTime", time},
               {"leaseTransitions", 4},
               {"strategy", "OldestEmulationVersion"}}}};
  }

  std::optional<json::value> lease;
  int version = 100;
  int reads = 0;
  int writes = 0;
  bool is_away = false;
};

class LeaderElectionTest : public ::testing::Test {
 protected:
  LeaderElectionTest() { transport_.SetServer(std::ref(server_)); }

  std::unique_ptr<LeaderElection> Run(std::string identity) {
    auto election = LeaderElection::Start(
        loop_, client_, random_, {.space = "ns", .name = "l", .identity = identity},
        {.on_elected = [this, identity] { log_.push_back(identity + " elected"); },
         .on_lost =
             [this, identity](const Status& why) {
               log_.push_back(identity + " lost: " + std::string(Message(why)));
             },
         .on_holder = [this](const std::string& holder) { holders_.push_back(holder); }});
    EXPECT_OK(election);
    return election.ok() ? *std::move(election) : nullptr;
  }
  void Pass(std::chrono::nanoseconds time) { loop_.Advance(time); }

  LeaseServer server_;
  FakeLoop loop_;
  Random random_{1};
  TestTransport transport_{loop_};
  TestAuthenticator authenticator_;
  HttpClient client_{loop_, transport_, authenticator_, random_};
  std::vector<std::string> log_;
  std::vector<std::string> holders_;
};

TEST_F(LeaderElectionTest, TheFirstMakesTheLease) {
  const auto a = Run("a");
  EXPECT_FALSE(a->is_leader());
  Pass(seconds(1));
  EXPECT_TRUE(a->is_leader());
  EXPECT_EQ(server_.Text("holderIdentity"), "a");
  EXPECT_EQ(server_.Number("leaseDurationSeconds"), 15);
  EXPECT_EQ(server_.Number("leaseTransitions"), 0);
  EXPECT_EQ(server_.Text("acquireTime"), "2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(server_.Text("renewTime"), server_.Text("acquireTime"));
  EXPECT_EQ(transport_.request(1).target,
            "/apis/coordination.k8s.io/v1/namespaces/ns/leases?fieldManager=kgpu");
}

TEST_F(LeaderElectionTest, ALeaderRenewsWithOneRequest) {
  const auto a = Run("a");
  Pass(seconds(1));
  server_.reads = server_.writes = 0;
  Pass(seconds(60));
  EXPECT_EQ(server_.reads, 0);
  EXPECT_EQ(server_.writes, 30);
  EXPECT_EQ(server_.Text("acquireTime"), "2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(server_.Text("renewTime"), "2023-11-14T22:14:20.000000Z");
  EXPECT_EQ(server_.Number("leaseTransitions"), 0);
}

TEST_F(LeaderElectionTest, ThereIsOneLeader) {
  const auto a = Run("a");
  const auto b = Run("b");
  Pass(seconds(600));
  EXPECT_EQ(log_.size(), 1U);
  EXPECT_NE(a->is_leader(), b->is_leader());
  EXPECT_EQ(a->holder(), b->holder());
}

TEST_F(LeaderElectionTest, AnotherTakesOverWhenTheLeaderIsGone) {
  auto a = Run("a");
  Pass(seconds(1));
  const auto b = Run("b");
  Pass(seconds(20));
  a.reset();
  Pass(seconds(10));
  EXPECT_FALSE(b->is_leader());
  Pass(seconds(12));
  EXPECT_TRUE(b->is_leader());
  EXPECT_EQ(server_.Number("leaseTransitions"), 1);
}

TEST_F(LeaderElectionTest, ClocksOfOthersDoNotMatter) {
  // A holder whose clock is hours behind, or ahead, and who renews: only that it changes counts.
  for (const char* time : {"2001-01-01T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z"}) {
    const auto a = Run("a");
    for (int i = 0; i < 20; ++i) {
      server_.Set("other", 15, time);
      Pass(seconds(5));
      EXPECT_FALSE(a->is_leader()) << time;
    }
    Pass(seconds(21));
    EXPECT_TRUE(a->is_leader()) << time;
  }
}

TEST_F(LeaderElectionTest, ADeadHolderIsWaitedForItsOwnDuration) {
  server_.Set("other", 60, "2001-01-01T00:00:00.000000Z");
  const auto a = Run("a");
  Pass(seconds(59));
  EXPECT_FALSE(a->is_leader());
  Pass(seconds(6));
  EXPECT_TRUE(a->is_leader());
  EXPECT_EQ(server_.Number("leaseTransitions"), 5);
  EXPECT_EQ(server_.Number("leaseDurationSeconds"), 15);
}

TEST_F(LeaderElectionTest, KeepsWhatItDoesNotKnow) {
  server_.Set("", 1, "2001-01-01T00:00:00.000000Z");
  const auto a = Run("a");
  Pass(seconds(10));
  EXPECT_TRUE(a->is_leader());
  EXPECT_EQ(server_.Text("strategy"), "OldestEmulationVersion");
}

TEST_F(LeaderElectionTest, AReleasedLeaseIsTakenAtOnce) {
  const auto a = Run("a");
  Pass(seconds(1));
  const auto b = Run("b");
  Pass(seconds(5));
  std::optional<Status> released;
  a->Release([&](const Status& status) { released = status; });
  Pass(milliseconds(1));
  ASSERT_TRUE(released.has_value());
  EXPECT_OK(*released);
  EXPECT_EQ(server_.Text("holderIdentity"), "");
  EXPECT_EQ(server_.Number("leaseDurationSeconds"), 1);
  EXPECT_EQ(server_.Number("leaseTransitions"), 0);
  Pass(seconds(5));
  EXPECT_TRUE(b->is_leader());
  EXPECT_FALSE(a->is_leader());
}

TEST_F(LeaderElectionTest, OneWhoIsNoLeaderReleasesNothing) {
  server_.Set("other", 15, "x");
  const auto a = Run("a");
  Pass(seconds(1));
  std::optional<Status> released;
  a->Release([&](const Status& status) { released = status; });
  Pass(seconds(60));
  ASSERT_TRUE(released.has_value());
  EXPECT_OK(*released);
  EXPECT_EQ(server_.writes, 0);
}

TEST_F(LeaderElectionTest, AServerThatIsAwayCostsTheLeadInTime) {
  const auto a = Run("a");
  Pass(seconds(1));
  server_.is_away = true;
  // The last renewal was at most 2 s ago.
  Pass(milliseconds(7'900));
  EXPECT_TRUE(a->is_leader());
  Pass(milliseconds(2'200));
  EXPECT_FALSE(a->is_leader());
  ASSERT_EQ(log_.size(), 2U);
  EXPECT_THAT(log_[1], HasSubstr("a lost: /apis/coordination.k8s.io/v1/namespaces/ns/leases/l was "
                                 "not renewed for 10 s"));
  // It does not come back behind its owner's back.
  server_.is_away = false;
  Pass(seconds(600));
  EXPECT_FALSE(a->is_leader());
  EXPECT_EQ(log_.size(), 2U);
}

TEST_F(LeaderElectionTest, ALateAnswerDoesNotMakeTheLeadLonger) {
  const auto a = Run("a");
  Pass(seconds(1));
  transport_.SetServer(nullptr);  // requests stay open
  Pass(seconds(1));
  const SteadyTime sent = transport_.sent().back().time;
  Pass(seconds(6));
  json::value renewed = json::parse(transport_.sent().back().request.body);
  transport_.last().Answer(200, BodyOf(renewed));
  // Until 10 s after it was sent, not after it was answered.
  Pass(sent + milliseconds(9'999) - loop_.clock().Now());
  EXPECT_TRUE(a->is_leader());
  Pass(milliseconds(2));
  EXPECT_FALSE(a->is_leader());
}

TEST_F(LeaderElectionTest, OneWhoSeesAnotherHolderIsNoLeader) {
  const auto a = Run("a");
  Pass(seconds(1));
  server_.Set("other", 15, "x");
  Pass(seconds(3));
  EXPECT_FALSE(a->is_leader());
  ASSERT_EQ(log_.size(), 2U);
  EXPECT_THAT(log_[1], HasSubstr("held by \"other\""));
}

TEST_F(LeaderElectionTest, OneOfTwoWritersLoses) {
  server_.Set("", 1, "x");
  const auto a = Run("a");
  const auto b = Run("b");
  Pass(seconds(3));
  EXPECT_EQ(server_.Number("leaseTransitions"), 5);
  EXPECT_EQ(log_.size(), 1U);
}

TEST_F(LeaderElectionTest, RefusesTimesThatCannotHold) {
  const auto start = [&](int duration, int deadline, int retry) {
    return LeaderElection::Start(loop_, client_, random_,
                                 {.space = "ns",
                                  .name = "l",
                                  .identity = "a",
                                  .duration = seconds(duration),
                                  .renew_deadline = seconds(deadline),
                                  .retry = seconds(retry)},
                                 {})
        .status();
  };
  EXPECT_OK(start(15, 10, 2));
  for (const auto& status : {start(10, 10, 2), start(15, 12, 10), start(15, 10, 0)}) {
    EXPECT_THAT(status, StatusIs(StatusCode::kInvalidArgument, HasSubstr("renew deadline")));
  }
  EXPECT_THAT(
      LeaderElection::Start(loop_, client_, random_, {.space = "ns", .name = "l"}, {}).status(),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("identity")));
}

}  // namespace
}  // namespace kgpu::kube
