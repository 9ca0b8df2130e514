// A thousand nodes, failures in every state, leaders that die or hang, and a server that goes away:
// the upgrade ends, and the budget holds at every change of every node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "src/cluster/controller/test_replicas.h"
#include "src/platform/base/log.h"
#include "testing/fleet/sim_fleet.h"

namespace kgpu::controller {
namespace {

using apiserver::FaultKind;
using fleet_sim::SimFleet;
using fleet_sim::SimOptions;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::IsEmpty;

class FleetTest : public ::testing::Test {
 protected:
  FleetTest() {
    SetLogSink([](LogLevel, std::string_view) {});
    InstallCrd(api_);
  }
  ~FleetTest() override { SetLogSink({}); }

  void Make(SimOptions options) {
    sim_ = std::make_unique<SimFleet>(loop_, api_, random_, options);
  }
  void Policy(std::string_view upgrade, std::string_view driver = "\"550\"") {
    PutPolicy(api_, "all",
              fmt::format(R"(
groups:
  - {{name: a, nodeSelector: {{matchLabels: {{pool: a}}}}, driver: {{from: package, branch: {0}}}}}
  - {{name: b, nodeSelector: {{matchLabels: {{pool: b}}}}, driver: {{from: package, branch: {0}}}}}
upgrade: {1}
)",
                          driver, upgrade));
  }
  void AddReplica() {
    ++started_;
    replicas_.push_back(
        std::make_unique<Replica>(loop_, api_, fmt::format("replica-{}", started_), started_));
  }
  Replica* Leader() {
    const auto found = std::ranges::find_if(replicas_, [](const auto& one) {
      return one->is_leader() && !one->network().is_stalled();
    });
    return found == replicas_.end() ? nullptr : found->get();
  }
  // As a Deployment does.
  void ReplaceTheDead() {
    for (auto& one : replicas_) {
      if (one->is_lost()) {
        one->network().Deliver();
        // What it sent last is on its way when it dies.
        loop_.Advance(std::chrono::milliseconds(5));
        one.reset();
      }
    }
    std::erase(replicas_, nullptr);
    while (replicas_.size() < 2) {
      AddReplica();
    }
  }
  void Disturb() {
    const uint64_t what = random_.Next() % 100;
    if (what < 2 && Leader() != nullptr) {
      std::erase_if(replicas_, [this](const auto& one) { return one.get() == Leader(); });
    } else if (what < 4 && Leader() != nullptr) {
      Leader()->network().Stall();
    } else if (what < 6) {
      api_.faults().Add({.kind = FaultKind::kAway, .lasts_for = seconds(1 + random_.Next() % 30)});
    } else if (what < 8) {
      api_.Compact();
      api_.CutWatches();
    } else if (what < 12) {
      api_.faults().Add({.code = random_.Next() % 2 == 0 ? 500 : 429,
                         .retry_after = seconds(1),
                         .count = 20,
                         .lasts_for = seconds(10)});
    } else if (what < 20) {
      const size_t node = random_.Next() % nodes_;
      sim_->SetReady(node, false);
      loop_.After(minutes(2), [this, node] { sim_->SetReady(node, true); });
    }
  }
  // Until no node has a record any more; how long it took, in simulated time.
  hours RunUntilDone(bool is_disturbed) {
    const SteadyTime begun = loop_.clock().Now();
    for (int step = 0; loop_.clock().Now() - begun < hours(60); ++step) {
      loop_.Advance(seconds(5));
      ReplaceTheDead();
      if (is_disturbed) {
        Disturb();
      }
      if (step % 60 == 59) {
        sim_->RetryFailed();
        if (sim_->CountDriver("550") == nodes_ && sim_->States().empty()) {
          break;
        }
      }
    }
    return std::chrono::duration_cast<hours>(loop_.clock().Now() - begun);
  }

