#include "src/container/inject/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/container/inject/test_snapshot.h"
#include "testing/status_matchers.h"

namespace kgpu::inject {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

InjectionPlan PlanInjection(const device::Snapshot& snapshot, const HostParts& parts,
                            CapabilitySet capabilities) {
  return PlanFor(PlanHost(snapshot, parts), capabilities);
}

NodePart PlannedNode(const std::string& path, unsigned major, unsigned minor) {
  return {{path, major, minor}, path};
}

HostParts Parts(unsigned gpus) {
  HostParts parts;
  parts.driver_version = "535.104.05";
  parts.machine = host::ElfMachine::kX86_64;
  for (unsigned i = 0; i < gpus; ++i) {
    parts.gpus.emplace_back(i, PlannedNode(fmt::format("/dev/nvidia{}", i), 195, i));
  }
  parts.control = {PlannedNode("/dev/nvidiactl", 195, 255), PlannedNode("/dev/nvidia-uvm", 509, 0)};
  parts.graphics = {PlannedNode("/dev/nvidia-modeset", 195, 254)};
  return parts;
}

LibraryPart Library(const std::string& stem, host::ElfMachine machine = host::ElfMachine::kX86_64) {
  return {stem + ".so.535.104.05", stem + ".so.1", "/lib/" + stem + ".so.535.104.05", machine};
}

std::vector<std::vector<std::string>> Names(const InjectionPlan& plan) {
  std::vector<std::vector<std::string>> names;
  names.reserve(plan.devices.size());
  for (const PlannedDevice& device : plan.devices) {
    names.push_back(device.names);
  }
  return names;
}

std::vector<std::string> Paths(const std::vector<cdi::DeviceNode>& nodes) {
  std::vector<std::string> paths;
  paths.reserve(nodes.size());
  for (const cdi::DeviceNode& node : nodes) {
    paths.push_back(node.path);
  }
  return paths;
}

std::vector<std::string> PlannedTargets(const InjectionPlan& plan) {
  std::vector<std::string> targets;
  targets.reserve(plan.mounts.size());
  for (const cdi::Mount& mount : plan.mounts) {
    targets.push_back(mount.container_path);
  }
  return targets;
}

TEST(PlanTest, NamesGpusByIndexAndUuidAndAll) {
  const InjectionPlan plan = PlanInjection(TestSnapshot(2), Parts(2), kDefaultCapabilities);
  EXPECT_THAT(Names(plan), ElementsAre(ElementsAre("0", TestGpuUuid(0).str()),
                                       ElementsAre("1", TestGpuUuid(1).str()), ElementsAre("all")));
  EXPECT_THAT(Paths(plan.devices[1].nodes), ElementsAre("/dev/nvidia1"));
  EXPECT_THAT(Paths(plan.devices[2].nodes), ElementsAre("/dev/nvidia0", "/dev/nvidia1"));
  EXPECT_THAT(Paths(plan.nodes), ElementsAre("/dev/nvidiactl", "/dev/nvidia-uvm"));
  EXPECT_THAT(plan.env, ElementsAre("NVIDIA_VISIBLE_DEVICES=void"));
  EXPECT_THAT(plan.notes, IsEmpty());
}

TEST(PlanTest, GivesNodesTheirNumbersAndPermissions) {
  HostParts parts = Parts(1);
  parts.gpus[0].second.engine_path = "/sim/dev/nvidia0";
  const InjectionPlan plan = PlanInjection(TestSnapshot(1), parts, kDefaultCapabilities);
  const cdi::DeviceNode& node = plan.devices[0].nodes[0];
  EXPECT_EQ(node.host_path, "/sim/dev/nvidia0");
  EXPECT_EQ(node.type, "c");
  EXPECT_EQ(node.major, 195);
  EXPECT_EQ(node.minor, 0);
  EXPECT_EQ(node.permissions, "rw");
  EXPECT_EQ(plan.nodes[0].host_path, "") << "the same path is not written twice";
}

TEST(PlanTest, LeavesOutGpuWithoutNodeAndKeepsTheOthers) {
  const InjectionPlan plan = PlanInjection(TestSnapshot(2), Parts(1), kDefaultCapabilities);
  EXPECT_THAT(Names(plan), ElementsAre(Contains("0"), ElementsAre("all")));
  EXPECT_THAT(plan.notes,
              ElementsAre(AllOf(HasSubstr("/dev/nvidia1"), HasSubstr("nvidia-modprobe -c 1"))));
}

TEST(PlanTest, KeepsUnhealthyGpus) {
  device::Snapshot snapshot = TestSnapshot(1);
  snapshot.gpus[0].health = {false, "Xid79", "GPU has fallen off the bus."};
  EXPECT_EQ(PlanInjection(snapshot, Parts(1), kDefaultCapabilities),
            PlanInjection(TestSnapshot(1), Parts(1), kDefaultCapabilities));
}

TEST(PlanTest, MigDeviceGetsParentAndTwoCaps) {
  device::Snapshot snapshot = TestSnapshot(2);
  AddTestMig(snapshot, 0, 1);
  HostParts parts = Parts(2);
  parts.caps = {{1, PlannedNode("/dev/nvidia-caps/nvidia-cap1", 237, 1)},
                {2, PlannedNode("/dev/nvidia-caps/nvidia-cap2", 237, 2)}};
  const InjectionPlan plan = PlanInjection(snapshot, parts, kDefaultCapabilities);
  EXPECT_THAT(Names(plan),
              ElementsAre(ElementsAre("0:0", snapshot.gpus[0].mig_devices[0].uuid.str()),
                          Contains("1"), ElementsAre("all")));
  EXPECT_THAT(
      Paths(plan.devices[0].nodes),
      ElementsAre("/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia-caps/nvidia-cap2"));
}

TEST(PlanTest, MigDeviceWithoutCapNodeIsLeftOut) {
  device::Snapshot snapshot = TestSnapshot(1);
  AddTestMig(snapshot, 0, 1);
  HostParts parts = Parts(1);
  parts.caps = {{1, PlannedNode("/dev/nvidia-caps/nvidia-cap1", 237, 1)}};
  InjectionPlan plan = PlanInjection(snapshot, parts, kDefaultCapabilities);
  EXPECT_THAT(plan.devices, IsEmpty());
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("nvidia-cap2")));

  snapshot.gpus[0].mig_devices[0].gpu_instance_cap_minor.reset();
  plan = PlanInjection(snapshot, parts, kDefaultCapabilities);
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("below /dev/nvidia-caps")));
}

