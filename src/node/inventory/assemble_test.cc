#include "src/node/inventory/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/node/inventory/test_host.h"

namespace kgpu::inventory {
namespace {

using device::Gpu;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

device::GpuUuid Uuid(unsigned index) {
  return *device::GpuUuid::Parse(fmt::format("GPU-00000000-0000-0000-0000-{:012x}", index));
}

GpuReading MakeReading(unsigned index) {
  GpuReading reading;
  reading.gpu.uuid = Uuid(index);
  reading.gpu.minor = index;
  reading.gpu.pci = *device::PciBusId::Parse(TestHost::Address(index));
  reading.gpu.pci_device_id = 0x20b2;
  reading.gpu.name = "NVIDIA A100-SXM4-80GB";
  reading.gpu.architecture = nvml::kArchAmpere;
  reading.gpu.memory = GibiBytes(80);
  return reading;
}

class AssembleTest : public ::testing::Test {
 protected:
  AssembleTest() {
    for (unsigned index : {0U, 1U}) {
      host_.AddGpu(index);
      reading_.gpus.push_back(MakeReading(index));
    }
  }
  HostView View() { return ReadHostView(host_.Open().host); }
  Listed List() { return ListGpus(reading_, View(), host_.Open().host); }

  TestHost host_;
  Reading reading_;
};

TEST_F(AssembleTest, ListsGpusByPciAddressWithTheirModelAndNumaNode) {
  std::swap(reading_.gpus[0], reading_.gpus[1]);
  const Listed listed = List();
  ASSERT_EQ(listed.gpus.size(), 2U);
  EXPECT_EQ(listed.gpus[0].pci.str(), "0000:01:00.0");
  EXPECT_EQ(listed.gpus[0].index, 1U);
  EXPECT_EQ(listed.gpus[0].model, "A100-SXM4-80GB");
  EXPECT_EQ(listed.gpus[0].architecture, "ampere");
  EXPECT_EQ(listed.gpus[0].numa_node, 1U);
  EXPECT_THAT(listed.faults, IsEmpty());
}

TEST_F(AssembleTest, TakesAMissingMinorFromProc) {
  reading_.gpus[1].gpu.minor.reset();
  const Listed listed = List();
  EXPECT_EQ(listed.gpus[1].minor, 1U);
  EXPECT_THAT(listed.faults, IsEmpty());
}

TEST_F(AssembleTest, AGpuWithoutAnyMinorIsUnhealthy) {
  reading_.gpus[1].gpu.minor.reset();
  std::filesystem::remove_all(host_.dir().At("proc/driver/nvidia/gpus"));
  EXPECT_EQ(List().faults.at(Uuid(1)).reason, "NoDeviceNode");
}

TEST_F(AssembleTest, KeepsTheFirstOfTwoGpusOfOneName) {
  reading_.gpus[1].gpu.uuid = Uuid(0);
  EXPECT_EQ(List().gpus.size(), 1U);
}

TEST_F(AssembleTest, NamesMigDevicesAndFindsTheirCapabilities) {
  host_.dir().WriteFile("proc/driver/nvidia/capabilities/gpu0/mig/gi7/access",
                        "DeviceFileMinor: 66\nDeviceFileMode: 292\n");
  host_.dir().WriteFile("proc/driver/nvidia/capabilities/gpu0/mig/gi7/ci0/access",
                        "DeviceFileMinor: 67\nDeviceFileMode: 292\n");
  probe::MigReport mig;
  mig.uuid = *device::MigUuid::Parse("MIG-00000000-0000-0000-0000-000000000001");
  mig.gpu_instance = 7;
  mig.compute_instance = 0;
  mig.attributes = {.gpu_instance_slices = 1,
                    .compute_instance_slices = 1,
                    .multiprocessors = 14,
                    .engines = {.copy = 1, .decoder = 1, .encoder = 0, .jpeg = 1, .ofa = 0},
                    .memory = MebiBytes(9856)};
  reading_.gpus[0].mig_devices[3] = mig;
  reading_.gpus[0].mig_devices[4] = probe::MigReport{};  // being destroyed
  const Listed listed = List();
  ASSERT_EQ(listed.gpus[0].mig_devices.size(), 1U);
  const device::MigDevice& device = listed.gpus[0].mig_devices[0];
  EXPECT_EQ(device.profile, "1g.10gb");
  EXPECT_EQ(device.index, 3U);
  EXPECT_EQ(device.engines.jpeg, 1U);
  EXPECT_EQ(device.gpu_instance_cap_minor, 66U);
  EXPECT_EQ(device.compute_instance_cap_minor, 67U);
}

TEST_F(AssembleTest, ListsPeersWithPathAndLinks) {
  reading_.gpus[0].topology.levels = {std::nullopt, nvml::kTopologyNode};
  reading_.gpus[0].nvlinks.links.push_back({.link = 0,
                                            .is_active = true,
                                            .version = 3,
                                            .peer = device::NvLinkPeer::kGpu,
                                            .remote = reading_.gpus[1].gpu.pci});
  const Listed listed = List();
  ASSERT_EQ(listed.gpus[0].peers.size(), 1U);
  EXPECT_EQ(listed.gpus[0].peers[0].peer_index, 1U);
  EXPECT_EQ(listed.gpus[0].peers[0].path, device::PciePath::kSameNuma);
  EXPECT_EQ(listed.gpus[0].peers[0].nvlinks, 1U);
}

TEST_F(AssembleTest, AGpuThatAnswersWithAFaultKeepsItsLastGoodValues) {
  const std::vector<Gpu> known = List().gpus;
  reading_.gpus[0].gpu.fault = nvml::kErrorGpuIsLost;
  reading_.gpus[0].gpu.name.clear();
  Listed listed = List();
  const std::vector<Gpu> gpus = MergeKnown(known, listed, View());
  EXPECT_EQ(gpus, known);
  EXPECT_EQ(listed.faults.at(Uuid(0)).reason, "GpuLost");
}

TEST_F(AssembleTest, AGpuThatIsNoLongerListedButOnTheBusStays) {
  const std::vector<Gpu> known = List().gpus;
  reading_.gpus[0] = GpuReading{};
  reading_.gpus[0].result = nvml::kErrorGpuIsLost;
  Listed listed = List();
  EXPECT_EQ(MergeKnown(known, listed, View()).size(), 2U);
  EXPECT_EQ(listed.faults.at(Uuid(0)).reason, "GpuLost");
}

TEST_F(AssembleTest, AGpuThatIsLostBeforeItWasKnownIsCounted) {
  reading_.gpus[0] = GpuReading{};
  reading_.gpus[0].result = nvml::kErrorGpuIsLost;
  EXPECT_EQ(List().unnamed_lost, 1U);
  reading_.gpus[0].result = nvml::kErrorNoPermission;
  EXPECT_EQ(List().unnamed_lost, 0U);
}

TEST_F(AssembleTest, AGpuThatLeftTheBusIsGone) {
  const std::vector<Gpu> known = List().gpus;
  reading_.gpus[0].gpu.fault = nvml::kErrorGpuIsLost;
  host_.RemoveGpu(0);
  Listed listed = List();
  const std::vector<Gpu> gpus = MergeKnown(known, listed, View());
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].uuid, Uuid(1));
  EXPECT_THAT(listed.faults, IsEmpty());
}

