#include "src/cli/config/assignment_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/container/inject/capability.h"
#include "src/node/config/values.h"
#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

device::Snapshot TestSnapshot() {
  device::Snapshot snapshot;
  snapshot.driver.state = device::DriverState::kReady;
  for (unsigned i = 0; i < 3; ++i) {
    device::Gpu& gpu = snapshot.gpus.emplace_back();
    gpu.uuid =
        *device::GpuUuid::Parse(fmt::format("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b{:04x}", i));
    gpu.index = i;
    gpu.model = "A100-SXM4-80GB";
  }
  device::Gpu& cut = snapshot.gpus[1];
  cut.mig_mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
  device::MigDevice& mig = cut.mig_devices.emplace_back();
  mig.uuid = *device::MigUuid::Parse("MIG-7c1d4bd0-85a5-5d5a-b9c5-d4ee4f2b0001");
  mig.profile = "1g.10gb";
  cut.health = {.is_healthy = false, .reason = "Xid79", .message = "fell off the bus: reboot"};
  return snapshot;
}

pools::Assignment Assign(const device::Snapshot& snapshot) {
  const auto config = config::ParseNodeConfig(
      "apiVersion: kgpu.dev/v1\nkind: NodeConfig\nexclude: [{index: 2}]\nmigStrategy: mixed\n"
      "pools:\n- {resource: x/none, devices: {model: T4}}\n"
      "- {share: {by: time, replicas: 2}}\n",
      "n.yaml");
  EXPECT_OK(config);
  return pools::AssignDevices(snapshot, config.value_or(config::DefaultNodeConfig()));
}

TEST(AssignmentViewTest, GpusThatMigWithdrawsMakeTheExitCode) {
  device::Snapshot snapshot = TestSnapshot();
  snapshot.gpus[1] = snapshot.gpus[0];
  snapshot.gpus[1].index = 1;
  snapshot.gpus[1].uuid = *device::GpuUuid::Parse("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b0001");
  const config::NodeConfig config = config::DefaultNodeConfig();
  const auto code = [&] {
    return CodeOf(pools::AssignDevices(snapshot, config), snapshot, config);
  };
  EXPECT_EQ(code(), ExitCode::kOk);
  snapshot.gpus[1].mig_mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
  EXPECT_EQ(code(), ExitCode::kWarned) << "two are left";
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.mig_mode = snapshot.gpus[1].mig_mode;
  }
  EXPECT_EQ(code(), ExitCode::kUnhealthy) << "none is left";
}

TEST(AssignmentViewTest, HasARowForEachDevice) {
  const device::Snapshot snapshot = TestSnapshot();
  EXPECT_EQ(
      AssignmentTable(Assign(snapshot), snapshot),
      "RESOURCE                DEVICE                                    INDEX  MODEL           "
      "SLOTS  HEALTH             REASON\n"
      "nvidia.com/gpu          GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b0000  0      A100-SXM4-80GB  "
      "2      Healthy            -\n"
      "nvidia.com/mig-1g.10gb  MIG-7c1d4bd0-85a5-5d5a-b9c5-d4ee4f2b0001  1:0    1g.10gb         "
      "2      Unhealthy (Xid79)  fell off the bus: reboot\n"
      "x/none                  -                                         -      -               "
      "0      -                  -\n"
      "unassigned              GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b0002  2      A100-SXM4-80GB  "
      "0      Healthy            excluded by exclude[0] (index=2)\n"
      "pools[0] (model=T4) matches no device: this host has 3 × A100-SXM4-80GB, 1 × MIG "
      "1g.10gb\n");
}

TEST(AssignmentViewTest, ASilentDriverAndGpusWithoutOneAreShown) {
  device::Snapshot snapshot;
  snapshot.driver.state = device::DriverState::kNotLoaded;
  snapshot.driver.reason = "The module nvidia is not loaded: modprobe nvidia";
  snapshot.unmanaged.push_back({.pci = {0, 7, 0, 0},
                                .pci_device_id = 0x20b2,
                                .pci_class = "3d-controller",
                                .kernel_driver = "",
                                .reason = "no driver holds it"});
  EXPECT_EQ(AssignmentTable(pools::AssignDevices(snapshot, config::DefaultNodeConfig()), snapshot),
            "The module nvidia is not loaded: modprobe nvidia\n"
            "RESOURCE        DEVICE        INDEX  MODEL  SLOTS  HEALTH  REASON\n"
            "nvidia.com/gpu  -             -      -      0      -       -\n"
            "unassigned      0000:07:00.0  -      -      0      -       no driver holds it\n");
}

