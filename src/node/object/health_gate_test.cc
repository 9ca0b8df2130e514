#include "src/node/object/health_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "testing/fake_loop.h"

namespace kgpu::node {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

device::Gpu MakeGpu(unsigned index) {
  device::Gpu gpu;
  gpu.uuid =
      device::GpuUuid::Parse(fmt::format("GPU-00000000-0000-0000-0000-0000000000{:02x}", index))
          .value();
  gpu.index = index;
  return gpu;
}

device::Snapshot ReadySnapshot(unsigned gpus) {
  device::Snapshot snapshot;
  snapshot.version = 1;
  snapshot.driver.state = device::DriverState::kReady;
  for (unsigned index = 0; index < gpus; ++index) {
    snapshot.gpus.push_back(MakeGpu(index));
  }
  return snapshot;
}

device::UnmanagedGpu HeldBy(const std::string& kernel_driver) {
  return {.pci = {.domain = 0, .bus = 9, .device = 0, .function = 0},
          .pci_device_id = 0,
          .pci_class = "3d-controller",
          .kernel_driver = kernel_driver,
          .reason = "It is held."};
}

// "True/AllHealthy"; "none": nothing of ours; "undecided".
std::string Said(const std::optional<DesiredHealth>& desired) {
  if (!desired) {
    return "undecided";
  }
  const std::optional<HealthText>& text = desired->condition;
  return text ? text->status + "/" + text->reason : "none";
}

std::string MessageOf(const std::optional<DesiredHealth>& desired) {
  return desired && desired->condition ? desired->condition->message : "";
}

TEST(DesiredHealthTest, IsUndecidedUntilTheDriverHasAnswered) {
  EXPECT_EQ(Said(DesiredHealthOf({}, true)), "undecided");
  device::Snapshot snapshot;
  snapshot.version = 1;
  EXPECT_EQ(Said(DesiredHealthOf(snapshot, true)), "undecided");
}

TEST(DesiredHealthTest, SaysThatAllAreHealthy) {
  const auto desired = DesiredHealthOf(ReadySnapshot(8), false);
  EXPECT_EQ(Said(desired), "True/AllHealthy");
  EXPECT_EQ(MessageOf(desired), "8 GPUs are healthy");
}

TEST(DesiredHealthTest, NamesTheUnhealthyGpuItsReasonAndTheFix) {
  device::Snapshot snapshot = ReadySnapshot(2);
  snapshot.gpus[1].health = {false, "Xid79", "It fell off the bus: restart the host."};
  const auto desired = DesiredHealthOf(snapshot, false);
  EXPECT_EQ(Said(desired), "False/Xid79");
  EXPECT_EQ(MessageOf(desired),
            "GPU 1 (GPU-00000000-0000-0000-0000-000000000001): Xid79: It fell off the bus: restart "
            "the host.");
}

TEST(DesiredHealthTest, NamesAnUnhealthyMigDeviceOfAHealthyGpu) {
  device::Snapshot snapshot = ReadySnapshot(1);
  device::MigDevice mig;
  mig.uuid = device::MigUuid::Parse("MIG-00000000-0000-0000-0000-0000000000ff").value();
  mig.index = 3;
  mig.health = {false, "Xid94", "Contained."};
  snapshot.gpus[0].mig_devices = {mig};
  EXPECT_THAT(MessageOf(DesiredHealthOf(snapshot, false)), HasSubstr("MIG 0:3 (MIG-0000"));
}

TEST(DesiredHealthTest, NamesAFewAndCountsTheRest) {
  device::Snapshot snapshot = ReadySnapshot(16);
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.health = {false, "Xid119", std::string(200, 'x')};
  }
  const std::string message = MessageOf(DesiredHealthOf(snapshot, false));
  EXPECT_THAT(message, AllOf(HasSubstr("GPU 3 ("), Not(HasSubstr("GPU 4 (")),
                             HasSubstr("and 12 more: see kgpu health")));
  EXPECT_LT(message.size(), 1500U);
}

TEST(DesiredHealthTest, SaysOnceWhatSeveralGpusShare) {
  device::Snapshot snapshot = ReadySnapshot(3);
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.health = {false, "DriverNotReady", "The module is not loaded."};
  }
  EXPECT_EQ(MessageOf(DesiredHealthOf(snapshot, false)),
            "GPU 0 (GPU-00000000-0000-0000-0000-000000000000): DriverNotReady: The module is not "
            "loaded.; GPU 1 (GPU-00000000-0000-0000-0000-000000000001): as above; GPU 2 "
            "(GPU-00000000-0000-0000-0000-000000000002): as above");
}

