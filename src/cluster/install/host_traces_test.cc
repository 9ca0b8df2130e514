#include "src/cluster/install/host_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <vector>

#include "src/cluster/install/test_install.h"
#include "src/kube/api/json.h"
#include "testing/status_matchers.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class HostTracesTest : public ::testing::Test {
 protected:
  HostTracesTest() {
    EXPECT_OK(cluster_.DoInstall());
    cluster_.loop.Advance(std::chrono::seconds(10));
    daemon_set_ = cluster_.At("/apis/apps/v1/namespaces/kgpu/daemonsets/kgpu-agent");
  }
  size_t Pods() const {
    size_t pods = 0;
    for (const auto& [key, pod] : cluster_.api.store().All("pods")) {
      pods += key.name.starts_with("kgpu-clear-") ? 1 : 0;
    }
    return pods;
  }

  TestInstallation cluster_;
  json::value daemon_set_;
};

TEST_F(HostTracesTest, ThePodHasTheAgentsImageAndIsBoundToItsNode) {
  const auto pod = ClearingPod(daemon_set_, "n1");
  ASSERT_OK(pod);
  const json::value value(*pod);
  EXPECT_EQ(kube::NameOf(value), "kgpu-clear-n1");
  EXPECT_EQ(kube::TextField(value, {"spec", "nodeName"}), "n1");
  const json::value& container = value.at("spec").at("containers").at(0);
  EXPECT_EQ(kube::TextField(container, {"image"}), "localhost/kgpu:latest");
  EXPECT_EQ(json::serialize(container.at("args")),
            R"(["node","clear","--host-files","--host-root=/host"])");
  EXPECT_THAT(ClearingPod(json::object(), "n1"), StatusIs(StatusCode::kInvalidArgument));
}

// Daemons of MPS outlive agents: the pod must see whether one runs.
TEST_F(HostTracesTest, ThePodSeesTheHostsProcessesAsTheAgentDoes) {
  daemon_set_.at("spec").at("template").at("spec").as_object()["hostPID"] = true;
  const auto pod = ClearingPod(daemon_set_, "n1");
  ASSERT_OK(pod);
  EXPECT_THAT(json::serialize(*pod),
              AllOf(HasSubstr(R"("hostPID":true)"), HasSubstr(R"("mountPath":"/host/dev/shm")")));
}

TEST_F(HostTracesTest, AKubeletsFolderElsewhereIsClearedToo) {
  json::object& spec = daemon_set_.at("spec").at("template").at("spec").as_object();
  spec["volumes"] =
      json::array{{{"name", "kubelet"}, {"hostPath", {{"path", "/var/lib/kubelet"}}}}};
  const auto usual = ClearingPod(daemon_set_, "n1");
  ASSERT_OK(usual);
  EXPECT_THAT(json::serialize(*usual), Not(HasSubstr("kubelet")));
  spec["volumes"] = json::array{{{"name", "kubelet"}, {"hostPath", {{"path", "/data/kubelet"}}}}};
  const auto pod = ClearingPod(daemon_set_, "n1");
  ASSERT_OK(pod);
  EXPECT_THAT(json::serialize(*pod),
              AllOf(HasSubstr(R"("--kubelet-dir=/host/data/kubelet")"),
                    HasSubstr(R"({"name":"kubelet","mountPath":"/host/data/kubelet"})"),
                    HasSubstr(R"({"name":"kubelet","hostPath":{"path":"/data/kubelet"}})")));
}

TEST_F(HostTracesTest, ClearsEachHostInBatchesAndRemovesThePods) {
  const auto cleared = ClearHosts(cluster_.client, daemon_set_, {"n1", "n2"}, {.at_once = 1});
  ASSERT_OK(cleared);
  ASSERT_THAT(*cleared, SizeIs(2));
  EXPECT_OK((*cleared)[0].status);
  EXPECT_OK((*cleared)[1].status);
  cluster_.loop.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Pods(), 0U);
}

TEST_F(HostTracesTest, AHostThatFailsIsNamedWithItsReason) {
  cluster_.sim.SetScript([](const json::object& pod) {
    simcluster::PodPlan plan{.run_time = std::chrono::seconds(1)};
    plan.exit_code = kube::TextField(pod, {"spec", "nodeName"}) == "n2" ? 1 : 0;
    return plan;
  });
  const auto cleared = ClearHosts(cluster_.client, daemon_set_, {"n1", "n2"}, {});
  ASSERT_OK(cleared);
  EXPECT_OK((*cleared)[0].status);
  EXPECT_THAT((*cleared)[1].status,
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("ended with code 1")));
}

TEST_F(HostTracesTest, ANodeThatIsDownIsNotWaitedForForEver) {
  cluster_.sim.SetScript(
      [](const json::object&) { return simcluster::PodPlan{.waiting = "ImagePullBackOff"}; });
  const auto cleared =
      ClearHosts(cluster_.client, daemon_set_, {"n1"}, {.time = std::chrono::seconds(10)});
  ASSERT_OK(cleared);
  EXPECT_THAT((*cleared)[0].status,
              StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("ImagePullBackOff")));
}

}  // namespace
}  // namespace kgpu::install
