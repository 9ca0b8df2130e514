#include "src/node/cluster/event_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <vector>

#include "src/kube/api/http_client.h"
#include "src/kube/api/json.h"
#include "src/kube/api/test_transport.h"
#include "testing/fake_loop.h"

namespace kgpu::cluster {
namespace {

namespace json = boost::json;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class EventPublisherTest : public ::testing::Test {
 protected:
  EventPublisherTest() {
    transport_.SetServer([this](const http::Request& request, const kube::Wire& wire) {
      if (request.method == "POST") {
        const json::value event = json::parse(request.body);
        written_.push_back(std::string(kube::TextField(event, {"regarding", "name"})) + "/" +
                           std::string(kube::TextField(event, {"regarding", "uid"})));
        return wire.Answer(201, "{}");
      }
      ++asked_;
      if (code_ != 200) {
        return wire.Refuse(code_, "Some");
      }
      wire.Answer(200, R"({"metadata":{"name":"p","uid":"from-the-server"}})");
    });
  }
  static kube::Event OnPod(const std::string& name, const std::string& uid,
                           const std::string& reason = "GPUUnhealthy") {
    return {
        .is_warning = true,
        .reason = reason,
        .action = "WatchingHealth",
        .note = "x",
        .regarding = {.api_version = "v1", .kind = "Pod", .space = "ml", .name = name, .uid = uid}};
  }
  static kube::Event OnNode() {
    return {.reason = "GPURecovered",
            .action = "WatchingHealth",
            .regarding = {.api_version = "v1", .kind = "Node", .name = "n1"}};
  }

  int code_ = 200;
  int asked_ = 0;
  std::vector<std::string> written_;
  FakeLoop loop_;
  Random random_{1};
  kube::TestTransport transport_{loop_};
  kube::TestAuthenticator authenticator_;
  EventPublisher handler_{
      loop_, std::make_unique<kube::HttpClient>(loop_, transport_, authenticator_, random_),
      random_, "n1"};
};

TEST_F(EventPublisherTest, KnownUidsAreWrittenAsTheyAre) {
  handler_.SetNodeUid("node-uid");
  handler_.Record(OnNode());
  handler_.Record(OnPod("a", "u-a"));
  loop_.Advance(minutes(1));
  EXPECT_THAT(written_, UnorderedElementsAre("n1/node-uid", "a/u-a"));
  EXPECT_EQ(asked_, 0);
}

TEST_F(EventPublisherTest, APodsUidIsAskedForOnce) {
  handler_.Record(OnPod("p", ""));
  handler_.Record(OnPod("p", "", "GPUWarning"));
  loop_.Advance(minutes(1));
  EXPECT_THAT(written_, ElementsAre("p/from-the-server", "p/from-the-server"));
  EXPECT_EQ(asked_, 1);
}

TEST_F(EventPublisherTest, APodThatIsGoneIsNotWrittenAbout) {
  code_ = 404;
  handler_.Record(OnPod("p", ""));
  loop_.Advance(minutes(1));
  EXPECT_THAT(written_, IsEmpty());
}

TEST_F(EventPublisherTest, WithoutTheRightToAskTheEventIsWrittenAllTheSame) {
  code_ = 403;
  handler_.Record(OnPod("p", ""));
  loop_.Advance(minutes(1));
  EXPECT_THAT(written_, ElementsAre("p/"));
}

TEST_F(EventPublisherTest, FewWaitAndTheOthersAreWrittenAtOnce) {
  for (size_t i = 0; i < EventPublisher::kMaxWaiting + 5; ++i) {
    handler_.Record(OnPod(fmt::format("p{}", i), ""));
  }
  loop_.Advance(minutes(10));
  EXPECT_THAT(written_, SizeIs(EventPublisher::kMaxWaiting + 5));
  EXPECT_EQ(asked_, static_cast<int>(EventPublisher::kMaxWaiting));
}

}  // namespace
}  // namespace kgpu::cluster
