// A thousand nodes, or ten thousand, failures in every state, leaders that die or hang, a server
// that goes away, nodes that do, people who change their minds: the upgrade ends, and the budget
// holds at every change of every node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/cluster/controller/test_replicas.h"
#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"
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
  // Of the controllers and the server.
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
    } else if (what < 30) {
      DisturbNode(what, random_.Next() % nodes_);
    } else if (what < 36) {
      DisturbPolicy(what);
    }
  }
  // Of a node, by itself or by people.
  void DisturbNode(uint64_t what, size_t node) {
    if (busy_.contains(node)) {
      return;  // one thing at a time, so that each has its end
    }
    busy_.insert(node);
    if (what < 20) {
      sim_->SetReady(node, false);
    } else if (what < 26) {
      sim_->DeleteNode(node);
    } else {
      sim_->SetHealthy(node, false);
    }
    loop_.After(minutes(2), [this, what, node] {
      if (what < 20) {
        sim_->SetReady(node, true);
      } else if (what < 26) {
        sim_->RestoreNode(node);
      } else {
        // What runs on a broken node somebody removes: it ends the quarantine's wait.
        sim_->SetHealthy(node, true);
        sim_->DeletePods(node);
      }
      busy_.erase(node);
    });
  }
  void DisturbPolicy(uint64_t what) {
    if (what < 32) {
      sim_->Protect(what == 30);
    } else if (what < 34) {
      is_paused_ = what == 32;
      EditPolicy();
    } else if (driver_ == "550" && sim_->CountDriver("550") > nodes_ / 10) {
      driver_ = "560";
      EditPolicy();
    }
  }
  void EditPolicy() {
    // Less than the budget that is checked, now and then.
    Policy(fmt::format("{{maxUnavailable: {}%, failureBudget: 100%, waitForJobsSeconds: 60, "
                       "evictionSeconds: 120, installSeconds: 60, validationSeconds: 60, "
                       "paused: {}}}\nquarantine: {{enabled: true, maxNodes: 5}}",
                       random_.Next() % 4 == 0 ? 5 : 10, is_paused_),
           fmt::format("\"{}\"", driver_));
  }
  // Until all nodes have the driver and none has a record any more. The last tenth in peace: it
  // would otherwise take long until nothing happens to any of them.
  hours RunUntilDone() {
    const SteadyTime begun = loop_.clock().Now();
    bool is_calm = false;
    for (int step = 0; loop_.clock().Now() - begun < hours(200); ++step) {
      loop_.Advance(seconds(5));
      ReplaceTheDead();
      if (!is_calm) {
        Disturb();
      }
      if (step % 60 != 59) {
        continue;
      }
      sim_->RetryFailed();
      const size_t done = sim_->CountDriver(driver_);
      ReportProgress(loop_.clock().Now() - begun, done);
      if (!is_calm && driver_ == "560" && done > nodes_ * 9 / 10) {
        is_calm = true;
        is_paused_ = false;
        EditPolicy();
        sim_->Protect(false);
      }
      if (done == nodes_ && sim_->States().empty() && sim_->CountFenced() == 0) {
        break;
      }
    }
    return std::chrono::duration_cast<hours>(loop_.clock().Now() - begun);
  }

  // A large fleet takes long: somebody may wait for it.
  void ReportProgress(SteadyTime::duration simulated, size_t done) {
    if (nodes_ > KGPU_FLEET_SIZE && ++reports_ % 12 == 0) {
      std::fprintf(stderr, "%ld simulated minutes: %zu of %zu nodes have driver %s\n",
                   std::chrono::duration_cast<minutes>(simulated).count(), done, nodes_,
                   driver_.c_str());
    }
  }

  FakeLoop loop_;
  apiserver::Api api_{loop_};
  Random random_{11};
  size_t nodes_ = 0;
  std::unique_ptr<SimFleet> sim_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  uint64_t started_ = 0;
  std::string driver_ = "550";
  bool is_paused_ = false;
  size_t reports_ = 0;
  std::set<size_t> busy_;  // nodes to which something happens
};

// KGPU_FLEET_NODES of the environment: more than the ordinary suite has time for.
size_t NodesOfTheFleet() {
  const char* text = std::getenv("KGPU_FLEET_NODES");  // NOLINT(concurrency-mt-unsafe): one thread
  return ParseUint(text == nullptr ? "" : text).value_or(KGPU_FLEET_SIZE);
}

TEST_F(FleetTest, NodesConvergeWithinTheBudgetWhateverFails) {
  nodes_ = NodesOfTheFleet();
  Make({.nodes = nodes_,
        .protected_pods = 0.1,
        .stuck_pods = 0.05,
        .shortest = seconds(1),
        .longest = seconds(10),
        .troubles = {.install_fails = 0.05,
                     .install_hangs = 0.02,
                     .needs_reboot = 0.02,
                     .agent_hangs = 0.03,
                     .validation_fails = 0.05,
                     .validation_hangs = 0.02}});
  const size_t most = nodes_ / 20;  // a tenth of each pool
  sim_->CheckBudget(most);
  EditPolicy();
  const hours took = RunUntilDone();
  std::string figures =
      fmt::format("{} simulated hours, {} changes of nodes checked, {} replicas, most taken {}",
                  took.count(), sim_->checked(), started_, sim_->most_unavailable());
  RecordProperty("figures", figures);
  if (nodes_ > KGPU_FLEET_SIZE) {
    std::fprintf(stderr, "%s\n", figures.c_str());
  }
  EXPECT_THAT(sim_->violations(), IsEmpty()) << figures;
  EXPECT_EQ(driver_, "560");
  EXPECT_EQ(sim_->CountDriver("560"), nodes_) << figures;
  EXPECT_THAT(sim_->States(), IsEmpty());
  EXPECT_EQ(sim_->CountCordoned(), 0U);
  EXPECT_EQ(sim_->CountFenced(), 0U);
  EXPECT_GT(sim_->checked(), 10 * nodes_);
  // Leaders did change, and the budget was used.
  EXPECT_GT(started_, 10U);
  EXPECT_GT(sim_->most_unavailable(), most / 2);
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
