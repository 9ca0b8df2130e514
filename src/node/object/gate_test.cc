#include "src/node/object/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "src/node/object/test_facts.h"
#include "testing/fake_loop.h"

namespace kgpu::node {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GateTest : public ::testing::Test {
 protected:
  GateTest() {
    options_.sets_taint = true;
    options_.booted = loop_.clock().WallNow();
    node_.name = "n1";
    node_.allocatable = {{"nvidia.com/gpu", "8"}};
    Start();
  }

  void Start() {
    gate_ = std::make_unique<Gate>(
        loop_, options_, [this] { ++changes_; },
        [this](const GateEvent& event) { events_.push_back(event.reason + "/" + event.note); });
  }
  // The node as it is after what the gate wanted was written.
  void Obey() {
    const ConditionText text = Text();
    node_.gpu_ready = SeenCondition{text.is_true ? "True" : "False", text.reason, text.message,
                                    loop_.clock().WallNow()};
    gate_->SetNode(node_);
  }
  ConditionText Text() const {
    const std::optional<DesiredGate> desired = gate_->desired();
    return desired ? desired->condition.value_or(ConditionText{}) : ConditionText{};
  }
  std::string Said() const {
    const ConditionText text = Text();
    return text.reason.empty() ? "nothing" : (text.is_true ? "True/" : "False/") + text.reason;
  }
  DesiredTaint Taint() const { return gate_->desired().value_or(DesiredGate{}).taint; }
  ChainFacts BadFacts() const {
    ChainFacts facts = ReadyFacts();
    facts.driver = device::DriverState::kUnresponsive;
    facts.driver_problem = "a call hangs";
    return facts;
  }