TEST(PlanTest, MountsLibraryUnderAllItsNamesInBothFolders) {
  HostParts parts = Parts(1);
  parts.libraries = {Library("libcuda")};
  const InjectionPlan plan = PlanInjection(TestSnapshot(1), parts, kDefaultCapabilities);
  EXPECT_THAT(PlannedTargets(plan), ElementsAre("/usr/lib64/libcuda.so", "/usr/lib64/libcuda.so.1",
                                                "/usr/lib64/libcuda.so.535.104.05",
                                                "/usr/lib/x86_64-linux-gnu/libcuda.so",
                                                "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
                                                "/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05"));
  for (const cdi::Mount& mount : plan.mounts) {
    EXPECT_EQ(mount.host_path, "/lib/libcuda.so.535.104.05");
    EXPECT_THAT(mount.options, ElementsAre("ro", "nosuid", "nodev", "rbind", "rprivate"));
  }
}

TEST(PlanTest, GivesOnlyWhatTheCapabilitiesAskFor) {
  HostParts parts = Parts(1);
  parts.libraries = {Library("libcuda"), Library("libnvidia-ml"), Library("libGLX_nvidia"),
                     Library("libvdpau_nvidia")};
  parts.files = {{"/usr/bin/nvidia-smi", "/usr/bin/nvidia-smi", Capability::kUtility, false},
                 {"/etc/vulkan/icd.d/nvidia_icd.json", "/x", Capability::kGraphics, false}};
  EXPECT_THAT(PlannedTargets(PlanInjection(TestSnapshot(1), parts, Capability::kUtility)),
              UnorderedElementsAre("/usr/bin/nvidia-smi", HasSubstr("libnvidia-ml"),
                                   HasSubstr("libnvidia-ml"), HasSubstr("libnvidia-ml"),
                                   HasSubstr("libnvidia-ml")));
  EXPECT_THAT(PlannedTargets(PlanInjection(TestSnapshot(1), parts, Capability::kGraphics)),
              IsSupersetOf({"/etc/vulkan/icd.d/nvidia_icd.json", "/usr/lib64/libGLX_indirect.so.0",
                            "/usr/lib64/libGLX_nvidia.so.1"}));
  EXPECT_THAT(PlannedTargets(PlanInjection(TestSnapshot(1), parts, Capability::kVideo)),
              Contains("/usr/lib/x86_64-linux-gnu/vdpau/libvdpau_nvidia.so.1"));
}

