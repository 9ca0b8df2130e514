#include "src/node/loans/lend_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "testing/status_matchers.h"

namespace kgpu::loans {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr char kLocalGpu[] = "GPU-00000000-0000-0000-0000-000000000001";
constexpr SteadyTime kMoved{std::chrono::hours(2)};

class LendRulesTest : public ::testing::Test {
 protected:
  LendRulesTest() {
    pools::Resource& pool = assignment_.local.emplace_back();
    pools::Slot& slot = pool.slots.emplace_back();
    slot.id = slot.device_uuid = kLocalGpu;
    slot.gpu = gpu_;
    auto plan = std::make_shared<inject::InjectionPlan>();
    plan->devices.push_back({.names = {"0", kLocalGpu}, .nodes = {}});
    injection_.plan = std::move(plan);
    rules_.SetLocal(assignment_, kMoved);
  }
  std::string Obstacle() const {
    return rules_.ObstacleTo(gpu_, {.pods = pods_,
                                    .list = list_,
                                    .injection = has_injection_ ? &injection_ : nullptr,
                                    .plugin_owner = plugin_owner_});
  }

  const device::GpuUuid gpu_ = *device::GpuUuid::Parse(kLocalGpu);
  pools::Assignment assignment_;
  pods::PodMap pods_;
  pods::ListState list_{.asked = kMoved + seconds(1)};
  injection::Injection injection_;
  bool has_injection_ = true;
  std::string plugin_owner_;
  LendRules rules_;
};

TEST_F(LendRulesTest, AGpuThatNoPodHoldsCanBeLent) {
  EXPECT_EQ(Obstacle(), "");
}

TEST_F(LendRulesTest, AGpuThatAPodHoldsCannotBeLent) {
  pods_.devices = {{.resource = "nvidia.com/gpu",
                    .device_id = fmt::format("{}::3", kLocalGpu),
                    .user = {.pod_namespace = "ml", .pod = "train", .container = "main"}}};
  EXPECT_EQ(Obstacle(), "pod ml/train holds it");
  list_ = {.has_no_kubelet = true};
  EXPECT_EQ(Obstacle(), "pod ml/train holds it");
}

// As when a kubelet has just started.
TEST_F(LendRulesTest, AGpuOnWhichAPodsProcessRunsCannotBeLentWhateverTheKubeletLists) {
  pods_.in_use[kLocalGpu] = {.pod_namespace = "ml", .pod = "train", .container = "main"};
  EXPECT_EQ(Obstacle(), "a process of pod ml/train runs on it");
  pods_.in_use.clear();
  EXPECT_EQ(Obstacle(), "");
}

TEST_F(LendRulesTest, AListFromBeforeTheMoveSaysNothing) {
  list_.asked = kMoved + seconds(1) - std::chrono::nanoseconds(1);
  EXPECT_THAT(Obstacle(), HasSubstr("not known yet which pods hold it"));
  list_.asked.reset();
  pods_.problem = "the kubelet has not answered yet";
  EXPECT_THAT(Obstacle(), HasSubstr("the kubelet has not answered yet"));
}

TEST_F(LendRulesTest, WithoutAKubeletNoPodHoldsAnything) {
  list_ = {.has_no_kubelet = true};
  EXPECT_EQ(Obstacle(), "");
}

TEST_F(LendRulesTest, AGpuKeepsTheTimeSinceWhenItIsLocal) {
  EXPECT_FALSE(rules_.SetLocal(assignment_, kMoved + seconds(100)));
  EXPECT_EQ(Obstacle(), "");
  rules_.SetLocal({}, kMoved + seconds(200));
  EXPECT_TRUE(rules_.SetLocal(assignment_, kMoved + seconds(300)));
  EXPECT_THAT(Obstacle(), HasSubstr("not known yet"));
}

TEST_F(LendRulesTest, AGpuWithoutItsCdiDeviceCannotBeLent) {
  injection_.cdi = PermissionDenied("/var/run/cdi: permission denied");
  EXPECT_THAT(Obstacle(), HasSubstr("/var/run/cdi: permission denied"));
  injection_.cdi = OkStatus();
  injection_.plan = std::make_shared<inject::InjectionPlan>();
  EXPECT_THAT(Obstacle(), HasSubstr("has no CDI device"));
  has_injection_ = false;
  EXPECT_THAT(Obstacle(), HasSubstr("not written yet"));
}

TEST_F(LendRulesTest, NothingIsLentWhereAnotherPluginServesAllGpus) {
  plugin_owner_ = "NVIDIA's device plugin";
  EXPECT_THAT(Obstacle(), HasSubstr("NVIDIA's device plugin serves all GPUs"));
}

}  // namespace
}  // namespace kgpu::loans
