#include "src/agent/health_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "src/gpu/health/test_happening.h"

namespace kgpu::agent {
namespace {

using health::Happening;
using health::HappeningKind;
using health::TestGpu;
using health::TestXid;
using ::testing::AllOf;
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

std::vector<std::string> Told(const Happening& news) {
  std::vector<std::string> told;
  for (const kube::Event& event : HealthEvents(news, Snapshot(), Pods(), "n1")) {
    told.push_back(fmt::format("{} {} {}/{}", event.is_warning ? "Warning" : "Normal", event.reason,
                               event.regarding.kind, event.regarding.name));
  }
  return told;
}

Happening OfAProgram(HappeningKind kind = HappeningKind::kSeen) {
  Happening news = TestXid(0, kind);
  news.rule = "Xid31";
  news.xid = 31;
  news.fault_class = health::FaultClass::kApplication;
  news.action = health::Action::kRestartApp;
  news.is_unhealthy = false;
  return news;
}

TEST(HealthEventsTest, AFaultIsToldToTheNodeAndToEachPodOnce) {
  EXPECT_THAT(Told(TestXid(0)),
              ElementsAre("Warning GPUUnhealthy Node/n1", "Warning GPUUnhealthy Pod/a",
                          "Warning GPUUnhealthy Pod/b"));
}

TEST(HealthEventsTest, TheNoteNamesDeviceFaultAndMend) {
  Happening news = TestXid(0);
  news.detail = "pid 4711";
  const std::vector<kube::Event> events = HealthEvents(news, Snapshot(), Pods(), "n1");
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].note,
            "GPU 0 (GPU-00000000-0000-0000-0000-000000000000): Xid79: The GPU has fallen off the "
            "bus: restart the host. pid 4711");
  EXPECT_EQ(events[1].regarding.uid, "u-a");
  EXPECT_EQ(events[1].regarding.space, "ml");
}

TEST(HealthEventsTest, AFaultOfTheWholeGpuIsToldToThePodsOfItsMigDevices) {
  EXPECT_THAT(Told(TestXid(1)),
              ElementsAre("Warning GPUUnhealthy Node/n1", "Warning GPUUnhealthy Pod/m1",
                          "Warning GPUUnhealthy Pod/m2"));
}

TEST(HealthEventsTest, AFaultOfOneInstanceIsToldToItsPodOnly) {
  Happening news = TestXid(1);
  news.gpu_instance = 2;
  EXPECT_THAT(Told(news),
              ElementsAre("Warning GPUUnhealthy Node/n1", "Warning GPUUnhealthy Pod/m2"));
}

TEST(HealthEventsTest, AWarningIsNoSickness) {
  Happening news = TestXid(1);
  news.gpu_instance = 2;
  news.is_unhealthy = false;
  EXPECT_THAT(Told(news), ElementsAre("Warning GPUWarning Node/n1", "Warning GPUWarning Pod/m2"));
}

TEST(HealthEventsTest, RecoveryIsToldToAllWhoHeardOfTheFault) {
  EXPECT_THAT(Told(TestXid(0, HappeningKind::kCleared)),
              ElementsAre("Normal GPURecovered Node/n1", "Normal GPURecovered Pod/a",
                          "Normal GPURecovered Pod/b"));
}

TEST(HealthEventsTest, AHeldDeviceIsAnAdminsBusiness) {
  const auto events = HealthEvents(TestXid(0, HappeningKind::kHeld), Snapshot(), Pods(), "n1");
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].reason, "GPUHeldBack");
  EXPECT_THAT(events[0].note, HasSubstr("kgpu health clear GPU-0000"));
}

TEST(HealthEventsTest, WhatIsSeenOnceMoreIsToldToNobodyAgain) {
  EXPECT_THAT(Told(TestXid(0, HappeningKind::kSeen)), IsEmpty());
}

TEST(HealthEventsTest, ASignThatAsksForAnAdminsHandIsAWarning) {
  Happening news = TestXid(1, HappeningKind::kSeen);
  news.rule = "Xid63";
  news.xid = 63;
  news.fault_class = health::FaultClass::kMemory;
  news.action = health::Action::kResetGpu;
  news.is_unhealthy = false;
  news.gpu_instance = 2;
  EXPECT_THAT(Told(news), ElementsAre("Warning GPUWarning Node/n1", "Warning GPUWarning Pod/m2"));
  news.action = health::Action::kRestartApp;
  EXPECT_THAT(Told(news), IsEmpty());
}

TEST(HealthEventsTest, AnErrorOfASwitchIsTheNodesBusiness) {
  Happening news = TestXid(1, HappeningKind::kSeen);
  news.gpu.reset();
  news.rule = "NvSwitchError";
  news.xid.reset();
  news.fault_class = health::FaultClass::kNvLink;
  news.action = health::Action::kInspect;
  news.is_unhealthy = false;
  const std::vector<kube::Event> events = HealthEvents(news, Snapshot(), Pods(), "n1");
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_THAT(events[0].note, HasSubstr("an NVSwitch: NvSwitchError"));
}

// Seven of eight who share a GPU did nothing.
TEST(HealthEventsTest, AProgramThatIsNotKnownIsHeldAgainstNobody) {
  EXPECT_THAT(Told(OfAProgram()),
              ElementsAre("Normal GPUProgramError Pod/a", "Normal GPUProgramError Pod/b"));
  EXPECT_THAT(HealthEvents(OfAProgram(), Snapshot(), Pods(), "n1")[0].note,
              HasSubstr("one of the 2 pods on this device: GPU 0"));
  Happening news = OfAProgram();
  news.pid = 99;
  EXPECT_THAT(Told(news),
              ElementsAre("Normal GPUProgramError Pod/a", "Normal GPUProgramError Pod/b"));
}

TEST(HealthEventsTest, TheOnlyUserOfADeviceDidIt) {
  Happening news = OfAProgram();
  news.gpu = TestGpu(1);
  news.gpu_instance = 1;
  EXPECT_THAT(Told(news), ElementsAre("Warning GPUProgramError Pod/m1"));
}

TEST(HealthEventsTest, AProgramThatIsKnownIsItsPodsBusinessAlone) {
  Happening news = OfAProgram(HappeningKind::kRaised);
  news.pid = 4711;
  EXPECT_THAT(Told(news), ElementsAre("Warning GPUProgramError Pod/b"));
  news.action = health::Action::kIgnore;
  EXPECT_THAT(Told(news), IsEmpty());
}

TEST(HealthEventsTest, AGpuThatIsNotKnownHasNoPods) {
  Happening news = OfAProgram();
  news.gpu.reset();
  EXPECT_THAT(Told(news), IsEmpty());
  EXPECT_THAT(Told(TestXid(9)), ElementsAre("Warning GPUUnhealthy Node/n1"));
}

TEST(HealthEventsTest, FaultsAndDevicesAreToldApart) {
  Happening other = TestXid(1);
  other.gpu_instance = 2;
  Happening rule = TestXid(1);
  rule.rule = "Xid48";
  std::set<std::string> subjects;
  for (const Happening& news : {TestXid(0), TestXid(1), other, rule}) {
    subjects.insert(HealthEvents(news, Snapshot(), Pods(), "n1").front().subject);
  }
  EXPECT_THAT(subjects, SizeIs(4));
}

}  // namespace
}  // namespace kgpu::agent
