#include "src/agent/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/agent/test_state.h"
#include "testing/status_matchers.h"

namespace kgpu::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<plugin::ResourceViewPtr> Views(const AgentState& state, const Answering& answering) {
  return MakeViews(state.assignment, state.snapshot, config::DefaultNodeConfig(), answering);
}

Answering Decided() {
  auto injection = std::make_shared<injection::Injection>();
  injection->plan = std::make_shared<const inject::InjectionPlan>();
  plugin::Delivery delivery;
  delivery.strategies = {config::DeviceListStrategy::kEnvvar};
  return {std::move(injection), std::move(delivery)};
}

TEST(ViewsTest, ListDevicesWithHealthAndNuma) {
  const auto views = Views(TestState(), Decided());
  ASSERT_THAT(views, SizeIs(1));
  EXPECT_EQ(views[0]->resource, "nvidia.com/gpu");
  EXPECT_THAT(
      views[0]->devices,
      ElementsAre(plugin::Advertised{"GPU-00000000-0000-0000-0000-000000000000", true, 0U},
                  plugin::Advertised{"GPU-00000001-0000-0000-0000-000000000000", false, 1U}));
}

TEST(ViewsTest, LeaveOutAResourceWithoutDevices) {
  AgentState state = TestState();
  state.assignment.resources[0].slots.clear();
  EXPECT_THAT(Views(state, Decided()), IsEmpty());
}

TEST(ViewsTest, HaveNoAnswersBeforeTheyAreDecided) {
  const auto views = Views(TestState(), {});
  ASSERT_THAT(views, SizeIs(1));
  EXPECT_EQ(views[0]->answers, nullptr);
  EXPECT_OK(views[0]->obstacle);
}

TEST(ViewsTest, SayWhyThereAreNoAnswers) {
  Answering answering = Decided();
  auto injection = std::make_shared<injection::Injection>();
  injection->plan_status = FailedPrecondition("no driver libraries");
  answering.injection = std::move(injection);
  answering.delivery->strategies = {config::DeviceListStrategy::kEnvvar,
                                    config::DeviceListStrategy::kDeviceSpecs};
  const auto views = Views(TestState(), answering);
  ASSERT_THAT(views, SizeIs(1));
  EXPECT_EQ(views[0]->answers, nullptr);
  EXPECT_THAT(views[0]->obstacle,
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no driver libraries")));
}

TEST(ViewsTest, NamesAloneNeedNoFilesOfTheDriver) {
  Answering answering = Decided();
  auto injection = std::make_shared<injection::Injection>();
  injection->plan_status = NotFound("no driver libraries");
  answering.injection = std::move(injection);
  for (const auto strategy :
       {config::DeviceListStrategy::kEnvvar, config::DeviceListStrategy::kVolumeMounts}) {
    answering.delivery->strategies = {strategy};
    const auto views = Views(TestState(), answering);
    ASSERT_THAT(views, SizeIs(1));
    EXPECT_OK(views[0]->obstacle);
    ASSERT_NE(views[0]->answers, nullptr);
    const std::vector<std::string> ids = {views[0]->devices[0].id};
    EXPECT_OK(views[0]->answers->For(ids).status());
  }
}

TEST(ViewsTest, SpecsThatAreMissingAreAnObstacleToTheirNames) {
  Answering answering = Decided();
  auto injection = std::make_shared<injection::Injection>(*answering.injection);
  injection->cdi = PermissionDenied("/var/run/cdi: read-only");
  answering.injection = std::move(injection);
  EXPECT_OK(answering.Obstacle()) << "variables need none";
  for (const auto strategy :
       {config::DeviceListStrategy::kCdiCri, config::DeviceListStrategy::kCdiAnnotations}) {
    answering.delivery->strategies = {strategy};
    EXPECT_THAT(answering.Obstacle(),
                StatusIs(StatusCode::kPermissionDenied, HasSubstr("/var/run/cdi")));
  }
}

// A pod must not be admitted and then refused.
TEST(ViewsTest, NothingIsHealthyBehindAnObstacle) {
  AgentState state = TestState();
  MarkObstacle(OkStatus(), state.assignment);
  EXPECT_TRUE(state.assignment.resources[0].slots[0].health.is_healthy);
  const device::Health broken = state.assignment.resources[0].slots[1].health;
  MarkObstacle(NotFound("no driver libraries"), state.assignment);
  EXPECT_FALSE(state.assignment.resources[0].slots[0].health.is_healthy);
  EXPECT_EQ(state.assignment.resources[0].slots[0].health.reason, "InjectionNotReady");
  EXPECT_EQ(state.assignment.resources[0].slots[0].health.message, "no driver libraries");
  EXPECT_EQ(state.assignment.resources[0].slots[1].health, broken) << "its own fault comes first";
}

TEST(ViewsTest, OnlyMemorySlicesArePrepared) {
  Answering answering = Decided();
  answering.slices = sharing::SlicePaths{.folder = "/s"};
  answering.renew_slices = [](std::span<const std::string>) { return OkStatus(); };
  AgentState state = TestState();
  EXPECT_FALSE(Views(state, answering)[0]->prepare);
  state.assignment.resources[0].share.by = sharing::FindKind("memory");
  EXPECT_TRUE(Views(state, answering)[0]->prepare);
}

TEST(ViewsTest, AnswerAndPrefer) {
  const auto views = Views(TestState(), Decided());
  ASSERT_THAT(views, SizeIs(1));
  const std::vector<std::string> ids = {views[0]->devices[0].id};
  ASSERT_NE(views[0]->answers, nullptr);
  EXPECT_OK(views[0]->answers->For(ids).status());
  const auto preferred = views[0]->preference(ids, {}, 1);
  ASSERT_OK(preferred.status());
  EXPECT_EQ(*preferred, ids);
}

}  // namespace
}  // namespace kgpu::agent
