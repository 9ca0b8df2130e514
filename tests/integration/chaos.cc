// Kills agent, probe and kubelet at random while pods come and go, and checks after each round that
// everything is healthy again. docs/how-it-works/testing.md says how to run it.
//   chaos [ROUNDS [SEED [kubelet-socket|plugin-watcher]]]      default 1000, from the clock, first
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "src/platform/base/strings.h"
#include "tests/integration/chaos_node.h"

namespace kgpu::integration {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;
// Of an agent that lives on: what a busy allocator may hold back.
constexpr size_t kGrowthKib = 2048;
constexpr size_t kMoreFiles = 2;

struct Plan {
  uint32_t rounds = 1000;
  uint32_t seed = 0;
  config::Registration registration = config::Registration::kKubeletSocket;
};

class Run {
 public:
  explicit Run(const Plan& plan) : plan_(plan), node_(plan.registration, plan.seed) {}

  // In the second half the agent lives, so that what it holds can be seen to grow.
  std::string All() {
    if (std::string problem = node_.Start(); !problem.empty()) {
      return "at the start: " + problem;
    }
    const uint32_t half = plan_.rounds / 2;
    // The first rounds of its life are an agent's own growth.
    const uint32_t first_look = half + std::min(half / 4, 25U);
    for (uint32_t round = 0; round < plan_.rounds; ++round) {
      const auto begun = std::chrono::steady_clock::now();
      node_.Blow(round < half);
      if (std::string problem = node_.Settle(); !problem.empty()) {
        return fmt::format("round {}: {}", round, problem);
      }
      times_.push_back(Milliseconds(std::chrono::steady_clock::now() - begun).count());
      if (round == first_look) {
        first_ = node_.agent_size();
      }
      if ((round + 1) % 100 == 0) {
        fmt::print("round {} of {}\n", round + 1, plan_.rounds);
        (void)std::fflush(stdout);
      }
    }
    last_ = node_.agent_size();
    return Growth();
  }

  void Print() {
    std::ranges::sort(times_);
    const ChaosCounts& counts = node_.counts();
    fmt::print(
        "{} rounds; killed: agent {}, probe {}, kubelet {}; two at once {}; pods {}, of them "
        "refused {}\n",
        times_.size(), counts.agents_killed, counts.probes_killed, counts.kubelets_killed,
        counts.doubles, counts.pods, counts.refused);
    if (!times_.empty()) {
      fmt::print("a round and settling: median {:.0f} ms, worst {:.0f} ms\n",
                 times_[times_.size() / 2], times_.back());
    }
    fmt::print("the agent that lived on: {} files, then {}; {} KiB resident, then {}\n",
               first_.open_files, last_.open_files, first_.resident_kib, last_.resident_kib);
  }

 private:
  std::string Growth() const {
    if (last_.open_files > first_.open_files + kMoreFiles) {
      return fmt::format("the agent's open files grew from {} to {}", first_.open_files,
                         last_.open_files);
    }
    if (last_.resident_kib > first_.resident_kib + kGrowthKib) {
      return fmt::format("the agent's memory grew from {} to {} KiB", first_.resident_kib,
                         last_.resident_kib);
    }
    return "";
  }

  const Plan plan_;
  ChaosNode node_;
  std::vector<double> times_;  // of each round, in milliseconds
  AgentSize first_;
  AgentSize last_;
};

int Main(const std::vector<std::string>& arguments) {
  Plan plan;
  plan.seed = std::random_device()();
  if (!arguments.empty()) {
    plan.rounds = static_cast<uint32_t>(ParseUint(arguments[0]).value_or(plan.rounds));
  }
  if (arguments.size() > 1) {
    plan.seed = static_cast<uint32_t>(ParseUint(arguments[1]).value_or(plan.seed));
  }
  if (arguments.size() > 2 && arguments[2] == "plugin-watcher") {
    plan.registration = config::Registration::kPluginWatcher;
  }
  if (!e2e::CanMakeDevices()) {
    fmt::print("[  SKIPPED ] character devices cannot be created here\n");
    return 0;
  }
  fmt::print("chaos: {} rounds, seed {}\n", plan.rounds, plan.seed);
  (void)std::fflush(stdout);
  Run run(plan);
  const std::string problem = run.All();
  run.Print();
  // What helpers of the tests found wrong.
  const bool has_failure = ::testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed();
  fmt::print("{}\n", problem.empty() ? (has_failure ? "failed" : "everything is ok")
                                     : "failed: " + problem);
  return problem.empty() && !has_failure ? 0 : 1;
}

}  // namespace
}  // namespace kgpu::integration

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return kgpu::integration::Main(std::vector<std::string>(argv + 1, argv + argc));
}