TEST(AssignmentViewTest, ProgramsReadTheSame) {
  const device::Snapshot snapshot = TestSnapshot();
  EXPECT_EQ(
      doc::PrintLine(AssignmentJson(Assign(snapshot), snapshot)),
      R"({"driver":{"state":"Ready","reason":""},"resources":[)"
      R"({"name":"nvidia.com/gpu","slots":2,"share":{"by":"time","replicas":2,"multiple":"allow"},)"
      R"("devices":[{"device":"GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b0000","index":"0",)"
      R"("model":"A100-SXM4-80GB","healthy":true,"healthReason":"","slots":2}]},)"
      R"({"name":"nvidia.com/mig-1g.10gb","slots":2,)"
      R"("share":{"by":"time","replicas":2,"multiple":"allow"},)"
      R"("devices":[{"device":"MIG-7c1d4bd0-85a5-5d5a-b9c5-d4ee4f2b0001","index":"1:0",)"
      R"("model":"1g.10gb","healthy":false,"healthReason":"Xid79","slots":2}]},)"
      R"({"name":"x/none","slots":0,"share":null,"devices":[]}],"local":[],)"
      R"("unassigned":[{"device":"GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b0002","index":"2",)"
      R"("model":"A100-SXM4-80GB","healthy":true,"healthReason":"",)"
      R"j("reason":"excluded by exclude[0] (index=2)"}],)j"
      R"("notes":["pools[0] (model=T4) matches no device: )"
      R"(this host has 3 × A100-SXM4-80GB, 1 × MIG 1g.10gb"],"hints":[]})");
}

TEST(AssignmentViewTest, SlotsByMpsHaveMemoryAndThreads) {
  device::Snapshot snapshot = TestSnapshot();
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.usable_memory = GibiBytes(80);
  }
  const auto config = config::ParseNodeConfig(
      "apiVersion: kgpu.dev/v1\nkind: NodeConfig\npools:\n- {devices: {index: 0}, share: {by: mps, "
      "replicas: 4}}\n",
      "n.yaml");
  ASSERT_OK(config);
  const pools::Assignment assignment = pools::AssignDevices(snapshot, *config);
  EXPECT_THAT(AssignmentTable(assignment, snapshot), ::testing::HasSubstr("4 of 20Gi"));
  EXPECT_THAT(doc::PrintLine(AssignmentJson(assignment, snapshot)),
              ::testing::HasSubstr(R"("memoryPerSlot":"20Gi","threadsPerSlot":25)"));
}

// config stands beside inject and has a list of its own.
TEST(CapabilityWordsTest, AreTheSameInConfigurationAndInjection) {
  for (const char* word : {"compute", "utility", "graphics", "video", "display", "ngx", "compat32",
                           "all", "compute,video", "cuda", ""}) {
    EXPECT_EQ(config::CheckCapabilities(word).ok(), inject::ParseCapabilities(word).ok()) << word;
  }
}

TEST(AssignmentViewTest, ALocalPoolIsMarked) {
  const device::Snapshot snapshot = TestSnapshot();
  const auto config = config::ParseNodeConfig(
      "apiVersion: kgpu.dev/v1\nkind: NodeConfig\npools:\n- {devices: {index: 0}, provider: "
      "local}\n",
      "n.yaml");
  ASSERT_OK(config);
  const pools::Assignment assignment = pools::AssignDevices(snapshot, *config);
  EXPECT_THAT(AssignmentTable(assignment, snapshot),
              ::testing::HasSubstr("kgpu.dev/local (local)  GPU-5d5ba0d6"));
  const boost::json::value json = AssignmentJson(assignment, snapshot);
  EXPECT_TRUE(json.at("resources").as_array().empty());
  EXPECT_EQ(json.at("local").at(0).at("name").as_string(), "kgpu.dev/local");
}

}  // namespace
}  // namespace kgpu::cli
