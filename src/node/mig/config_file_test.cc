#include "src/node/mig/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::mig {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kFile[] = R"(version: v1
mig-configs:
  all-disabled:
    - devices: all
      mig-enabled: false
  mixed:
    - device-filter: ["0x233010DE", "0x20B210DE"]
      devices: [0, 1]
      mig-enabled: true
      mig-devices: {"1g.10gb": 2, "1c.3g.40gb": 3, "2g.20gb": 0}
    - device-filter: "0x20B010DE"
      devices: all
      mig-enabled: true
      mig-devices: {}
)";

HostGpu HostGpuOf(unsigned index, uint16_t id) {
  HostGpu gpu;
  gpu.index = index;
  gpu.pci_device_id = id;
  gpu.name = "GPU";
  if (auto geometry = Geometry::OfModel(id); geometry.ok()) {
    gpu.geometry = std::make_shared<const Geometry>(*std::move(geometry));
    gpu.mode = device::MigMode{};
  }
  return gpu;
}

TEST(ParseConfigsTest, ReadsAFileOfMigParted) {
  const auto configs = ParseConfigs(kFile, "mig.yaml");
  ASSERT_OK(configs);
  ASSERT_THAT(*configs, SizeIs(2));
  const NamedConfig& mixed = configs->back();
  EXPECT_EQ(mixed.name, "mixed");
  ASSERT_THAT(mixed.entries, SizeIs(2));
  EXPECT_THAT(mixed.entries[0].models, ElementsAre(0x233010de, 0x20b210de));
  EXPECT_THAT(mixed.entries[0].devices.value_or(std::vector<unsigned>()), ElementsAre(0, 1));
  EXPECT_EQ(DemandText(mixed.entries[0].layout), "2 x 1g.10gb, 1 x 3g.40gb (1c+1c+1c)");
  EXPECT_FALSE(mixed.entries[1].devices.has_value());
}

TEST(ParseConfigsTest, NamesFileAndField) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"version: v2\nmig-configs: {}", "x.yaml: version: must be v1"},
           {"version: v1", "x.yaml: mig-configs: must be a map"},
           {"version: v1\nmig-config: {}", "did you mean \"mig-configs\"?"}}) {
    EXPECT_THAT(ParseConfigs(text, "x.yaml").status(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(why)))
        << text;
  }
}

TEST(ParseConfigsTest, AWrongConfigurationCostsNoOther) {
  const auto configs = ParseConfigs(
      "version: v1\n"
      "mig-configs:\n"
      "  good: [{devices: all, mig-enabled: false}]\n"
      "  bad:\n"
      "  - devices: all\n"
      "    mig-enabled: true\n"
      "  - devices: all\n"
      "    mig-enabled: maybe\n",
      "x.yaml");
  ASSERT_OK(configs);
  EXPECT_OK(SelectConfig(*configs, "good"));
  EXPECT_THAT(
      SelectConfig(*configs, "bad"),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("x.yaml:7: mig-configs.bad[1].mig-enabled: must be true or false")));
}

TEST(ParseConfigsTest, NamesLineAndFieldOfAConfiguration) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"version: v1\nmig-configs: {a: {}}", "x.yaml:2: mig-configs.a: must be a list"},
           {"version: v1\nmig-configs: {a: [1]}", "x.yaml:2: mig-configs.a[0]: must be a map"},
           {"version: v1\nmig-configs: {a: [{devices: some, mig-enabled: true}]}",
            "mig-configs.a[0].devices: must be \"all\""},
           {"version: v1\nmig-configs: {a: [{devices: [-1], mig-enabled: true}]}",
            "mig-configs.a[0].devices"},
           {"version: v1\nmig-configs: {a: [{devices: all}]}",
            "mig-configs.a[0].mig-enabled: must be true or false"},
           {"version: v1\nmig-configs: {a: [{devices: all, mig-enabled: true, device-filter: 1}]}",
            "mig-configs.a[0].device-filter: must be a text like"},
           {"version: v1\nmig-configs: {a: [{devices: all, mig-enabled: true, mig-devices: {x: "
            "1}}]}",
            "mig-configs.a[0].mig-devices: profile \"x\""},
           {"version: v1\nmig-configs: {a: [{devices: all, mig-enabled: true, mig-devices: "
            "{1g.5gb: "
            "many}}]}",
            "mig-configs.a[0].mig-devices.1g.5gb: must be a number"},
           {"version: v1\nmig-configs: {a: [{devices: all, mig-enabled: false, mig-devices: "
            "{1g.5gb: 1}}]}",
            "must be empty where mig-enabled is false"}}) {
    const auto configs = ParseConfigs(text, "x.yaml");
    ASSERT_OK(configs) << text;
    EXPECT_THAT(SelectConfig(*configs, "a"), StatusIs(StatusCode::kInvalidArgument, HasSubstr(why)))
        << text;
  }
}

