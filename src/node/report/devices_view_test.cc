#include "src/node/report/devices_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/platform/doc/doc.h"

namespace kgpu::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

device::Gpu MakeGpu(unsigned index) {
  device::Gpu gpu;
  gpu.uuid =
      device::GpuUuid::Parse(fmt::format("GPU-00000000-0000-0000-0000-0000000000{:02x}", index))
          .value();
  gpu.index = index;
  gpu.minor = index;
  gpu.pci = {.domain = 0, .bus = static_cast<uint8_t>(7 + index), .device = 0, .function = 0};
  gpu.pci_device_id = 0x20b2;
  gpu.name = "NVIDIA A100-SXM4-80GB";
  gpu.model = "A100-SXM4-80GB";
  gpu.memory = GibiBytes(80);
  gpu.compute = device::ComputeCapability{8, 0};
  gpu.numa_node = 3;
  gpu.mig_mode = device::MigMode{};
  gpu.nvlinks = {{.link = 0,
                  .is_active = true,
                  .version = 3,
                  .peer = device::NvLinkPeer::kSwitch,
                  .remote = std::nullopt},
                 {.link = 1,
                  .is_active = false,
                  .version = 3,
                  .peer = device::NvLinkPeer::kSwitch,
                  .remote = std::nullopt}};
  return gpu;
}

device::MigDevice MakeMig() {
  device::MigDevice mig;
  mig.uuid = device::MigUuid::Parse("MIG-00000000-0000-0000-0000-0000000000ff").value();
  mig.profile = "1g.10gb";
  mig.gpu_instance = 7;
  mig.memory = MebiBytes(9856);
  return mig;
}

device::Snapshot TwoGpus() {
  device::Snapshot snapshot;
  snapshot.version = 1;
  snapshot.driver = {.state = device::DriverState::kReady,
                     .reason = "",
                     .version = "535.104.05",
                     .module_version = "535.104.05",
                     .nvml_version = "12.535.104.05",
                     .cuda_major = 12,
                     .cuda_minor = 2,
                     .library_path = "/usr/lib/libnvidia-ml.so.1"};
  snapshot.gpus = {MakeGpu(0), MakeGpu(1)};
  return snapshot;
}

TEST(DevicesViewTest, TheTableShowsEachGpuOnOneLine) {
  EXPECT_EQ(DevicesTable(TwoGpus()),
            "Driver 535.104.05, CUDA up to 12.2\n"
            "GPU  MODEL           MEMORY  PCI           NUMA  NVLINK  MIG  HEALTH   UUID\n"
            "0    A100-SXM4-80GB  80 GiB  0000:07:00.0  3     1/2     off  Healthy  "
            "GPU-00000000-0000-0000-0000-000000000000\n"
            "1    A100-SXM4-80GB  80 GiB  0000:08:00.0  3     1/2     off  Healthy  "
            "GPU-00000000-0000-0000-0000-000000000001\n");
}

TEST(DevicesViewTest, AGpuInMigModeWithoutDevicesIsNamedWithTheFix) {
  device::Snapshot snapshot = TwoGpus();
  snapshot.gpus[1].mig_mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
  EXPECT_THAT(DevicesTable(snapshot),
              AllOf(HasSubstr("on (empty)"),
                    HasSubstr("\nGPU 1: in MIG mode without MIG devices, so no program can use it: "
                              "create some (kgpu mig apply --gpu 1 ")));
  snapshot.gpus[1].mig_devices = {MakeMig()};
  EXPECT_THAT(DevicesTable(snapshot), Not(HasSubstr("without MIG devices")));
}

TEST(DevicesViewTest, TheTableShowsMigDevicesBelowTheirGpu) {
  device::Snapshot snapshot = TwoGpus();
  snapshot.gpus[1].mig_mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
  snapshot.gpus[1].mig_devices = {MakeMig()};
  EXPECT_THAT(DevicesTable(snapshot), AllOf(HasSubstr("1:0    1g.10gb"), HasSubstr("9.6 GiB")));
}

TEST(DevicesViewTest, TheTableTellsReasonsAndUnmanagedGpus) {
  device::Snapshot snapshot = TwoGpus();
  snapshot.gpus[0].health = {.is_healthy = false, .reason = "Xid79", .message = "Reset it."};
  snapshot.unmanaged = {{.pci = {.domain = 0, .bus = 9, .device = 0, .function = 0},
                         .pci_device_id = 0x1eb8,
                         .pci_class = "3d-controller",
                         .kernel_driver = "vfio-pci",
                         .reason = "Held by vfio-pci."}};
  EXPECT_THAT(DevicesTable(snapshot),
              AllOf(HasSubstr("Unhealthy (Xid79)"), HasSubstr("GPU 0: Reset it.\n"),
                    HasSubstr("0000:09:00.0 (0x1eb8, 3d-controller): Held by vfio-pci.\n")));
}

