#include "src/cli/mig/mig_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

using ::testing::HasSubstr;

mig::HostGpu SampleMigGpu() {
  mig::HostGpu gpu;
  auto uuid = device::GpuUuid::Parse("GPU-00000000-0000-0000-0000-000000000001");
  EXPECT_OK(uuid);
  gpu.uuid = *uuid;
  gpu.model = "A100-SXM4-80GB";
  gpu.mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
  auto geometry = mig::Geometry::OfModel(0x20b2);
  EXPECT_OK(geometry);
  gpu.geometry = std::make_shared<const mig::Geometry>(*std::move(geometry));
  gpu.instances = {{.id = 1, .profile_id = 9, .start = 0, .size = 4, .compute = {{0, 3}}},
                   {.id = 5, .profile_id = 14, .start = 4, .size = 2, .compute = {{0, 1}, {1, 1}}}};
  gpu.users = {{.text = "process 4711", .gpu_instance = 1, .pid = 4711}};
  return gpu;
}

TEST(MigListTest, ShowsInstancesUsersAndRoom) {
  EXPECT_EQ(MigListText({SampleMigGpu()}),
            "GPU 0  A100-SXM4-80GB  MIG on\n"
            "  3g.40gb            slices 0-3  GI 1   in use: process 4711\n"
            "  2g.20gb (1c+1c)    slices 4-5  GI 5   idle\n"
            "  room for  1g.20gb at 6; 1g.10gb at 6; 1g.10gb+me at 6\n");
  EXPECT_EQ(MigListText({}), "no GPU\n");
}

TEST(MigListTest, ShowsGpusWithoutMig) {
  mig::HostGpu gpu = SampleMigGpu();
  gpu.instances.clear();
  gpu.mode = device::MigMode{.is_enabled = false, .is_pending_enabled = true};
  EXPECT_THAT(MigListText({gpu}), HasSubstr("MIG off, on after a reset\n  in use: process 4711\n"));
  gpu.geometry = nullptr;
  gpu.mode.reset();
  EXPECT_EQ(MigListText({gpu}), "GPU 0  A100-SXM4-80GB  no MIG\n");
}

TEST(MigListTest, HasTheSameInJson) {
  const std::string json = boost::json::serialize(MigListJson({SampleMigGpu()}));
  EXPECT_THAT(
      json, HasSubstr(R"("profile":"3g.40gb","start":0,"id":1,"size":4,"users":["process 4711"])"));
  EXPECT_THAT(json, HasSubstr(R"("room":[{"profile":"1g.20gb","starts":[6]})"));
}

TEST(MigPlanTest, ShowsEachStep) {
  mig::Plan plan;
  plan.is_feasible = true;
  plan.destroyed = 1;
  plan.evicted = 1;
  plan.changes.emplace_back();
  plan.changes[0].enables_mig = true;
  plan.changes[0].destroy = {
      {.kind = {.profile = "1g.10gb"}, .start = 6, .use = mig::Use::kMovable}};
  plan.changes[0].create = {{.kind = {.profile = "3g.40gb"}, .start = 4}};
  EXPECT_EQ(MigPlanText(plan, {"3"}),
            "feasible: changes 1 GPU, destroys 1 instance, 1 in use\n"
            "GPU 3: destroy 1g.10gb at memory slice 6, which is in use\n"
            "GPU 3: turn MIG on\n"
            "GPU 3: create 3g.40gb at memory slice 4\n");
  EXPECT_THAT(boost::json::serialize(MigPlanJson(plan, {"3"}, {})),
              HasSubstr(R"("create":[{"profile":"3g.40gb","start":4}])"));
}

TEST(MigListTest, NamesAGpuThatNoProgramCanUse) {
  mig::HostGpu gpu = SampleMigGpu();
  gpu.instances.clear();
  EXPECT_THAT(MigListText({gpu}),
              HasSubstr("MIG on\n  no instances: no program can use the GPU\n"));
  gpu.mode->is_pending_enabled = false;
  EXPECT_THAT(boost::json::serialize(MigListJson({gpu})),
              HasSubstr(R"("migEnabled":true,"migEnabledAfterReset":false)"));
}

TEST(MigPlanTest, ShowsThatAPendingModeIsCancelled) {
  mig::Plan plan{.is_feasible = true};
  plan.changes = {{.gpu = 0, .disables_mig = true, .keeps_mode = true},
                  {.gpu = 1, .keeps_mode = true}};
  EXPECT_THAT(MigPlanText(plan, {"2", "3"}), HasSubstr("GPU 2: keep MIG off at the next reset\n"
                                                       "GPU 3: keep MIG on at the next reset\n"));
}

TEST(MigPlanTest, SaysWhichGpusWait) {
  mig::Plan plan;
  plan.is_feasible = true;
  plan.waiting = {"GPU 0: 1g.10gb at memory slice 3 is in use"};
  EXPECT_EQ(MigPlanText(plan, {}), "waits: GPU 0: 1g.10gb at memory slice 3 is in use\n");
  plan.waiting_gpus = {0};
  EXPECT_THAT(boost::json::serialize(MigPlanJson(plan, {}, {})), HasSubstr(R"("waiting":["GPU 0)"));
  EXPECT_THAT(boost::json::serialize(MigPlanJson(plan, {"0"}, {"GPU-1"})),
              HasSubstr(R"("waitingGpus":[{"uuid":"GPU-1","reason":"GPU 0: 1g)"));
}

TEST(MigPlanTest, SaysWhyThereIsNone) {
  mig::Plan plan;
  plan.reason = "1 GPU can hold 7 x 1g.10gb, not 8";
  EXPECT_EQ(MigPlanText(plan, {}), "infeasible: 1 GPU can hold 7 x 1g.10gb, not 8\n");
  EXPECT_EQ(MigPlanText({.is_feasible = true}, {}), "feasible: no change is needed\n");
  plan = {.is_feasible = true, .destroyed = 0};
  plan.changes.resize(2);
  EXPECT_THAT(MigPlanText(plan, {"0", "1"}),
              HasSubstr("feasible: changes 2 GPUs, destroys no instance\n"));
}

}  // namespace
}  // namespace kgpu::cli