TEST(GeneratedConfigsTest, HasAllProfilesOfTheHost) {
  const std::vector<HostGpu> gpus = {HostGpuOf(0, 0x20b2), HostGpuOf(1, 0x20b7),
                                     HostGpuOf(2, 0x1eb8)};
  const std::vector<NamedConfig> configs = GeneratedConfigs(gpus);
  std::vector<std::string> names;
  for (const NamedConfig& config : configs) {
    names.push_back(config.name);
  }
  EXPECT_THAT(names, ElementsAre("all-disabled", "all-enabled", "all-7g.80gb", "all-4g.40gb",
                                 "all-3g.40gb", "all-2g.20gb", "all-1g.20gb", "all-1g.10gb",
                                 "all-1g.10gb.me", "all-4g.24gb", "all-2g.12gb", "all-2g.12gb.me",
                                 "all-1g.6gb", "all-1g.6gb.me", "all-balanced"));
  const auto small = SelectConfig(configs, "all-1g.10gb");
  ASSERT_OK(small);
  const auto goals = GoalsOf(*small, gpus);
  ASSERT_OK(goals);
  ASSERT_THAT(*goals, SizeIs(1));
  EXPECT_EQ(DemandText(goals->front().layout), "7 x 1g.10gb");
  const auto balanced = SelectConfig(configs, "all-balanced");
  ASSERT_OK(balanced);
  const auto both = GoalsOf(*balanced, gpus);
  ASSERT_OK(both);
  ASSERT_THAT(*both, SizeIs(2));
  EXPECT_EQ(DemandText((*both)[0].layout), "2 x 1g.10gb, 1 x 2g.20gb, 1 x 3g.40gb");
  EXPECT_EQ(DemandText((*both)[1].layout), "2 x 1g.6gb, 1 x 2g.12gb");
  EXPECT_THAT(SelectConfig(configs, "all-1g.10g").status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("did you mean all-1g.10gb")));
}

// Each generated configuration is one that its GPU can have.
TEST(GeneratedConfigsTest, AreFeasibleOnEveryModel) {
  for (const device::MigModel& model : device::MigModels()) {
    const std::vector<HostGpu> gpus = {HostGpuOf(0, model.pci_device_ids.front())};
    const std::vector<GpuState> states = {
        {.id = "0", .geometry = gpus[0].geometry, .is_mig_enabled = false}};
    for (const NamedConfig& config : GeneratedConfigs(gpus)) {
      const auto goals = GoalsOf(config, gpus);
      ASSERT_OK(goals);
      const auto plan = PlanGoals(states, *goals);
      ASSERT_OK(plan);
      EXPECT_TRUE(plan->is_feasible) << model.name << " " << config.name << ": " << plan->reason;
    }
  }
}

TEST(GoalsOfTest, LetsTheLastEntryCount) {
  const std::vector<HostGpu> gpus = {HostGpuOf(0, 0x20b2), HostGpuOf(1, 0x1eb8)};
  NamedConfig config{.name = "x", .entries = {{.is_mig_enabled = true}, {.is_mig_enabled = false}}};
  const auto goals = GoalsOf(config, gpus);
  ASSERT_OK(goals);
  ASSERT_THAT(*goals, SizeIs(1));
  EXPECT_FALSE(goals->front().is_mig_enabled);
  config.entries = {{.devices = std::vector<unsigned>{1}, .is_mig_enabled = true}};
  EXPECT_THAT(GoalsOf(config, gpus).status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("GPU 1 (GPU) has no MIG")));
}

// NVIDIA/gpu-operator#281, NVIDIA/mig-parted#97: one file for nodes with two and with eight GPUs.
TEST(GoalsOfTest, IndexesOfLargerNodesMeanNothing) {
  const auto configs = ParseConfigs(
      "version: v1\n"
      "mig-configs:\n"
      "  custom-config:\n"
      "  - devices: [0, 1, 2, 3]\n"
      "    mig-enabled: false\n"
      "  - devices: [4]\n"
      "    mig-enabled: true\n"
      "    mig-devices: {\"1g.6gb\": 4}\n"
      "  - devices: [1]\n"
      "    mig-enabled: true\n"
      "    mig-devices: {\"2g.12gb\": 2}\n",
      "x.yaml");
  ASSERT_OK(configs);
  const std::vector<HostGpu> gpus = {HostGpuOf(0, 0x20b7), HostGpuOf(1, 0x20b7)};
  const auto goals = GoalsOf(configs->front(), gpus);
  ASSERT_OK(goals);
  ASSERT_THAT(*goals, SizeIs(2));
  EXPECT_FALSE((*goals)[0].is_mig_enabled);
  EXPECT_EQ(DemandText((*goals)[1].layout), "2 x 2g.12gb");
  EXPECT_THAT(IndexesWithoutGpu(configs->front(), gpus), ElementsAre(2, 3, 4));
}