TEST(DevicesViewTest, OneCauseIsReportedOnce) {
  device::Snapshot snapshot = TwoGpus();
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.health = {.is_healthy = false, .reason = "Xid79", .message = "Reset it."};
  }
  for (const uint32_t bus : {9U, 10U, 11U}) {
    device::UnmanagedGpu& gpu = snapshot.unmanaged.emplace_back();
    gpu.pci.bus = bus;
    gpu.reason = "The driver hangs.";
  }
  const std::string table = DevicesTable(snapshot);
  EXPECT_THAT(table, AllOf(HasSubstr("GPU 0: Reset it.\n"), HasSubstr("GPU 1: as above\n"),
                           HasSubstr("): The driver hangs.\n"),
                           HasSubstr("\n0000:0b:00.0 (0x0000, ): as above\n")));
  EXPECT_EQ(table.find("hangs"), table.rfind("hangs"));
  snapshot.driver.state = device::DriverState::kUnresponsive;
  snapshot.driver.reason = "The driver hangs.";
  EXPECT_EQ(DevicesTable(snapshot).find("hangs"), DevicesTable(snapshot).rfind("hangs"));
}

TEST(DevicesViewTest, ADriverThatDoesNotAnswerIsTheFirstLine) {
  device::Snapshot snapshot;
  snapshot.driver = {.state = device::DriverState::kNouveau,
                     .reason = "nouveau uses the GPUs: blacklist it.",
                     .version = "",
                     .module_version = "",
                     .nvml_version = "",
                     .cuda_major = std::nullopt,
                     .cuda_minor = std::nullopt,
                     .library_path = ""};
  EXPECT_EQ(DevicesTable(snapshot),
            "nouveau uses the GPUs: blacklist it.\nNo NVIDIA GPU on this host.\n");
  snapshot.driver.reason = "";
  EXPECT_THAT(DevicesTable(snapshot), StartsWith("Driver: Nouveau\n"));
  EXPECT_FALSE(IsAllHealthy(snapshot));
}

TEST(DevicesViewTest, ValuesTheDriverDoesNotGiveAreNullInJson) {
  device::Snapshot snapshot = TwoGpus();
  snapshot.gpus[0].memory.reset();
  snapshot.gpus[0].mig_mode.reset();
  snapshot.gpus[0].compute.reset();
  const boost::json::value json = DevicesJson(snapshot);
  EXPECT_TRUE(json.at_pointer("/gpus/0/memoryBytes").is_null());
  EXPECT_TRUE(json.at_pointer("/gpus/0/mig").is_null());
  EXPECT_TRUE(json.at_pointer("/gpus/0/computeCapability").is_null());
  EXPECT_EQ(json.at_pointer("/gpus/1/memoryBytes"), uint64_t{80} << 30);
  EXPECT_EQ(json.at_pointer("/gpus/1/nvlinks/0/peer"), "switch");
  EXPECT_EQ(json.at_pointer("/driver/cudaVersion"), "12.2");
}

TEST(DevicesViewTest, ChangesAreDescribedOnceEach) {
  const device::Snapshot before = TwoGpus();
  device::Snapshot after = before;
  EXPECT_EQ(DescribeChanges(before, after), "");
  after.gpus[1].health = {.is_healthy = false, .reason = "GpuLost", .message = "Reboot."};
  EXPECT_EQ(DescribeChanges(before, after),
            "GPU 1 (A100-SXM4-80GB, GPU-00000000-0000-0000-0000-000000000001): "
            "Unhealthy: GpuLost: Reboot.\n");
  device::Snapshot more = after;
  more.gpus[1].health.message += " Also: Xid79.";
  EXPECT_EQ(DescribeChanges(after, more), "") << "it is the same fault";
  more.gpus[1].health.message = "Replace it.";
  EXPECT_THAT(DescribeChanges(after, more), HasSubstr("Unhealthy: GpuLost: Replace it.\n"));
  EXPECT_THAT(DescribeChanges(after, before), HasSubstr(": Healthy\n"));
  EXPECT_FALSE(IsAllHealthy(after));
  after.gpus.pop_back();
  after.gpus[0].mig_devices = {MakeMig()};
  EXPECT_THAT(DescribeChanges(before, after),
              AllOf(HasSubstr("000001): removed\n"), HasSubstr("MIG 0:0 (1g.10gb, "),
                    HasSubstr("): added, Healthy\n"), Not(HasSubstr("Driver"))));
}

TEST(DevicesTest, ShowWhoHasBorrowedAGpu) {
  const device::Snapshot snapshot = TwoGpus();
  const Holders holders = {{snapshot.gpus[1].uuid.str(), "fn/hello/4f1c"}};
  EXPECT_THAT(DevicesTable(snapshot, holders), HasSubstr("GPU 1: lent to fn/hello/4f1c\n"));
  const boost::json::value json = DevicesJson(snapshot, holders);
  EXPECT_EQ(json.at("gpus").at(1).at("lentTo").as_string(), "fn/hello/4f1c");
  EXPECT_FALSE(json.at("gpus").at(0).as_object().contains("lentTo"));
}

}  // namespace
}  // namespace kgpu::report
