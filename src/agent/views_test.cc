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
  auto injection = std::make_shared<Injection>();
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
  auto injection = std::make_shared<Injection>();
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
  auto injection = std::make_shared<Injection>();
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
