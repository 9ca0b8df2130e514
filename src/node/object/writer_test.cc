#include "src/node/object/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/node/object/test_client.h"
#include "testing/fake_loop.h"

namespace kgpu::node {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A server that holds one label of one node, the way a test tells it to.
class WriterTest : public ::testing::Test {
 protected:
  WriterTest() { writer_.SetOwners({}); }

  boost::json::value NodeJson() const {
    boost::json::object labels;
    boost::json::object fields;
    if (!value_.empty()) {
      labels["a.example/x"] = value_;
      fields["f:a.example/x"] = boost::json::object();
    }
    return {{"metadata",
             {{"name", "n1"},
              {"resourceVersion", std::to_string(version_)},
              {"labels", labels},
              {"managedFields",
               {{{"manager", "kgpu"},
                 {"operation", "Apply"},
                 {"fieldsV1", {{"f:metadata", {{"f:labels", fields}}}}}}}}}}};
  }
  StatusOr<boost::json::value> Answer(const kube::ApiRequest& request) {
    if (!failure_.ok()) {
      return failure_;
    }
    if (request.method == "PATCH") {
      const boost::json::value body = boost::json::parse(request.body);
      const boost::json::object& metadata = body.at("metadata").as_object();
      value_ = metadata.contains("labels")
                   ? metadata.at("labels").at("a.example/x").as_string().c_str()
                   : "";
      ++version_;
    }
    return NodeJson();
  }
  void NotifyNode() {
    auto node = ReadNode(NodeJson());
    ASSERT_TRUE(node.ok());
    writer_.SetNode(*node);
  }
  void Want(const std::string& value) {
    Wanted wanted;
    wanted.claims.emplace().labels["a.example/x"] = value;
    writer_.SetWanted(wanted);
  }
  // Somebody else takes the label away.
  void Undo() {
    value_.clear();
    ++version_;
    NotifyNode();
  }