TEST(PlanTest, GraphicsNodesOnlyForGraphics) {
  HostParts parts = Parts(1);
  const device::Snapshot snapshot = TestSnapshot(1);
  parts.dri = {{snapshot.gpus[0].pci, PlannedNode("/dev/dri/renderD128", 226, 128)}};
  InjectionPlan plan = PlanInjection(snapshot, parts, kDefaultCapabilities);
  EXPECT_THAT(Paths(plan.nodes), Not(Contains("/dev/nvidia-modeset")));
  EXPECT_THAT(Paths(plan.devices[0].nodes), ElementsAre("/dev/nvidia0"));
  plan = PlanInjection(snapshot, parts, Capability::kDisplay);
  EXPECT_THAT(Paths(plan.nodes), Contains("/dev/nvidia-modeset"));
  EXPECT_THAT(Paths(plan.devices[0].nodes), ElementsAre("/dev/nvidia0", "/dev/dri/renderD128"));
}

TEST(PlanTest, Gives32BitLibrariesOnlyForCompat32) {
  HostParts parts = Parts(1);
  parts.libraries = {Library("libcuda", host::ElfMachine::kI386)};
  EXPECT_THAT(PlannedTargets(PlanInjection(TestSnapshot(1), parts, Capability::kCompute)),
              IsEmpty());
  EXPECT_THAT(PlannedTargets(PlanInjection(TestSnapshot(1), parts,
                                           Capability::kCompute | Capability::kCompat32)),
              IsSupersetOf({"/usr/lib/libcuda.so.1", "/usr/lib/i386-linux-gnu/libcuda.so.1"}));
}

TEST(PlanTest, PlacesAarch64LibrariesByTheirMachine) {
  HostParts parts = Parts(1);
  parts.machine = host::ElfMachine::kAarch64;
  parts.libraries = {Library("libcuda", host::ElfMachine::kAarch64)};
  EXPECT_THAT(PlannedTargets(PlanInjection(TestSnapshot(1), parts, kDefaultCapabilities)),
              IsSupersetOf({"/usr/lib/aarch64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1"}));
}

TEST(PlanTest, SaysWhenAMachineIsUnknown) {
  HostParts parts = Parts(1);
  parts.libraries = {Library("libcuda", host::ElfMachine::kUnknown)};
  EXPECT_THAT(PlanInjection(TestSnapshot(1), parts, kAllCapabilities).notes,
              ElementsAre(HasSubstr("libcuda.so.535.104.05")));
}

TEST(PlanTest, SocketsStayWritableButCarryNoPrograms) {
  HostParts parts = Parts(1);
  parts.files = {{"/run/nvidia-persistenced/socket", "/run/nvidia-persistenced/socket",
                  Capability::kUtility, true}};
  EXPECT_THAT(PlanInjection(TestSnapshot(1), parts, kDefaultCapabilities).mounts,
              ElementsAre(Field(&cdi::Mount::options,
                                ElementsAre("noexec", "nosuid", "nodev", "rbind", "rprivate"))));
}

