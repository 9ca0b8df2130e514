#include "src/node/cluster/pod_evictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/kube/api/http_client.h"
#include "src/kube/api/test_transport.h"
#include "testing/fake_loop.h"

namespace kgpu::cluster {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PodEvictorTest : public ::testing::Test {
 protected:
  PodEvictorTest() {
    transport_.SetServer([this](const http::Request& request, const kube::Wire& wire) {
      asked_.push_back(request.method + " " + request.path + " " + request.body);
      if (code_ == 429) {
        wire.Answer(429, R"({"kind":"Status","reason":"TooManyRequests","code":429,"message":"no",
                             "details":{"causes":[{"reason":"DisruptionBudget"}]}})");
      } else if (code_ != 201) {
        wire.Refuse(code_, "Forbidden");
      } else {
        wire.Answer(201, "{}");
      }
    });
  }
  static slices::SliceUse UseOf(const std::string& pod, const std::string& uid) {
    return {.user = {.pod_namespace = "ml", .pod = pod, .container = "main", .pod_uid = uid},
            .device_uuid = "GPU-a",
            .limit = GibiBytes(20),
            .used = GibiBytes(30)};
  }
  void Evict(const std::string& pod, const std::string& uid) {
    evictor_.Evict(UseOf(pod, uid));
    loop_.Advance(std::chrono::seconds(1));
  }

  int code_ = 201;
  std::vector<std::string> asked_;
  std::vector<kube::Event> events_;
  FakeLoop loop_;
  kube::TestTransport transport_{loop_};
  Random random_{1};
  kube::TestAuthenticator authenticator_;
  PodEvictor evictor_{
      loop_, std::make_unique<kube::HttpClient>(loop_, transport_, authenticator_, random_),
      [this](kube::Event event) { events_.push_back(std::move(event)); }};
};

TEST_F(PodEvictorTest, EvictsThatPodAndNoOtherOfItsName) {
  Evict("train", "u-1");
  ASSERT_THAT(asked_, SizeIs(1));
  EXPECT_THAT(asked_[0], AllOf(HasSubstr("POST /api/v1/namespaces/ml/pods/train/eviction"),
                               HasSubstr(R"("preconditions":{"uid":"u-1"})")));
  ASSERT_THAT(events_, SizeIs(1));
  EXPECT_EQ(events_[0].reason, "GPUMemoryEvicted");
  EXPECT_EQ(events_[0].regarding.uid, "u-1");
}

TEST_F(PodEvictorTest, AsksOnceUntilThePauseIsOver) {
  code_ = 403;
  for (int round = 0; round < 20; ++round) {
    Evict("train", "u-1");
  }
  EXPECT_THAT(asked_, SizeIs(1));
  loop_.Advance(PodEvictor::kPause);
  code_ = 201;
  Evict("train", "u-1");
  EXPECT_THAT(asked_, SizeIs(2));
  EXPECT_THAT(events_, SizeIs(1));
}

TEST_F(PodEvictorTest, ARightThatIsMissingIsNamedWithTheFix) {
  code_ = 403;
  testing::internal::CaptureStderr();
  Evict("train", "u-1");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("agent.mayEvict=true"));
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(PodEvictorTest, ABudgetIsNoEviction) {
  code_ = 429;
  testing::internal::CaptureStderr();
  Evict("train", "u-1");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("disruption budget"));
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(PodEvictorTest, APodWithoutItsUidStays) {
  Evict("train", "");
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(PodEvictorTest, HoldsNoMorePodsThanItMay) {
  code_ = 403;
  for (size_t pod = 0; pod < 2 * PodEvictor::kMaxPods; ++pod) {
    evictor_.Evict(UseOf("p" + std::to_string(pod), "u-" + std::to_string(pod)));
  }
  loop_.Advance(std::chrono::seconds(20));
  EXPECT_THAT(asked_, SizeIs(PodEvictor::kMaxPods));
}

}  // namespace
}  // namespace kgpu::cluster