  FakeLoop loop_;
  apiserver::Api api_{loop_};
  Random random_{11};
  size_t nodes_ = 0;
  std::unique_ptr<SimFleet> sim_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  uint64_t started_ = 0;
};

TEST_F(FleetTest, AThousandNodesConvergeWithinTheBudgetWhateverFails) {
  nodes_ = 1'000;
  Make({.nodes = nodes_,
        .shortest = seconds(1),
        .longest = seconds(10),
        .troubles = {.install_fails = 0.05,
                     .install_hangs = 0.02,
                     .needs_reboot = 0.02,
                     .agent_hangs = 0.03,
                     .validation_fails = 0.05,
                     .validation_hangs = 0.02}});
  constexpr size_t kMost = 50;
  sim_->CheckBudget(kMost);
  Policy(
      "{maxUnavailable: 10%, failureBudget: 100%, waitForJobsSeconds: 60, installSeconds: 60, "
      "validationSeconds: 60}");
  const hours took = RunUntilDone(true);
  RecordProperty("simulated_hours", static_cast<int>(took.count()));
  EXPECT_THAT(sim_->violations(), IsEmpty());
  EXPECT_EQ(sim_->CountDriver("550"), nodes_);
  EXPECT_THAT(sim_->States(), IsEmpty());
  EXPECT_EQ(sim_->CountCordoned(), 0U);
  EXPECT_GT(sim_->checked(), 10'000U);
  // Leaders did change, and the budget was used.
  EXPECT_GT(started_, 10U);
  EXPECT_GT(sim_->most_unavailable(), kMost / 2);
}

// A leader that hangs sends its last writes after another one has taken over, again and again.
TEST_F(FleetTest, LateWritesOfAFormerLeaderDoNotBreakTheBudget) {
  nodes_ = 60;
  Make({.nodes = nodes_, .gpu_pods = 0, .shortest = seconds(1), .longest = seconds(8)});
  sim_->CheckBudget(2);
  Policy("{maxUnavailable: 2}");
  size_t late = 0;
  for (int step = 0; step < 4'000 && sim_->CountDriver("550") < nodes_; ++step) {
    loop_.Advance(std::chrono::milliseconds(700));
    if (step % 60 == 20 && Leader() != nullptr) {
      Leader()->network().Stall();
    }
    for (const auto& one : replicas_) {
      // While the new leader is at work, and long after its lease has ended.
      if (one->network().is_stalled() && one->is_lost() && step % 60 == 55) {
        late += one->network().held();
        one->network().Deliver();
      }
    }
    if (step % 60 == 59) {
      ReplaceTheDead();
    }
    while (replicas_.size() < 2) {
      AddReplica();
    }
  }
  EXPECT_EQ(sim_->CountDriver("550"), nodes_);
  EXPECT_THAT(sim_->violations(), IsEmpty());
  EXPECT_GT(late, 0U);
}

// The cordon that a dying leader sent last arrives when its successor would rather take another
// node.
TEST_F(FleetTest, ACordonThatArrivesLateIsCounted) {
  nodes_ = 6;
  Make({.nodes = nodes_, .gpu_pods = 0});
  sim_->SetDriver(0, "550.54.15");
  sim_->CheckBudget(1);
  Policy("{maxUnavailable: 1}");
  AddReplica();
  replicas_[0]->network().StallAt([](const http::Request& request) {
    return request.method == "PATCH" && request.target.starts_with("/api/v1/nodes/node-00002");
  });
  for (int i = 0; i < 30 && !replicas_[0]->network().is_stalled(); ++i) {
    loop_.Advance(seconds(1));
  }
  AddReplica();
  ASSERT_TRUE(replicas_[0]->network().is_stalled());
  sim_->SetDriver(0, "535.104.05");
  loop_.Advance(seconds(30));
  ASSERT_TRUE(replicas_[0]->is_lost());
  ASSERT_TRUE(replicas_[1]->is_leader());
  ASSERT_GT(replicas_[0]->network().held(), 0U);
  replicas_[0]->network().Deliver();
  loop_.Advance(minutes(20));
  EXPECT_THAT(sim_->violations(), IsEmpty());
  EXPECT_EQ(sim_->CountDriver("550"), nodes_);
  EXPECT_EQ(sim_->CountCordoned(), 0U);
}

TEST_F(FleetTest, AbortReturnsEveryNodeWhoseDriverIsUntouched) {
  nodes_ = 40;
  Make({.nodes = nodes_, .gpu_pods = 2});
  Policy("{maxUnavailable: 5, waitForJobsSeconds: 86400}");
  AddReplica();
  loop_.Advance(seconds(30));
  EXPECT_GT(sim_->CountCordoned(), 0U);
  Policy("{maxUnavailable: 5, waitForJobsSeconds: 86400, abort: true}");
  loop_.Advance(minutes(10));
  EXPECT_EQ(sim_->CountCordoned(), 0U);
  EXPECT_THAT(sim_->States(), IsEmpty());
  EXPECT_LT(sim_->CountDriver("550"), nodes_ / 2);
}

TEST_F(FleetTest, TheFirstFailureStopsTheOthers) {
  nodes_ = 20;
  Make({.nodes = nodes_, .gpu_pods = 0, .troubles = {.install_fails = 1}});
  Policy("{maxUnavailable: 1, attempts: 1}");
  AddReplica();
  loop_.Advance(hours(2));
  EXPECT_EQ(sim_->CountFailed(), 2U);  // one in each group
  EXPECT_EQ(sim_->CountCordoned(), 2U);
  sim_->troubles() = {};
  sim_->RetryFailed();
  loop_.Advance(hours(3));
  EXPECT_EQ(sim_->CountDriver("550"), nodes_);
  EXPECT_EQ(sim_->CountCordoned(), 0U);
}

}  // namespace
}  // namespace kgpu::controller
