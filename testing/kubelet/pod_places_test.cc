// Where containers of pods are found from outside: cgroups, folders of logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "testing/kubelet/pod_cgroup.h"
#include "testing/kubelet/pod_logs.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::kubelet {
namespace {

using ::testing::MatchesRegex;

// A real kubelet of the same machine deletes what it does not know below /kubepods.
TEST(PodCgroupTest, ContainersHaveLastingIdsAsRuntimesGiveThem) {
  EXPECT_THAT(RuntimeId("uid_main_0"), MatchesRegex("[0-9a-f]{64}"));
  EXPECT_EQ(RuntimeId("uid_main_0"), RuntimeId("uid_main_0"));
  EXPECT_NE(RuntimeId("uid_main_0"), RuntimeId("uid_main_1"));
  EXPECT_EQ(CgroupOf("uid", "uid_main_0"),
            "/kgpu-stub/kubepods/besteffort/poduid/" + RuntimeId("uid_main_0"));
}

TEST(PodLogsTest, FoldersComeAndGoWithPods) {
  const TempDir dir;
  Pod pod;
  pod.spec.name = "train";
  pod.spec.name_space = "ml";
  pod.spec.uid = "u1";
  pod.status.containers.resize(2);
  pod.status.containers[0].name = "main";
  pod.status.containers[0].id = "u1_main_0";
  pod.status.containers[1].name = "later";
  ASSERT_OK(ShowPodLogs(dir.At("logs"), {&pod}));
  EXPECT_TRUE(std::filesystem::exists(dir.At("logs/ml_train_u1/main")));
  EXPECT_FALSE(std::filesystem::exists(dir.At("logs/ml_train_u1/later")));
  ASSERT_OK(ShowPodLogs(dir.At("logs"), {}));
  EXPECT_FALSE(std::filesystem::exists(dir.At("logs/ml_train_u1")));
}

}  // namespace
}  // namespace kgpu::kubelet
