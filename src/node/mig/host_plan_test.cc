#include "src/node/mig/host_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::mig {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint16_t kPlannedModel = 0x20b2;
constexpr uint16_t kWithoutMig = 0x1eb8;

std::string UuidText(unsigned index) {
  return fmt::format("GPU-00000000-0000-0000-0000-00000000000{}", index);
}

HostGpu PlannedGpu(unsigned index, uint16_t id = kPlannedModel) {
  HostGpu gpu{.index = index, .name = "GPU", .pci_device_id = id};
  auto uuid = device::GpuUuid::Parse(UuidText(index));
  EXPECT_OK(uuid);
  gpu.uuid = *std::move(uuid);
  if (auto geometry = Geometry::OfModel(id); geometry.ok()) {
    gpu.geometry = std::make_shared<const Geometry>(*std::move(geometry));
    gpu.mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
  }
  return gpu;
}

std::vector<HostGpu> UsedGpus(std::vector<std::string> users) {
  std::vector<HostGpu> gpus = {PlannedGpu(0), PlannedGpu(1)};
  gpus[0].mode = device::MigMode{};
  for (std::string& user : users) {
    gpus[0].users.push_back({.text = std::move(user), .gpu_instance = std::nullopt});
  }
  return gpus;
}

std::vector<unsigned> IndexesOf(const std::vector<HostGpu>& gpus) {
  std::vector<unsigned> indexes;
  indexes.reserve(gpus.size());
  for (const HostGpu& gpu : gpus) {
    indexes.push_back(gpu.index);
  }
  return indexes;
}

class KeepNamedTest : public ::testing::Test {
 protected:
  StatusOr<std::vector<unsigned>> Kept(const std::vector<std::string>& names,
                                       Lost lost = Lost::kRefuse) {
    const auto kept = KeepNamed(gpus_, names, lost, left_out_);
    return kept.ok() ? StatusOr<std::vector<unsigned>>(IndexesOf(*kept)) : kept.status();
  }

  std::vector<HostGpu> gpus_ = {PlannedGpu(0), PlannedGpu(1), PlannedGpu(2, kWithoutMig)};
  std::vector<std::string> left_out_;
};

TEST_F(KeepNamedTest, KeepsTheNamedGpusOnceInTheirOrder) {
  EXPECT_THAT(Kept({}), IsOkAndHolds(ElementsAre(0, 1, 2)));
  EXPECT_THAT(Kept({"1", UuidText(0), UuidText(1)}), IsOkAndHolds(ElementsAre(1, 0)));
}