  FakeLoop loop_;
  Random random_{1};
  std::string value_;
  int version_ = 1;
  Status failure_;
  TestClient client_{loop_, [this](const kube::ApiRequest& request) { return Answer(request); }};
  Writer writer_{loop_, client_, random_, WriterOptions{}, [] {}};
};

TEST_F(WriterTest, WritesNothingBeforeItHasSeenTheNode) {
  Want("1");
  loop_.Advance(std::chrono::hours(1));
  EXPECT_THAT(client_.sent(), IsEmpty());
}

TEST_F(WriterTest, PutsChangesThatComeTogetherIntoOneWrite) {
  NotifyNode();
  for (int i = 0; i < 50; ++i) {
    Want(std::to_string(i));
    loop_.Advance(std::chrono::milliseconds(1));
  }
  loop_.Advance(seconds(1));
  EXPECT_THAT(client_.sent(), SizeIs(1));
  EXPECT_EQ(value_, "49");
  EXPECT_TRUE(writer_.state().is_settled);
}

TEST_F(WriterTest, IsQuietWhenNothingChanges) {
  NotifyNode();
  Want("1");
  loop_.Advance(seconds(1));
  NotifyNode();
  loop_.Advance(std::chrono::hours(24));
  EXPECT_THAT(client_.sent(), SizeIs(1));
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(WriterTest, AnOldEventOfTheWatchDoesNotMakeItWriteAgain) {
  NotifyNode();
  const auto old = ReadNode(NodeJson());
  ASSERT_TRUE(old.ok());
  Want("1");
  loop_.Advance(seconds(1));
  writer_.SetNode(*old);
  loop_.Advance(seconds(1));
  EXPECT_THAT(client_.sent(), SizeIs(1));
}

TEST_F(WriterTest, BelievesAServerThatWasRestoredFromABackup) {
  version_ = 100;
  NotifyNode();
  Want("1");
  loop_.Advance(std::chrono::hours(1));
  value_.clear();
  version_ = 7;
  NotifyNode();
  loop_.Advance(seconds(1));
  EXPECT_EQ(value_, "1");
  EXPECT_EQ(version_, 8);
}

TEST_F(WriterTest, PutsBackWhatSomebodyTookAway) {
  NotifyNode();
  Want("1");
  loop_.Advance(seconds(1));
  Undo();
  loop_.Advance(seconds(1));
  EXPECT_EQ(value_, "1");
}

TEST_F(WriterTest, DoesNotFightForEver) {
  NotifyNode();
  Want("1");
  for (int second = 0; second < 3600; ++second) {
    loop_.Advance(seconds(1));
    if (!value_.empty()) {
      Undo();
    }
  }
  EXPECT_LE(client_.sent().size(), 16U);
  EXPECT_GE(client_.sent().size(), 8U);
}

// Found by a soak run: faults that come and go, not another client, turn a condition to and fro.
TEST_F(WriterTest, AChangeThatIsWantedAgainIsNoFight) {
  NotifyNode();
  for (int i = 0; i < 20; ++i) {
    const std::string value = std::to_string(i % 2);
    Want(value);
    loop_.Advance(std::chrono::milliseconds(200));
    EXPECT_EQ(value_, value) << i;
  }
}

TEST_F(WriterTest, RetriesLessAndLessOften) {
  failure_ = Unavailable("away");
  NotifyNode();
  Want("1");
  loop_.Advance(std::chrono::hours(1));
  EXPECT_LE(client_.sent().size(), 60U);
  EXPECT_THAT(writer_.state().problems, ElementsAre(HasSubstr("away")));
  failure_ = OkStatus();
  loop_.Advance(std::chrono::minutes(6));
  EXPECT_EQ(value_, "1");
  EXPECT_THAT(writer_.state().problems, IsEmpty());
}

TEST_F(WriterTest, AMissingRightIsNamedAndDoesNotStopTheOthers) {
  Wanted wanted;
  wanted.claims.emplace().labels["a.example/x"] = "1";
  wanted.gate.emplace().condition = ConditionText{true, "AllVerified", ""};
  TestClient client(loop_, [this](const kube::ApiRequest& request) -> StatusOr<boost::json::value> {
    if (request.path.ends_with("/status")) {
      return PermissionDenied("nodes/status is forbidden");
    }
    return Answer(request);
  });
  Writer writer(loop_, client, random_, WriterOptions{}, [] {});
  writer.SetNode(*ReadNode(NodeJson()));
  writer.SetWanted(wanted);
  loop_.Advance(seconds(1));
  EXPECT_EQ(value_, "1");
  EXPECT_THAT(writer.state().problems, ElementsAre(HasSubstr("\"patch\" on nodes/status")));
}

TEST_F(WriterTest, TheConditionDoesNotWaitBehindLabelsThatAreForbidden) {
  TestClient client(loop_, [this](const kube::ApiRequest& request) -> StatusOr<boost::json::value> {
    if (request.path.ends_with("/status")) {
      return NodeJson();
    }
    return PermissionDenied("nodes is forbidden");
  });
  Writer writer(loop_, client, random_, WriterOptions{}, [] {});
  writer.SetNode(*ReadNode(NodeJson()));
  Wanted wanted;
  wanted.claims.emplace().labels["a.example/x"] = "1";
  writer.SetWanted(wanted);
  loop_.Advance(std::chrono::hours(1));
  const size_t before = client.sent().size();
  wanted.gate.emplace().condition = ConditionText{false, "DriverLost", ""};
  writer.SetWanted(wanted);
  loop_.Advance(std::chrono::milliseconds(200));
  ASSERT_GT(client.sent().size(), before);
  EXPECT_THAT(client.sent()[before].path, EndsWith("/status"));
}

TEST_F(WriterTest, TheConditionDoesNotWaitBehindAFightOverALabel) {
  NotifyNode();
  Wanted wanted;
  wanted.claims.emplace().labels["a.example/x"] = "1";
  writer_.SetWanted(wanted);
  for (int second = 0; second < 1800; ++second) {
    loop_.Advance(seconds(1));
    if (!value_.empty()) {
      Undo();
    }
  }
  const size_t before = client_.sent().size();
  wanted.gate.emplace().condition = ConditionText{false, "DriverLost", ""};
  writer_.SetWanted(wanted);
  loop_.Advance(std::chrono::milliseconds(200));
  ASSERT_GT(client_.sent().size(), before);
  EXPECT_THAT(client_.sent()[before].path, EndsWith("/status"));
}

TEST_F(WriterTest, AValueThatTheServerRefusesIsAProblemForAsLongAsItIsWanted) {
  failure_ = InvalidArgument("metadata.labels: Invalid value");
  NotifyNode();
  Want("1");
  loop_.Advance(seconds(1));
  EXPECT_THAT(writer_.state().problems,
              ElementsAre(AllOf(HasSubstr("Invalid value"), HasSubstr("fix the rule"))));
  writer_.SetWanted(Wanted{labels::NodeClaims{}, {}});
  loop_.Advance(std::chrono::minutes(1));
  EXPECT_THAT(writer_.state().problems, IsEmpty());
}

TEST_F(WriterTest, AConflictWithARestoredServerIsFixedByReadingAgain) {
  failure_ = MakeStatus(StatusCode::kAborted, "changed since");
  TestClient client(loop_, [&](const kube::ApiRequest& request) -> StatusOr<boost::json::value> {
    if (request.method == "PATCH" && !failure_.ok()) {
      return std::exchange(failure_, OkStatus());
    }
    return Answer(request);
  });
  version_ = 100;
  Writer writer(loop_, client, random_, WriterOptions{}, [] {});
  writer.SetNode(*ReadNode(NodeJson()));
  version_ = 7;
  Wanted wanted;
  wanted.claims.emplace().labels["a.example/x"] = "1";
  writer.SetWanted(wanted);
  loop_.Advance(std::chrono::minutes(1));
  EXPECT_THAT(client.sent(), SizeIs(3));
  EXPECT_TRUE(writer.state().is_settled);
}

TEST_F(WriterTest, AConflictIsFixedByReadingAgain) {
  NotifyNode();
  int conflicts = 0;
  TestClient client(loop_, [&](const kube::ApiRequest& request) -> StatusOr<boost::json::value> {
    if (request.method == "PATCH" && conflicts++ == 0) {
      ++version_;
      return MakeStatus(StatusCode::kAborted, "changed since");
    }
    return Answer(request);
  });
  Writer writer(loop_, client, random_, WriterOptions{}, [] {});
  writer.SetNode(*ReadNode(NodeJson()));
  Wanted wanted;
  wanted.claims.emplace().labels["a.example/x"] = "1";
  writer.SetWanted(wanted);
  loop_.Advance(seconds(2));
  EXPECT_EQ(value_, "1");
  EXPECT_THAT(client.sent(), SizeIs(3));
}

TEST_F(WriterTest, ANodeThatIsGoneIsNotWritten) {
  NotifyNode();
  writer_.SetNode(std::nullopt);
  Want("1");
  loop_.Advance(seconds(10));
  EXPECT_THAT(client_.sent(), IsEmpty());
}

}  // namespace
}  // namespace kgpu::node