TEST(PlanTest, MountsAreSortedByDepthThenName) {
  HostParts parts = Parts(1);
  parts.libraries = {Library("libvdpau_nvidia"), Library("libcuda")};
  const std::vector<std::string> targets =
      PlannedTargets(PlanInjection(TestSnapshot(1), parts, kAllCapabilities));
  EXPECT_TRUE(std::ranges::is_sorted(targets, {}, [](const std::string& target) {
    return std::pair(std::ranges::count(target, '/'), target);
  }));
}

TEST(HostPlanTest, DevicesSayWhatRequirementsAskFor) {
  device::Snapshot snapshot = TestSnapshot(2);
  snapshot.driver.cuda_major = 12;
  snapshot.driver.cuda_minor = 2;
  snapshot.gpus[0].compute = device::ComputeCapability{8, 0};
  snapshot.gpus[0].brand = "QuadroRTX";
  const InjectionIndex index = PlanHost(snapshot, Parts(2)).index;
  EXPECT_EQ(index.driver_version, "535.104.05");
  EXPECT_EQ(index.cuda_version, "12.2");
  ASSERT_EQ(index.devices.size(), 2U);
  EXPECT_EQ(index.devices[0].compute_capability, "8.0");
  EXPECT_EQ(index.devices[0].brand, "quadrortx");
  EXPECT_EQ(index.devices[1].compute_capability, "");
  EXPECT_EQ(index.devices[1].brand, "unknown");
}

TEST(HostPlanTest, MigDevicesHaveTheWordsOfTheirGpu) {
  device::Snapshot snapshot = TestSnapshot(1);
  snapshot.gpus[0].brand = "NVIDIA";
  AddTestMig(snapshot, 0, 1);
  HostParts parts = Parts(1);
  parts.caps = {{1, PlannedNode("/dev/nvidia-caps/nvidia-cap1", 237, 1)},
                {2, PlannedNode("/dev/nvidia-caps/nvidia-cap2", 237, 2)}};
  const InjectionIndex index = PlanHost(snapshot, parts).index;
  ASSERT_EQ(index.devices.size(), 1U);
  EXPECT_TRUE(index.devices[0].is_mig);
  EXPECT_EQ(index.devices[0].brand, "nvidia");
  EXPECT_EQ(index.devices[0].nodes.size(), 3U);
}

TEST(HostPlanTest, HoldsWhatAnyCapabilityNeeds) {
  HostParts parts = Parts(1);
  const device::Snapshot snapshot = TestSnapshot(1);
  parts.dri = {{snapshot.gpus[0].pci, PlannedNode("/dev/dri/renderD128", 226, 128)}};
  parts.libraries = {Library("libcuda"), Library("libGLX_nvidia"),
                     Library("libcuda", host::ElfMachine::kI386)};
  const HostPlan host = PlanHost(snapshot, parts);
  const auto read = ParseIndex(PrintIndex(host.index), "x.json");
  ASSERT_OK(read);
  for (const CapabilitySet wanted :
       {kDefaultCapabilities, kAllCapabilities, CapabilitySet(Capability::kGraphics)}) {
    EXPECT_EQ(PlanFor({*read, {}}, wanted), PlanInjection(snapshot, parts, wanted));
  }
}

TEST(ToSpecTest, WritesOneDevicePerName) {
  const InjectionPlan plan = PlanInjection(TestSnapshot(1), Parts(1), kDefaultCapabilities);
  const cdi::Spec spec = ToSpec(plan, "kgpu.dev/gpu");
  EXPECT_OK(cdi::Validate(spec));
  EXPECT_EQ(spec.version, "0.5.0") << "names begin with digits";
  ASSERT_EQ(spec.devices.size(), 3U);
  EXPECT_EQ(spec.devices[1].name, TestGpuUuid(0).str());
  EXPECT_EQ(spec.devices[0].edits, spec.devices[1].edits);
}

}  // namespace
}  // namespace kgpu::inject