TEST_F(KeepNamedTest, RefusesNamesOfNoGpuAndGpusWithoutMig) {
  EXPECT_THAT(Kept({"7"}), StatusIs(StatusCode::kNotFound, HasSubstr("--gpu 7: no such GPU")));
  EXPECT_THAT(Kept({"0", UuidText(9)}), StatusIs(StatusCode::kNotFound, HasSubstr(UuidText(9))));
  EXPECT_THAT(Kept({"2"}), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has no MIG")));
  EXPECT_THAT(left_out_, IsEmpty());
}

TEST_F(KeepNamedTest, LeavesOutALostUuidBesideOthers) {
  EXPECT_THAT(Kept({UuidText(9), "0"}, Lost::kLeaveOut), IsOkAndHolds(ElementsAre(0)));
  EXPECT_THAT(left_out_, ElementsAre(UuidText(9)));
  EXPECT_THAT(Kept({UuidText(9)}, Lost::kLeaveOut), StatusIs(StatusCode::kNotFound));
  EXPECT_THAT(Kept({"9", "0"}, Lost::kLeaveOut), StatusIs(StatusCode::kNotFound));
  EXPECT_THAT(Kept({UuidText(8), UuidText(9)}, Lost::kLeaveOut),
              StatusIs(StatusCode::kNotFound, HasSubstr("none of these GPUs")));
}

TEST(PlanHostTest, WantsExactlyOneRequest) {
  const std::vector<HostGpu> gpus = {PlannedGpu(0)};
  for (const HostRequest& request :
       std::vector<HostRequest>{{},
                                {.layout = "3g.40gb", .select = "all-disabled"},
                                {.profiles = "3g.40gb", .layout = "3g.40gb"},
                                {.profiles = "3g.40gb", .select = "all-disabled"}}) {
    EXPECT_THAT(PlanHost(request, gpus),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("give one of")));
  }
  EXPECT_THAT(PlanHost({.profiles = "3g.40gb"}, {PlannedGpu(0, kWithoutMig)}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no GPU of this host has MIG")));
}

TEST(PlanHostTest, NamesTheFlagOfAnInvalidList) {
  EXPECT_THAT(PlanHost({.profiles = "x"}, {PlannedGpu(0)}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--profiles: ")));
  EXPECT_THAT(PlanHost({.layout = "3g.40gb@4"}, {PlannedGpu(0)}),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("--layout: 3g.40gb@4: the planner chooses")));
}

TEST(PlanHostTest, ChangesHaveTheIndexesOfTheHost) {
  const auto plan = PlanHost({.profiles = "7g.80gb"}, {PlannedGpu(0, kWithoutMig), PlannedGpu(1)});
  ASSERT_OK(plan);
  EXPECT_TRUE(plan->is_feasible);
  EXPECT_THAT(plan->changes, ElementsAre(Field(&GpuChange::gpu, 1U)));
}

TEST(PlanHostTest, ALayoutIsForEveryGpuWithMig) {
  const std::vector<HostGpu> gpus = {PlannedGpu(0), PlannedGpu(1, kWithoutMig), PlannedGpu(2)};
  const auto plan = PlanHost({.layout = "3g.40gb,3g.40gb"}, gpus);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->changes, ElementsAre(Field(&GpuChange::gpu, 0U), Field(&GpuChange::gpu, 2U)));
  EXPECT_THAT(plan->changes[0].create, SizeIs(2));
  const auto none = PlanHost({.layout = "none"}, gpus);
  ASSERT_OK(none);
  EXPECT_THAT(none->changes, IsEmpty());
}

TEST(PlanHostTest, APendingModeIsCancelledEvenIfTheLayoutFits) {
  std::vector<HostGpu> gpus = {PlannedGpu(0), PlannedGpu(1)};
  gpus[0].mode = device::MigMode{.is_enabled = false, .is_pending_enabled = true};
  gpus[0].users.push_back({.text = "process 1", .gpu_instance = std::nullopt});
  gpus[1].mode = device::MigMode{.is_enabled = true, .is_pending_enabled = false};
  const auto off = PlanHost({.select = "all-disabled"}, {gpus[0]});
  ASSERT_OK(off);
  ASSERT_THAT(off->changes, SizeIs(1));
  EXPECT_TRUE(off->changes[0].keeps_mode && off->changes[0].disables_mig);
  EXPECT_FALSE(ReplyOf(*off, gpus).changes.at(0).changes_mode);
  const auto on = PlanHost({.layout = "none"}, {gpus[1]});
  ASSERT_OK(on);
  ASSERT_THAT(on->changes, SizeIs(1));
  EXPECT_TRUE(on->changes[0].keeps_mode);
  EXPECT_FALSE(on->changes[0].enables_mig || on->changes[0].disables_mig);
  // It turns off anyway.
  const auto turned_off = PlanHost({.select = "all-disabled"}, {gpus[1]});
  ASSERT_OK(turned_off);
  ASSERT_THAT(turned_off->changes, SizeIs(1));
  EXPECT_FALSE(turned_off->changes[0].keeps_mode);
}

TEST(PlanHostTest, SelectsFromTheGivenConfigurationsElseFromTheGenerated) {
  const std::vector<HostGpu> gpus = {PlannedGpu(0)};
  EXPECT_OK(PlanHost({.select = "all-3g.40gb"}, gpus));
  EXPECT_THAT(PlanHost({.select = "all-3g.40gb",
                        .configs = std::vector<NamedConfig>{{.name = "a", .entries = {}}}},
                       gpus),
              StatusIs(StatusCode::kNotFound));
}

TEST(PlanHostTest, WaitingGpusNameThreeOfTheirUsers) {
  const auto gpus = UsedGpus({"process 1", "process 1", "pod a/b", "process 2", "process 3"});
  const auto plan = PlanHost({.layout = "7g.80gb", .busy = Busy::kWait}, gpus);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->changes, ElementsAre(Field(&GpuChange::gpu, 1U)));
  EXPECT_THAT(plan->waiting_gpus, ElementsAre(0U));
  EXPECT_THAT(plan->waiting,
              ElementsAre(HasSubstr(" (used by process 1, pod a/b, process 2, 1 more)")));
  const auto refused = PlanHost({.layout = "7g.80gb"}, gpus);
  ASSERT_OK(refused);
  EXPECT_FALSE(refused->is_feasible);
}

class CheckUsersKeepTest : public ::testing::Test {
 protected:
  CheckUsersKeepTest() {
    const size_t half = gpu_.geometry->Find("3g.40gb").value_or(0);
    const device::MigProfile& profile = gpu_.geometry->profiles()[half];
    gpu_.instances = {{.id = 7,
                       .profile_id = profile.profile_id,
                       .start = 4,
                       .size = 4,
                       .compute = {{.slices = profile.slices}}}};
  }

  Status Check(std::vector<Instance> layout) const {
    return CheckUsersKeep({{.uuid = gpu_.uuid, .layout = std::move(layout)}}, {gpu_});
  }

  HostGpu gpu_ = PlannedGpu(0);
};

TEST_F(CheckUsersKeepTest, AnInstanceWithoutUsersMayGo) {
  EXPECT_OK(Check({}));
  EXPECT_OK(CheckUsersKeep({{.uuid = PlannedGpu(1).uuid}}, {gpu_}));
}

TEST_F(CheckUsersKeepTest, AnInstanceInUseMustStayAtItsPlace) {
  gpu_.users.push_back({.text = "pod a/b", .gpu_instance = 7});
  EXPECT_OK(Check({{.kind = {.profile = "3g.40gb"}, .start = 4}}));
  EXPECT_THAT(Check({{.kind = {.profile = "3g.40gb"}, .start = 0}}),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("GPU 0: instance 7 is in use by pod a/b: stop it")));
  EXPECT_THAT(Check({}), StatusIs(StatusCode::kFailedPrecondition));
}

TEST(ReplyOfPlanTest, NamesChangesAndWhatWaits) {
  const std::vector<HostGpu> gpus = {PlannedGpu(0), PlannedGpu(1)};
  EXPECT_EQ(ReplyOf(Plan{.reason = "too small"}, gpus),
            (HelperReply{.outcome = Outcome::kInfeasible, .reason = "too small"}));
  Plan plan{.is_feasible = true, .changes = {{.gpu = 1, .enables_mig = true}}};
  HelperReply reply{.outcome = Outcome::kDone,
                    .changes = {{.gpu = UuidText(1), .changes_mode = true}}};
  EXPECT_EQ(ReplyOf(plan, gpus), reply);
  plan.waiting = {"in use"};
  plan.waiting_gpus = {0};
  reply.outcome = Outcome::kWaits;
  reply.reason = "in use";
  reply.waiting = {{.gpu = UuidText(0), .reason = "in use"}};
  EXPECT_EQ(ReplyOf(plan, gpus), reply);
}

}  // namespace
}  // namespace kgpu::mig
