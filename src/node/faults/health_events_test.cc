#include "src/node/faults/health_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "src/gpu/health/test_health_event.h"

namespace kgpu::faults {
namespace {

using health::HealthEvent;
using health::HealthEventKind;
using health::TestGpu;
using health::TestXid;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kMig1[] = "MIG-00000000-0000-0000-0000-000000000001";
constexpr char kMig2[] = "MIG-00000000-0000-0000-0000-000000000002";

device::MigDevice MakeMig(const char* uuid, unsigned gpu_instance) {
  device::MigDevice mig;
  mig.uuid = device::MigUuid::Parse(uuid).value();
  mig.gpu_instance = gpu_instance;
  return mig;
}

// GPU 0 whole and in replicas, GPU 1 in two MIG devices.
device::Snapshot Snapshot() {
  device::Snapshot snapshot;
  for (unsigned index = 0; index < 2; ++index) {
    device::Gpu& gpu = snapshot.gpus.emplace_back();
    gpu.uuid = TestGpu(index);
    gpu.index = index;
  }
  snapshot.gpus[1].mig_devices = {MakeMig(kMig1, 1), MakeMig(kMig2, 2)};
  return snapshot;
}

pods::DeviceUse Use(const std::string& device, const std::string& pod,
                    const std::string& container = "main") {
  return {
      .resource = "nvidia.com/gpu",
      .device_id = device,
      .user = {.pod_namespace = "ml", .pod = pod, .container = container, .pod_uid = "u-" + pod}};
}

pods::PodMap Pods() {
  pods::PodMap map;
  map.devices = {Use(TestGpu(0).str() + "::0", "a"), Use(TestGpu(0).str() + "::1", "b"),
                 Use(TestGpu(0).str() + "::2", "b", "side"), Use(kMig1, "m1"), Use(kMig2, "m2")};
  map.processes[4711] = {.pod_namespace = "ml", .pod = "b", .container = "main", .pod_uid = "u-b"};
  return map;
}

std::vector<std::string> Reported(const HealthEvent& health_event) {
  std::vector<std::string> reported;
  for (const kube::Event& event : HealthEvents(health_event, Snapshot(), Pods(), "n1")) {
    reported.push_back(fmt::format("{} {} {}/{}", event.is_warning ? "Warning" : "Normal",
                                   event.reason, event.regarding.kind, event.regarding.name));
  }
  return reported;
}

HealthEvent OfAProgram(HealthEventKind kind = HealthEventKind::kSeen) {
  HealthEvent health_event = TestXid(0, kind);
  health_event.rule = "Xid31";
  health_event.xid = 31;
  health_event.fault_class = health::FaultClass::kApplication;
  health_event.action = health::Action::kRestartApp;
  health_event.is_unhealthy = false;
  return health_event;
}

TEST(HealthEventsTest, AFaultIsReportedToTheNodeAndToEachPodOnce) {
  EXPECT_THAT(Reported(TestXid(0)),
              ElementsAre("Warning GPUUnhealthy Node/n1", "Warning GPUUnhealthy Pod/a",
                          "Warning GPUUnhealthy Pod/b"));
}

TEST(HealthEventsTest, TheNoteNamesDeviceFaultAndFix) {
  HealthEvent health_event = TestXid(0);
  health_event.detail = "pid 4711";
  const std::vector<kube::Event> events = HealthEvents(health_event, Snapshot(), Pods(), "n1");
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].note,
            "GPU 0 (GPU-00000000-0000-0000-0000-000000000000): Xid79: The GPU has fallen off the "
            "bus: restart the host. pid 4711");
  EXPECT_EQ(events[1].regarding.uid, "u-a");
  EXPECT_EQ(events[1].regarding.space, "ml");
}

TEST(HealthEventsTest, AFaultOfTheWholeGpuIsReportedToThePodsOfItsMigDevices) {
  EXPECT_THAT(Reported(TestXid(1)),
              ElementsAre("Warning GPUUnhealthy Node/n1", "Warning GPUUnhealthy Pod/m1",
                          "Warning GPUUnhealthy Pod/m2"));
}

TEST(HealthEventsTest, AFaultOfOneInstanceIsReportedToItsPodOnly) {
  HealthEvent health_event = TestXid(1);
  health_event.gpu_instance = 2;
  EXPECT_THAT(Reported(health_event),
              ElementsAre("Warning GPUUnhealthy Node/n1", "Warning GPUUnhealthy Pod/m2"));
}

TEST(HealthEventsTest, AWarningIsNoSickness) {
  HealthEvent health_event = TestXid(1);
  health_event.gpu_instance = 2;
  health_event.is_unhealthy = false;
  EXPECT_THAT(Reported(health_event),
              ElementsAre("Warning GPUWarning Node/n1", "Warning GPUWarning Pod/m2"));
}

