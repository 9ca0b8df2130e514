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
std::string Said(const std::optional<HealthWish>& wish) {
  if (!wish) {
    return "undecided";
  }
  const std::optional<HealthText>& text = wish->condition;
  return text ? text->status + "/" + text->reason : "none";
}

std::string MessageOf(const std::optional<HealthWish>& wish) {
  return wish && wish->condition ? wish->condition->message : "";
}

TEST(HealthWishTest, IsUndecidedUntilTheDriverHasAnswered) {
  EXPECT_EQ(Said(HealthWishOf({}, true)), "undecided");
  device::Snapshot snapshot;
  snapshot.version = 1;
  EXPECT_EQ(Said(HealthWishOf(snapshot, true)), "undecided");
}

TEST(HealthWishTest, SaysThatAllAreHealthy) {
  const auto wish = HealthWishOf(ReadySnapshot(8), false);
  EXPECT_EQ(Said(wish), "True/AllHealthy");
  EXPECT_EQ(MessageOf(wish), "8 GPUs are healthy");
}

TEST(HealthWishTest, NamesTheSickGpuItsReasonAndTheMend) {
  device::Snapshot snapshot = ReadySnapshot(2);
  snapshot.gpus[1].health = {false, "Xid79", "It fell off the bus: restart the host."};
  const auto wish = HealthWishOf(snapshot, false);
  EXPECT_EQ(Said(wish), "False/Xid79");
  EXPECT_EQ(MessageOf(wish),
            "GPU 1 (GPU-00000000-0000-0000-0000-000000000001): Xid79: It fell off the bus: restart "
            "the host.");
}

TEST(HealthWishTest, NamesASickMigDeviceOfAHealthyGpu) {
  device::Snapshot snapshot = ReadySnapshot(1);
  device::MigDevice mig;
  mig.uuid = device::MigUuid::Parse("MIG-00000000-0000-0000-0000-0000000000ff").value();
  mig.index = 3;
  mig.health = {false, "Xid94", "Contained."};
  snapshot.gpus[0].mig_devices = {mig};
  EXPECT_THAT(MessageOf(HealthWishOf(snapshot, false)), HasSubstr("MIG 0:3 (MIG-0000"));
}

TEST(HealthWishTest, NamesAFewAndCountsTheRest) {
  device::Snapshot snapshot = ReadySnapshot(16);
  for (device::Gpu& gpu : snapshot.gpus) {
    gpu.health = {false, "Xid119", std::string(200, 'x')};
  }
  const std::string message = MessageOf(HealthWishOf(snapshot, false));
  EXPECT_THAT(message, AllOf(HasSubstr("GPU 3 ("), Not(HasSubstr("GPU 4 (")),
                             HasSubstr("and 12 more: kgpu health lists them")));
  EXPECT_LT(message.size(), 1500U);
}

TEST(HealthWishTest, IsUnknownWhileNoDriverAnswersForTheGpus) {
  device::Snapshot snapshot;
  snapshot.version = 1;
  snapshot.driver.state = device::DriverState::kNotLoaded;
  snapshot.driver.reason = "Load it.";
  EXPECT_EQ(Said(HealthWishOf(snapshot, false)), "none");
  snapshot.unmanaged = {HeldBy("")};
  EXPECT_EQ(Said(HealthWishOf(snapshot, false)), "Unknown/DriverNotLoaded");
}

TEST(HealthWishTest, AGpuThatTheDriverHoldsAndDoesNotNameIsSick) {
  device::Snapshot snapshot = ReadySnapshot(7);
  snapshot.unmanaged = {HeldBy("nvidia")};
  EXPECT_EQ(Said(HealthWishOf(snapshot, false)), "False/GpuNotManaged");
  snapshot.unmanaged = {HeldBy("vfio-pci")};
  EXPECT_EQ(Said(HealthWishOf(snapshot, false)), "True/AllHealthy");
}

TEST(HealthWishTest, ANodeWithoutGpusSaysNothingUnlessItSaidSomethingBefore) {
  EXPECT_EQ(Said(HealthWishOf(ReadySnapshot(0), false)), "none");
  EXPECT_EQ(Said(HealthWishOf(ReadySnapshot(0), true)), "Unknown/NoGpu");
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
  EXPECT_EQ(Said(gate_->wish()), "undecided");
  gate_->SetNode({});
  EXPECT_EQ(Said(gate_->wish()), "True/AllHealthy");
}

TEST_F(HealthGateTest, TellsAFaultAndItsEndAtOnce) {
  gate_->SetNode({});
  Show("");
  Show("Xid79");
  EXPECT_EQ(Said(gate_->wish()), "False/Xid79");
  Show("");
  EXPECT_EQ(Said(gate_->wish()), "True/AllHealthy");
  EXPECT_EQ(changes_, 3);
}

TEST_F(HealthGateTest, WhatElseIsWrongFollowsTheMessage) {
  gate_->SetNode({});
  Show("");
  gate_->SetNote("the agent's memory is not kept");
  loop_.Advance(seconds(10));
  EXPECT_EQ(Said(gate_->wish()), "True/AllHealthy");
  EXPECT_EQ(MessageOf(gate_->wish()), "the GPU is healthy; the agent's memory is not kept");
  gate_->SetNote("");
  loop_.Advance(seconds(10));
  EXPECT_EQ(MessageOf(gate_->wish()), "the GPU is healthy");
}

TEST_F(HealthGateTest, TellsAnotherReasonAfterAWhile) {
  gate_->SetNode({});
  Show("Xid48");
  Show("Xid94");
  EXPECT_EQ(Said(gate_->wish()), "False/Xid48");
  Show("Xid79");
  loop_.Advance(seconds(9));
  EXPECT_EQ(Said(gate_->wish()), "False/Xid48");
  loop_.Advance(seconds(1));
  EXPECT_EQ(Said(gate_->wish()), "False/Xid79");
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
  EXPECT_EQ(Said(gate_->wish()), "none");
}

}  // namespace
}  // namespace kgpu::node
