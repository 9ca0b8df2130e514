#include "src/node/report/health_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <string>

#include "src/gpu/health/test_health_event.h"
#include "src/gpu/health/xid_counts.h"

namespace kgpu::report {
namespace {

using health::HealthEventKind;
using health::TestGpu;
using health::TestXid;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

device::Snapshot TwoFaultyGpus() {
  device::Snapshot snapshot;
  snapshot.version = 1;
  snapshot.driver.state = device::DriverState::kReady;
  for (unsigned index = 0; index < 2; ++index) {
    device::Gpu& gpu = snapshot.gpus.emplace_back();
    gpu.uuid = TestGpu(index);
    gpu.index = index;
    gpu.model = "A100-SXM4-80GB";
  }
  return snapshot;
}

HealthReport ReportOf(device::Snapshot snapshot) {
  HealthReport report;
  report.snapshot = std::make_shared<const device::Snapshot>(std::move(snapshot));
  return report;
}

health::OpenFault Fault(const std::string& rule, std::optional<unsigned> gpu_instance = {}) {
  health::OpenFault fault;
  fault.scope = {.gpu = TestGpu(1), .gpu_instance = gpu_instance, .compute_instance = {}};
  fault.rule = rule;
  fault.action = health::Action::kReboot;
  fault.message = "Restart the host.";
  fault.first = fault.last = TestXid(0).when;
  return fault;
}

HealthReport UnhealthyReport() {
  device::Snapshot snapshot = TwoFaultyGpus();
  snapshot.gpus[1].health = {false, "Xid79", "Restart the host."};
  HealthReport report = ReportOf(snapshot);
  report.overview.open = {Fault("Xid79"), Fault("NvLinkErrors")};
  report.overview.open[0].count = 12;
  report.overview.open[0].last += std::chrono::seconds(60);
  report.overview.open[0].detail = "pid 4711";
  report.overview.open[1].is_unhealthy = false;
  return report;
}

TEST(HealthViewTest, AllHealthyIsSaidInTheFirstLine) {
  const HealthReport report = ReportOf(TwoFaultyGpus());
  EXPECT_EQ(
      HealthTable(report),
      "2 of 2 GPUs are healthy.\n"
      "\n"
      "GPU  MODEL           HEALTH   FAULT  FIX  SINCE  UUID\n"
      "0    A100-SXM4-80GB  Healthy  -      -    -      GPU-00000000-0000-0000-0000-000000000000\n"
      "1    A100-SXM4-80GB  Healthy  -      -    -      "
      "GPU-00000000-0000-0000-0000-000000000001\n");
  EXPECT_TRUE(IsHealthy(report));
}

TEST(HealthViewTest, AGpuInMigModeWithoutDevicesIsNamedWithTheFix) {
  device::Snapshot snapshot = TwoFaultyGpus();
  snapshot.gpus[1].mig_mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
  EXPECT_THAT(HealthTable(ReportOf(snapshot)),
              HasSubstr("\nGPU 1: in MIG mode without MIG devices, so no program can use it: "));
}

TEST(HealthViewTest, EachFaultIsReportedWithItsFix) {
  EXPECT_THAT(HealthTable(UnhealthyReport()),
              AllOf(StartsWith("1 of 2 GPUs is unhealthy.\n"),
                    HasSubstr("Unhealthy  Xid79 and 1 more  reboot  2026-01-02T03:04:05Z  GPU-"),
                    HasSubstr("\nGPU 1: Xid79, 12 times, since 2026-01-02T03:04:05Z, last "
                              "2026-01-02T03:05:05Z\n  Restart the host.\n  pid 4711\n"),
                    HasSubstr("\n"
                              "GPU 1: NvLinkErrors (warning only), once, since 2026")));
  EXPECT_FALSE(IsHealthy(UnhealthyReport()));
}

TEST(HealthViewTest, WhatBefellSeveralGpusIsReportedOnce) {
  HealthReport report = ReportOf(TwoFaultyGpus());
  report.overview.open = {Fault("DriverUnresponsive"), Fault("DriverUnresponsive"), Fault("Xid48")};
  report.overview.open[0].scope.gpu = TestGpu(0);
  EXPECT_THAT(HealthTable(report), AllOf(HasSubstr("\nGPU 0 and 1 other: DriverUnresponsive, once"),
                                         Not(HasSubstr("GPU 1: DriverUnresponsive")),
                                         HasSubstr("\nGPU 1: Xid48, once")));
}

TEST(HealthViewTest, AHeldFaultNamesTheVerbThatEndsIt) {
  HealthReport report = UnhealthyReport();
  report.overview.open[0].is_held = true;
  EXPECT_THAT(HealthTable(report),
              HasSubstr("kgpu health clear GPU-00000000-0000-0000-0000-000000000001\n"));
}

TEST(HealthViewTest, AnUnhealthyMigDeviceHasALineOfItsOwn) {
  device::Snapshot snapshot = TwoFaultyGpus();
  device::MigDevice mig;
  mig.uuid = device::MigUuid::Parse("MIG-00000000-0000-0000-0000-0000000000ff").value();
  mig.gpu_instance = 7;
  mig.profile = "1g.10gb";
  snapshot.gpus[1].mig_devices = {mig, mig};
  snapshot.gpus[1].mig_devices[1].index = 1;
  snapshot.gpus[1].mig_devices[1].health = {false, "Xid94", "."};
  HealthReport report = ReportOf(snapshot);
  report.overview.open = {Fault("Xid94", 7)};
  EXPECT_THAT(HealthTable(report),
              AllOf(HasSubstr("1 of 2 GPUs is unhealthy"), HasSubstr("1:1    1g.10gb"),
                    Not(HasSubstr("1:0 ")), HasSubstr("GPU 1, GPU instance 7: Xid94")));
  EXPECT_FALSE(IsHealthy(report));
}

TEST(HealthViewTest, AnUnhealthyGpuWithoutARuleTellsItsReason) {
  device::Snapshot snapshot = TwoFaultyGpus();
  snapshot.gpus[0].health = {false, "NoDeviceNode", "Make /dev/nvidia0."};
  EXPECT_THAT(HealthTable(ReportOf(snapshot)),
              HasSubstr("\nGPU 0: NoDeviceNode\n  Make /dev/nvidia0.\n"));
}

TEST(HealthViewTest, ASilentDriverIsTheFirstLine) {
  device::Snapshot snapshot;
  snapshot.driver.state = device::DriverState::kUnresponsive;
  snapshot.driver.reason = "The driver does not respond: a call hangs.";
  EXPECT_EQ(HealthTable(ReportOf(snapshot)), "The driver does not respond: a call hangs.\n");
  EXPECT_FALSE(IsHealthy(ReportOf(snapshot)));
}

TEST(HealthViewTest, AGpuThatTheDriverHoldsAndDoesNotShowIsUnhealthy) {
  device::Snapshot snapshot = TwoFaultyGpus();
  device::UnmanagedGpu& gpu = snapshot.unmanaged.emplace_back();
  gpu.pci = {.domain = 0, .bus = 9, .device = 0, .function = 0};
  gpu.kernel_driver = "nvidia";
  gpu.reason = "It has fallen off the bus.";
  EXPECT_FALSE(IsHealthy(ReportOf(snapshot)));
  EXPECT_THAT(HealthTable(ReportOf(snapshot)),
              AllOf(StartsWith("1 of 3 GPUs is unhealthy.\n"),
                    HasSubstr("\n0000:09:00.0: not managed: It has fallen off the bus.\n")));
  snapshot.unmanaged[0].kernel_driver = "vfio-pci";
  EXPECT_TRUE(IsHealthy(ReportOf(snapshot)));
}

TEST(HealthViewTest, WhatIsNotWatchedOrKeptIsSaid) {
  HealthReport report = ReportOf(TwoFaultyGpus());
  report.overview.kernel_log_problem = "open /dev/kmsg: no permission";
  report.journal_problem = "write /var/lib/kgpu/health.journal: the disk is full";
  EXPECT_THAT(HealthTable(report),
              AllOf(HasSubstr("\nkernel log: open /dev/kmsg: no permission\n"),
                    HasSubstr("\njournal: write /var/lib/kgpu/health.journal: the disk")));
  EXPECT_TRUE(IsHealthy(report));
}

TEST(HealthViewTest, JsonHasEveryField) {
  HealthReport report = UnhealthyReport();
  report.overview.counters.xids = {
      {.gpu = TestGpu(1), .xid = 79, .count = 12},
      {.gpu = TestGpu(1), .xid = health::XidCounts::kOther, .count = 3}};
  const boost::json::value json = HealthJson(report);
  EXPECT_FALSE(json.at("healthy").as_bool());
  const boost::json::value& gpu = json.at("gpus").at(1);
  EXPECT_EQ(gpu.at("health").at("reason").as_string(), "Xid79");
  EXPECT_EQ(gpu.at("faults").at(0).at("last").as_string(), "2026-01-02T03:05:05Z");
  EXPECT_TRUE(gpu.at("faults").at(0).at("gpuInstance").is_null());
  EXPECT_EQ(gpu.at("faults").at(1).at("rule").as_string(), "NvLinkErrors");
  EXPECT_EQ(gpu.at("xids").at(0).at("count").to_number<int>(), 12);
  EXPECT_EQ(gpu.at("xids").at(1).at("xid").as_string(), "other");
  EXPECT_TRUE(json.at("gpus").at(0).at("faults").as_array().empty());
}

health::JournalText Past() {
  health::HealthEvent seen = TestXid(1, HealthEventKind::kSeen, 5);
  seen.gpu_instance = 7;
  seen.compute_instance = 0;
  seen.count = 9999;
  seen.detail = "pid 4711";
  health::JournalText journal;
  journal.entries = {{.when = TestXid(0).when, .event = {}, .boot_id = "b00t"},
                     health::EntryOf(TestXid(0, HealthEventKind::kRaised, 1)),
                     health::EntryOf(seen)};
  return journal;
}

TEST(HistoryViewTest, TellsOneLineForEachEntry) {
  EXPECT_EQ(HistoryTable(Past(), {}),
            "TIME                  WHAT    FAULT  FIX     COUNT  DEVICE                            "
            "            MESSAGE\n"
            "2026-01-02T03:04:05Z  boot    -      -       -      -                                 "
            "            the host was rebooted\n"
            "2026-01-02T03:04:06Z  raised  Xid79  reboot  1      "
            "GPU-00000000-0000-0000-0000-000000000000      The GPU has fallen off the bus: restart "
            "the host.\n"
            "2026-01-02T03:04:10Z  seen    Xid79  reboot  9999   "
            "GPU-00000000-0000-0000-0000-000000000001/7/0  The GPU has fallen off the bus: restart "
            "the host. pid 4711\n");
}

TEST(HistoryViewTest, NamesGpusAsTheyAreNamedNow) {
  EXPECT_THAT(
      HistoryTable(Past(), TwoFaultyGpus()),
      AllOf(HasSubstr("  GPU 0  "), HasSubstr("  GPU 1, GPU instance 7, compute instance 0  "),
            Not(HasSubstr("GPU-0"))));
}

TEST(HistoryViewTest, TheFirstStartIsNoStartOfTheHost) {
  health::JournalText journal = Past();
  journal.entries[0].is_first = true;
  EXPECT_THAT(HistoryTable(journal, {}), HasSubstr("  the journal starts\n"));
}

TEST(HistoryViewTest, WhatLeftTheDeviceAsItIsAsksForNothing) {
  health::HealthEvent seen = TestXid(0, HealthEventKind::kSeen);
  seen.is_unhealthy = false;
  seen.action = health::Action::kResetGpu;
  health::JournalText journal;
  journal.entries = {health::EntryOf(seen), health::EntryOf(TestXid(0, HealthEventKind::kCleared))};
  EXPECT_THAT(HistoryTable(journal, {}),
              AllOf(HasSubstr("seen     Xid79  -  "), HasSubstr("cleared  Xid79  -  ")));
}

TEST(HistoryViewTest, SaysThatNothingHappenedAndThatLinesAreLost) {
  EXPECT_EQ(HistoryTable({}, {}), "No health events.\n");
  health::JournalText journal = Past();
  journal.bad_lines = 2;
  EXPECT_THAT(HistoryTable(journal, {}),
              HasSubstr("\n2 lines of the journal could not be read.\n"));
}

TEST(HistoryViewTest, JsonHasBootsAndEvents) {
  const boost::json::value json = HistoryJson(Past());
  EXPECT_EQ(json.at("entries").at(0).at("bootId").as_string(), "b00t");
  const boost::json::value& seen = json.at("entries").at(2);
  EXPECT_EQ(seen.at("kind").as_string(), "seen");
  EXPECT_EQ(seen.at("gpuInstance").to_number<int>(), 7);
  EXPECT_EQ(seen.at("count").to_number<int>(), 9999);
  EXPECT_EQ(json.at("unreadableLines").to_number<int>(), 0);
}

}  // namespace
}  // namespace kgpu::report