  FakeLoop loop_;
  GateOptions options_;
  SeenNode node_;
  std::unique_ptr<Gate> gate_;
  int changes_ = 0;
  std::vector<std::string> events_;
};

TEST_F(GateTest, DecidesNothingBeforeNodeAndBusAreKnown) {
  gate_->SetNode(node_);
  EXPECT_EQ(gate_->desired(), std::nullopt);
  Start();
  gate_->SetFacts(ReadyFacts());
  EXPECT_EQ(gate_->desired(), std::nullopt);
}

TEST_F(GateTest, LiftsTheTaintAtOnceWhenAllIsVerified) {
  gate_->SetNode(node_);
  gate_->SetFacts(ReadyFacts());
  EXPECT_EQ(Said(), "True/AllVerified");
  EXPECT_EQ(Taint(), DesiredTaint::kLift);
  EXPECT_THAT(events_, ElementsAre(HasSubstr("GPUReady")));
}

TEST_F(GateTest, NamesTheFirstThingWrongAndSetsTheTaint) {
  gate_->SetNode(node_);
  gate_->SetFacts(BadFacts());
  EXPECT_EQ(Said(), "False/DriverUnresponsive");
  EXPECT_EQ(Taint(), DesiredTaint::kSet);
  EXPECT_THAT(events_, ElementsAre(HasSubstr("a call hangs")));
}

TEST_F(GateTest, WithoutTheOptionTheTaintIsLiftedButNeverSet) {
  options_.sets_taint = false;
  Start();
  gate_->SetNode(node_);
  gate_->SetFacts(BadFacts());
  EXPECT_EQ(Taint(), DesiredTaint::kLeave);
  gate_->SetFacts(ReadyFacts());
  EXPECT_EQ(Taint(), DesiredTaint::kLift);
}

TEST_F(GateTest, ANodeWithoutGpusIsLeftAlone) {
  gate_->SetNode(node_);
  ChainFacts facts;
  facts.gpus = 0;
  gate_->SetFacts(facts);
  EXPECT_EQ(Said(), "nothing");
  EXPECT_EQ(Taint(), DesiredTaint::kLeave);
}

TEST_F(GateTest, ATaintSetFirstMeansThatGpusAreExpected) {
  node_.taints = {{{"kgpu.dev/not-ready", "", "NoSchedule"}, "{}"}};
  gate_->SetNode(node_);
  ChainFacts facts;
  facts.gpus = 0;
  gate_->SetFacts(facts);
  EXPECT_EQ(Said(), "False/NoGpu");
}

TEST_F(GateTest, ARestartOfTheAgentSaysNothingNew) {
  node_.gpu_ready = SeenCondition{"True", "AllVerified", "old words", loop_.clock().WallNow()};
  gate_->SetNode(node_);
  ChainFacts starting;
  starting.gpus = 8;
  gate_->SetFacts(starting);
  EXPECT_EQ(Said(), "True/AllVerified");
  EXPECT_EQ(Text().message, "old words");
  gate_->SetFacts(ReadyFacts());
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(GateTest, AfterARebootNothingIsProven) {
  node_.gpu_ready = SeenCondition{"True", "AllVerified", "", loop_.clock().WallNow()};
  options_.booted = loop_.clock().WallNow() + seconds(60);
  loop_.Advance(seconds(90));
  Start();
  gate_->SetNode(node_);
  ChainFacts starting;
  starting.gpus = 8;
  gate_->SetFacts(starting);
  EXPECT_EQ(Said(), "False/DriverStarting");
  EXPECT_EQ(Taint(), DesiredTaint::kSet);
  gate_->SetFacts(ReadyFacts());
  EXPECT_EQ(Said(), "True/AllVerified");
}

TEST_F(GateTest, ALossIsReportedWhenItLasts) {
  gate_->SetNode(node_);
  gate_->SetFacts(ReadyFacts());
  gate_->SetFacts(BadFacts());
  EXPECT_EQ(Said(), "True/AllVerified");
  loop_.Advance(seconds(5));
  EXPECT_EQ(Said(), "False/DriverUnresponsive");
  EXPECT_EQ(Taint(), DesiredTaint::kSet);
}

TEST_F(GateTest, AfterALossItRecoversWhenAllStaysHealthy) {
  gate_->SetNode(node_);
  gate_->SetFacts(ReadyFacts());
  gate_->SetFacts(BadFacts());
  loop_.Advance(seconds(30));
  gate_->SetFacts(ReadyFacts());
  EXPECT_EQ(Said(), "False/Recovering");
  loop_.Advance(seconds(10));
  EXPECT_EQ(Said(), "True/AllVerified");
  EXPECT_EQ(Taint(), DesiredTaint::kLift);
}

TEST_F(GateTest, TellsAReasonThatChangesNoMoreThanEveryTenSeconds) {
  gate_->SetNode(node_);
  for (int i = 0; i < 100; ++i) {
    ChainFacts facts = ReadyFacts();
    facts.handles = 0;
    facts.handle_problem = "try " + std::to_string(i);
    gate_->SetFacts(facts);
    loop_.Advance(std::chrono::milliseconds(100));
  }
  EXPECT_LE(changes_, 2);
  loop_.Advance(seconds(10));
  EXPECT_THAT(Text().message, HasSubstr("try 99"));
}

TEST_F(GateTest, WhatItWroteItselfChangesNothing) {
  gate_->SetNode(node_);
  gate_->SetFacts(ReadyFacts());
  const int before = changes_;
  Obey();
  loop_.Advance(std::chrono::hours(1));
  EXPECT_EQ(changes_, before);
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(GateTest, AMomentOfTheKubeletsIsRiddenOut) {
  gate_->SetNode(node_);
  gate_->SetFacts(ReadyFacts());
  node_.allocatable = {{"nvidia.com/gpu", "7"}};
  gate_->SetNode(node_);
  EXPECT_EQ(Said(), "True/AllVerified");
  loop_.Advance(seconds(10));
  node_.allocatable = {{"nvidia.com/gpu", "8"}};
  gate_->SetNode(node_);
  loop_.Advance(std::chrono::hours(1));
  EXPECT_EQ(Said(), "True/AllVerified");
}

// The kubelet could not report the count, whatever it was.
TEST_F(GateTest, TimeWithoutTheApiServerIsNoDifferenceOfCounts) {
  gate_->SetNode(node_);
  gate_->SetFacts(ReadyFacts());
  gate_->SetNodeUnknown();
  ChainFacts facts = ReadyFacts();
  facts.resources[0].allocatable = 7;
  gate_->SetFacts(facts);
  loop_.Advance(seconds(140));
  EXPECT_EQ(Said(), "True/AllVerified");
  gate_->SetNode(node_);  // as it was seen last
  loop_.Advance(seconds(20));
  node_.allocatable = {{"nvidia.com/gpu", "7"}};
  gate_->SetNode(node_);
  loop_.Advance(seconds(600));
  EXPECT_EQ(Said(), "True/AllVerified");
  EXPECT_THAT(events_, ElementsAre(HasSubstr("GPUReady")));
}

TEST_F(GateTest, ANodeThatWasNotReadyRemainsSoWithoutTheApiServer) {
  node_.allocatable = {{"nvidia.com/gpu", "7"}};
  gate_->SetNode(node_);
  gate_->SetFacts(ReadyFacts());
  EXPECT_EQ(Said(), "False/KubeletCountDiffers");
  gate_->SetNodeUnknown();
  loop_.Advance(seconds(600));
  EXPECT_EQ(Said(), "False/KubeletCountDiffers");
}

}  // namespace
}  // namespace kgpu::node