TEST_F(AssembleTest, WithoutPciNothingIsTakenForRemoved) {
  const std::vector<Gpu> known = List().gpus;
  reading_.gpus.pop_back();
  Listed listed = ListGpus(reading_, HostView{}, host_.Open().host);
  EXPECT_EQ(MergeKnown(known, listed, HostView{}).size(), 2U);
}

TEST_F(AssembleTest, UnmanagedGpusHaveAReason) {
  host_.AddGpu(2, "vfio-pci");
  host_.AddGpu(3);
  const auto unmanaged = Unmanaged(View(), List().gpus, {}, host_.Open().host);
  ASSERT_EQ(unmanaged.size(), 2U);
  EXPECT_EQ(unmanaged[0].kernel_driver, "vfio-pci");
  EXPECT_THAT(unmanaged[0].reason, HasSubstr("vfio-pci"));
  EXPECT_THAT(unmanaged[1].reason, HasSubstr("/dev/nvidia3 does not exist here"));
}

TEST_F(AssembleTest, AGpuOffTheBusNeedsNoNode) {
  host_.AddGpu(3);
  host_.dir().WriteFile("sys/bus/pci/devices/0000:04:00.0/config", std::string(64, '\xff'));
  const auto unmanaged = Unmanaged(View(), List().gpus, {}, host_.Open().host);
  ASSERT_EQ(unmanaged.size(), 1U);
  EXPECT_THAT(unmanaged[0].reason, HasSubstr("fallen off the bus"));
}

TEST_F(AssembleTest, UnmanagedGpusTellWhyTheDriverIsNotReady) {
  const auto unmanaged =
      Unmanaged(View(), {}, {.verdict = "The driver is away."}, host_.Open().host);
  ASSERT_EQ(unmanaged.size(), 2U);
  EXPECT_EQ(unmanaged[0].reason, "The driver is away.");
}

TEST_F(AssembleTest, MinorFromProcRejectsNonsense) {
  host_.dir().WriteFile("proc/driver/nvidia/gpus/0000:01:00.0/information",
                        "Device Minor: \t 99999999999\n");
  EXPECT_EQ(MinorFromProc(host_.Open().host, {.bus = 1}), std::nullopt);
  EXPECT_EQ(MinorFromProc(host_.Open().host, {.bus = 9}), std::nullopt);
}

// Source: microsoft/pai#4344, NVIDIA/k8s-device-plugin#414: the handle of a GPU is refused.
TEST_F(AssembleTest, ARefusalIsTheReasonOfTheGpuThatIsNotListed) {
  host_.dir().WriteFile("dev/nvidia1", "");
  reading_.gpus[1] = {};
  reading_.gpus[1].result = nvml::kErrorInsufficientPower;
  const Listed listed = List();
  EXPECT_THAT(listed.refusal, HasSubstr("(NVML 8)"));
  const auto unmanaged =
      Unmanaged(View(), listed.gpus, {.refusal = listed.refusal}, host_.Open().host);
  ASSERT_EQ(unmanaged.size(), 1U);
  EXPECT_EQ(unmanaged[0].reason, listed.refusal);
}

}  // namespace
}  // namespace kgpu::inventory