TEST(HealthEventsTest, RecoveryIsReportedToAllWhoHeardOfTheFault) {
  EXPECT_THAT(Reported(TestXid(0, HealthEventKind::kCleared)),
              ElementsAre("Normal GPURecovered Node/n1", "Normal GPURecovered Pod/a",
                          "Normal GPURecovered Pod/b"));
}

TEST(HealthEventsTest, AHeldDeviceIsAnAdminsBusiness) {
  const auto events = HealthEvents(TestXid(0, HealthEventKind::kHeld), Snapshot(), Pods(), "n1");
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].reason, "GPUHeldBack");
  EXPECT_THAT(events[0].note, HasSubstr("kgpu health clear GPU-0000"));
}

TEST(HealthEventsTest, WhatIsSeenOnceMoreIsReportedToNobodyAgain) {
  EXPECT_THAT(Reported(TestXid(0, HealthEventKind::kSeen)), IsEmpty());
}

TEST(HealthEventsTest, ASignThatAsksForAnAdminsHandIsAWarning) {
  HealthEvent health_event = TestXid(1, HealthEventKind::kSeen);
  health_event.rule = "Xid63";
  health_event.xid = 63;
  health_event.fault_class = health::FaultClass::kMemory;
  health_event.action = health::Action::kResetGpu;
  health_event.is_unhealthy = false;
  health_event.gpu_instance = 2;
  EXPECT_THAT(Reported(health_event),
              ElementsAre("Warning GPUWarning Node/n1", "Warning GPUWarning Pod/m2"));
  health_event.action = health::Action::kRestartApp;
  EXPECT_THAT(Reported(health_event), IsEmpty());
}

TEST(HealthEventsTest, AnErrorOfASwitchIsTheNodesBusiness) {
  HealthEvent health_event = TestXid(1, HealthEventKind::kSeen);
  health_event.gpu.reset();
  health_event.rule = "NvSwitchError";
  health_event.xid.reset();
  health_event.fault_class = health::FaultClass::kNvLink;
  health_event.action = health::Action::kInspect;
  health_event.is_unhealthy = false;
  const std::vector<kube::Event> events = HealthEvents(health_event, Snapshot(), Pods(), "n1");
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_THAT(events[0].note, HasSubstr("an NVSwitch: NvSwitchError"));
}

// Seven of eight who share a GPU did nothing.
TEST(HealthEventsTest, AProgramThatIsNotKnownIsHeldAgainstNobody) {
  EXPECT_THAT(Reported(OfAProgram()),
              ElementsAre("Normal GPUProgramError Pod/a", "Normal GPUProgramError Pod/b"));
  EXPECT_THAT(HealthEvents(OfAProgram(), Snapshot(), Pods(), "n1")[0].note,
              HasSubstr("one of the 2 pods on this device: GPU 0"));
  HealthEvent health_event = OfAProgram();
  health_event.pid = 99;
  EXPECT_THAT(Reported(health_event),
              ElementsAre("Normal GPUProgramError Pod/a", "Normal GPUProgramError Pod/b"));
}

TEST(HealthEventsTest, TheOnlyUserOfADeviceDidIt) {
  HealthEvent health_event = OfAProgram();
  health_event.gpu = TestGpu(1);
  health_event.gpu_instance = 1;
  EXPECT_THAT(Reported(health_event), ElementsAre("Warning GPUProgramError Pod/m1"));
}

TEST(HealthEventsTest, AProgramThatIsKnownIsItsPodsBusinessAlone) {
  HealthEvent health_event = OfAProgram(HealthEventKind::kRaised);
  health_event.pid = 4711;
  EXPECT_THAT(Reported(health_event), ElementsAre("Warning GPUProgramError Pod/b"));
  health_event.action = health::Action::kIgnore;
  EXPECT_THAT(Reported(health_event), IsEmpty());
}

TEST(HealthEventsTest, AGpuThatIsNotKnownHasNoPods) {
  HealthEvent health_event = OfAProgram();
  health_event.gpu.reset();
  EXPECT_THAT(Reported(health_event), IsEmpty());
  EXPECT_THAT(Reported(TestXid(9)), ElementsAre("Warning GPUUnhealthy Node/n1"));
}

TEST(HealthEventsTest, FaultsAndDevicesAreReportedApart) {
  HealthEvent other = TestXid(1);
  other.gpu_instance = 2;
  HealthEvent rule = TestXid(1);
  rule.rule = "Xid48";
  std::set<std::string> subjects;
  for (const HealthEvent& health_event : {TestXid(0), TestXid(1), other, rule}) {
    subjects.insert(HealthEvents(health_event, Snapshot(), Pods(), "n1").front().subject);
  }
  EXPECT_THAT(subjects, SizeIs(4));
}

}  // namespace
}  // namespace kgpu::faults
