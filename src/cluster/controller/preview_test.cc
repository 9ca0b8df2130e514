#include "src/cluster/controller/preview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/cluster/controller/test_model.h"
#include "src/cluster/controller/test_replicas.h"
#include "src/platform/base/log.h"

namespace kgpu::controller {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ProgressTest : public ModelTest {
 protected:
  NodeProgress Of(const std::string& node) {
    for (const NodeProgress& progress : ProgressOf(model_, pods_, kNow)) {
      if (progress.node == node) {
        return progress;
      }
    }
    return {};
  }
};

TEST_F(ProgressTest, ANodeThatStartsNamesItsPods) {
  AddPolicy("p",
            "{groups: [{name: g, nodeSelector: {}, driver: {from: package, branch: \"550\"}}]}");
  AddNode("n1");
  AddGpuPod("n1", "serve", "ReplicaSet");
  AddGpuPod("n1", "notebook", "");
  AddGpuPod("n1", "exporter", "DaemonSet");
  EXPECT_EQ(Of("n1"), (NodeProgress{.node = "n1",
                                    .policy = "p",
                                    .group = "g",
                                    .driver = "535.1",
                                    .target = "550",
                                    .state = "outdated",
                                    .next = "starts",
                                    .evicts = {"team/serve"},
                                    .blocks = {"team/notebook"}}));
  AddPolicy("p",
            "{groups: [{name: g, nodeSelector: {}, driver: {from: package, branch: \"550\"}}], "
            "upgrade: {evictUnmanaged: true}}");
  EXPECT_THAT(Of("n1").evicts, ElementsAre("team/notebook", "team/serve"));
  EXPECT_THAT(Of("n1").blocks, IsEmpty());
}

TEST_F(ProgressTest, ANodeThatIsHeldSaysWhy) {
  constexpr const char* kPaused =
      "{groups: [{name: g, nodeSelector: {}, driver: {from: package, branch: \"550\"}}], "
      "upgrade: {paused: true}}";
  AddPolicy("p", kPaused);
  AddNode("away", "{}", "{}", false);
  AddNode("current", "{}", "{}", true, true, "550.1");
  AddNode("fenced", "{}", "{taints: [{key: kgpu.dev/quarantined, effect: NoSchedule}]}");
  AddNode("ok");
  EXPECT_EQ(Of("away").next, "waits: the kubelet is not ready");
  EXPECT_EQ(Of("current").state, "current");
  EXPECT_EQ(Of("current").next, "");
  EXPECT_EQ(Of("fenced").next, "waits: in quarantine");
  EXPECT_EQ(Of("ok").next, "waits: UpgradePaused");
  AddPolicy("p",
            "{groups: [{name: g, nodeSelector: {}, driver: {from: package, branch: \"550\"}}]}");
  EXPECT_EQ(Of("ok").next, "waits: UpgradeBudget") << "two nodes are unavailable already";
  AddPolicy("p",
            "{groups: [{name: g, nodeSelector: {}, driver: {from: container, branch: \"550\"}}]}");
  EXPECT_EQ(Of("ok").next, "DaemonSet kgpu-driver does not exist");
  AddPolicy("p", "{groups: [{name: g, nodeSelector: {}, driver: {from: host, branch: \"550\"}}]}");
  EXPECT_THAT(Of("ok").next, HasSubstr("kgpu does not replace it"));
}

TEST_F(ProgressTest, ANodeInProgressTellsItsNextStep) {
  AddPolicy("p",
            "{groups: [{name: g, nodeSelector: {}, driver: {from: package, branch: \"550\"}}]}");
  AddNode("evicts", Record(fleet::UpgradeState::kEvict), "{unschedulable: true}");
  AddGpuPod("evicts", "serve", "ReplicaSet");
  AddNode("blocked", Record(fleet::UpgradeState::kEvict), "{unschedulable: true}");
  AddGpuPod("blocked", "notebook", "");
  AddNode("broken", "{kgpu.dev/upgrade: \"of a newer version\"}", "{unschedulable: true}");
  EXPECT_EQ(Of("evicts").state, "evict");
  EXPECT_EQ(Of("evicts").next, "evicts pods: team/serve");
  EXPECT_THAT(Of("evicts").evicts, ElementsAre("team/serve"));
  EXPECT_EQ(Of("blocked").next, "waits for pods to end: team/notebook");
  EXPECT_THAT(Of("blocked").blocks, ElementsAre("team/notebook"));
  EXPECT_EQ(Of("broken").state, "failed");
  EXPECT_EQ(Of("broken").next, "annotation kgpu.dev/upgrade is unreadable: remove it");
}

class PreviewTest : public ::testing::Test {
 protected:
  PreviewTest() {
    SetLogSink([](LogLevel, std::string_view) {});
  }
  ~PreviewTest() override { SetLogSink({}); }

  StatusOr<std::vector<NodeProgress>> Read() {
    std::optional<StatusOr<std::vector<NodeProgress>>> result;
    const Preview preview(loop_, client_, random_, {}, [&](auto nodes) { result = nodes; });
    for (int i = 0; i < 40 && !result; ++i) {
      loop_.Advance(seconds(1));
    }
    return result.value_or(Internal("no answer"));
  }

  FakeLoop loop_;
  apiserver::Api api_{loop_};
  Random random_{5};
  apiserver::MemoryTransport transport_{loop_, api_, {.latency = std::chrono::milliseconds(2)}};
  kube::TestAuthenticator authenticator_;
  kube::HttpClient client_{loop_, transport_, authenticator_, random_};
};

TEST_F(PreviewTest, ReadsTheClusterAndWritesNothing) {
  InstallCrd(api_);
  PutPolicy(api_, "p",
            "groups: [{name: g, nodeSelector: {}, driver: {from: package, branch: \"550\"}}]");
  ASSERT_OK(
      api_.Do("POST", "/api/v1/nodes",
              {{"apiVersion", "v1"},
               {"kind", "Node"},
               {"metadata", {{"name", "n1"}, {"labels", {{"nvidia.com/gpu.present", "true"}}}}}}));
  const std::string before = api_.Dump();
  const auto nodes = Read();
  ASSERT_OK(nodes);
  ASSERT_EQ(nodes->size(), 1U);
  EXPECT_EQ(nodes->front().node, "n1");
  EXPECT_EQ(nodes->front().next, "waits: the kubelet is not ready");
  EXPECT_EQ(api_.Dump(), before);
}

TEST_F(PreviewTest, AClusterWithoutTheDefinitionIsAnErrorAtOnce) {
  const SteadyTime begun = loop_.clock().Now();
  EXPECT_THAT(Read(), StatusIs(StatusCode::kNotFound));
  EXPECT_LT(loop_.clock().Now() - begun, seconds(3));
}

TEST_F(PreviewTest, AServerThatDoesNotAnswerIsGivenUp) {
  InstallCrd(api_);
  api_.faults().Add({.kind = apiserver::FaultKind::kAway});
  EXPECT_THAT(Read(), StatusIs(StatusCode::kUnavailable, HasSubstr("reading the cluster")));
}

}  // namespace
}  // namespace kgpu::controller