TEST(DesiredHealthTest, IsUnknownWhileNoDriverAnswersForTheGpus) {
  device::Snapshot snapshot;
  snapshot.version = 1;
  snapshot.driver.state = device::DriverState::kNotLoaded;
  snapshot.driver.reason = "Load it.";
  EXPECT_EQ(Said(DesiredHealthOf(snapshot, false)), "none");
  snapshot.unmanaged = {HeldBy("")};
  EXPECT_EQ(Said(DesiredHealthOf(snapshot, false)), "Unknown/DriverNotLoaded");
}

TEST(DesiredHealthTest, AGpuThatTheDriverHoldsAndDoesNotNameIsUnhealthy) {
  device::Snapshot snapshot = ReadySnapshot(7);
  snapshot.unmanaged = {HeldBy("nvidia")};
  EXPECT_EQ(Said(DesiredHealthOf(snapshot, false)), "False/GpuNotManaged");
  snapshot.unmanaged = {HeldBy("vfio-pci")};
  EXPECT_EQ(Said(DesiredHealthOf(snapshot, false)), "True/AllHealthy");
}

TEST(DesiredHealthTest, ANodeWithoutGpusSaysNothingUnlessItSaidSomethingBefore) {
  EXPECT_EQ(Said(DesiredHealthOf(ReadySnapshot(0), false)), "none");
  EXPECT_EQ(Said(DesiredHealthOf(ReadySnapshot(0), true)), "Unknown/NoGpu");
}

class HealthGateTest : public ::testing::Test {
 protected:
  HealthGateTest() { Start({}); }

  void Start(const HealthGateOptions& options) {
    gate_ = std::make_unique<HealthGate>(loop_, options, [this] { ++changes_; });
  }
  void Show(const std::string& reason) {
    device::Snapshot snapshot = ReadySnapshot(1);
    if (!reason.empty()) {
      snapshot.gpus[0].health = {false, reason, "."};
    }
    gate_->SetSnapshot(std::make_shared<const device::Snapshot>(snapshot));
  }

  FakeLoop loop_;
  std::unique_ptr<HealthGate> gate_;
  int changes_ = 0;
};

TEST_F(HealthGateTest, DecidesWhenBothNodeAndGpusAreKnown) {
  Show("");
  EXPECT_EQ(Said(gate_->desired()), "undecided");
  gate_->SetNode({});
  EXPECT_EQ(Said(gate_->desired()), "True/AllHealthy");
}

TEST_F(HealthGateTest, TellsAFaultAndItsEndAtOnce) {
  gate_->SetNode({});
  Show("");
  Show("Xid79");
  EXPECT_EQ(Said(gate_->desired()), "False/Xid79");
  Show("");
  EXPECT_EQ(Said(gate_->desired()), "True/AllHealthy");
  EXPECT_EQ(changes_, 3);
}

TEST_F(HealthGateTest, WhatElseIsWrongFollowsTheMessage) {
  gate_->SetNode({});
  Show("");
  gate_->SetNote("agent state not saved");
  loop_.Advance(seconds(10));
  EXPECT_EQ(Said(gate_->desired()), "True/AllHealthy");
  EXPECT_EQ(MessageOf(gate_->desired()), "the GPU is healthy; agent state not saved");
  gate_->SetNote("");
  loop_.Advance(seconds(10));
  EXPECT_EQ(MessageOf(gate_->desired()), "the GPU is healthy");
}

TEST_F(HealthGateTest, TellsAnotherReasonAfterAWhile) {
  gate_->SetNode({});
  Show("Xid48");
  Show("Xid94");
  EXPECT_EQ(Said(gate_->desired()), "False/Xid48");
  Show("Xid79");
  loop_.Advance(seconds(9));
  EXPECT_EQ(Said(gate_->desired()), "False/Xid48");
  loop_.Advance(seconds(1));
  EXPECT_EQ(Said(gate_->desired()), "False/Xid79");
  EXPECT_EQ(changes_, 2);
}

TEST_F(HealthGateTest, ATextThatComesBackIsNoChange) {
  gate_->SetNode({});
  Show("Xid48");
  Show("Xid94");
  Show("Xid48");
  loop_.Advance(seconds(60));
  EXPECT_EQ(changes_, 1);
}

TEST_F(HealthGateTest, SwitchedOffItTakesTheConditionAway) {
  Start({.sets_condition = false});
  SeenNode node;
  node.gpu_healthy = SeenCondition{"True", "AllHealthy", "", {}};
  gate_->SetNode(node);
  Show("");
  EXPECT_EQ(Said(gate_->desired()), "none");
}

}  // namespace
}  // namespace kgpu::node