// NVIDIA/mig-parted#157.
TEST(GoalsOfTest, TheSecondGpuAloneMayHaveAGoal) {
  const NamedConfig config{.name = "node1",
                           .entries = {{.devices = std::vector<unsigned>{1},
                                        .is_mig_enabled = true,
                                        .layout = {{.kind = {.profile = "1g.6gb"}, .count = 4}}}}};
  const std::vector<HostGpu> gpus = {HostGpuOf(0, 0x20b7), HostGpuOf(1, 0x20b7)};
  const auto goals = GoalsOf(config, gpus);
  ASSERT_OK(goals);
  ASSERT_THAT(*goals, SizeIs(1));
  EXPECT_EQ(goals->front().gpu, 1U);
  const auto plan = PlanGoals(
      std::vector<GpuState>{{.id = "0", .geometry = gpus[0].geometry, .is_mig_enabled = false},
                            {.id = "1", .geometry = gpus[1].geometry, .is_mig_enabled = false}},
      *goals);
  ASSERT_OK(plan);
  EXPECT_TRUE(plan->is_feasible) << plan->reason;
  ASSERT_THAT(plan->changes, SizeIs(1));
  EXPECT_THAT(plan->changes[0].create, SizeIs(4));
}

TEST(PlanGoalsTest, TurnsMigOff) {
  const HostGpu gpu = HostGpuOf(0, 0x20b2);
  GpuState state{.id = "0", .geometry = gpu.geometry};
  state.instances = {{.kind = {.profile = "1g.10gb"}, .start = 3}};
  const Goal off{.gpu = 0, .is_mig_enabled = false};
  const auto plan = PlanGoals(std::vector<GpuState>{state}, {off});
  ASSERT_OK(plan);
  ASSERT_THAT(plan->changes, SizeIs(1));
  EXPECT_TRUE(plan->changes[0].disables_mig);
  EXPECT_THAT(plan->changes[0].destroy, SizeIs(1));
  state.instances.clear();
  const auto empty = PlanGoals(std::vector<GpuState>{state}, {off});
  ASSERT_OK(empty);
  ASSERT_THAT(empty->changes, SizeIs(1));
  EXPECT_TRUE(empty->changes[0].disables_mig);
  state.is_mig_enabled = false;
  const auto nothing = PlanGoals(std::vector<GpuState>{state}, {off});
  ASSERT_OK(nothing);
  EXPECT_THAT(nothing->changes, IsEmpty());
}

TEST(PlanGoalsTest, LetsBusyGpusWait) {
  const HostGpu gpu = HostGpuOf(0, 0x20b2);
  GpuState busy{.id = "0", .geometry = gpu.geometry};
  busy.instances = {{.kind = {.profile = "1g.10gb"}, .start = 3, .use = Use::kFixed}};
  const GpuState idle{.id = "1", .geometry = gpu.geometry};
  const std::vector<GpuState> gpus = {busy, idle};
  const std::vector<Demand> whole = {{.kind = {.profile = "7g.80gb"}, .count = 1}};
  const std::vector<Goal> goals = {{.gpu = 0, .layout = whole}, {.gpu = 1, .layout = whole}};
  const auto refused = PlanGoals(gpus, goals);
  ASSERT_OK(refused);
  EXPECT_FALSE(refused->is_feasible);
  const auto waits = PlanGoals(gpus, goals, Busy::kWait);
  ASSERT_OK(waits);
  EXPECT_TRUE(waits->is_feasible);
  ASSERT_THAT(waits->changes, SizeIs(1));
  EXPECT_EQ(waits->changes[0].gpu, 1U);
  EXPECT_THAT(waits->waiting, ElementsAre("GPU 0: 1g.10gb at memory slice 3 is in use"));
  // What no GPU can have does not become possible by waiting.
  const std::vector<Demand> twice = {{.kind = {.profile = "7g.80gb"}, .count = 2}};
  const auto never = PlanGoals(gpus, {{.gpu = 0, .layout = twice}}, Busy::kWait);
  ASSERT_OK(never);
  EXPECT_FALSE(never->is_feasible);
}

}  // namespace
}  // namespace kgpu::mig
