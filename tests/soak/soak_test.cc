// The built agent under random workloads and faults, in real time.
//   KGPU_SOAK_SEED=N      the same actions as that run had; "random" for new ones
//   KGPU_SOAK_SECONDS=N   how long; KGPU_SOAK_ROUNDS=N ends it after so many rounds
// docs/how-it-works/testing.md says what it checks.
#include <gtest/gtest.h>

#include <poll.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/soak/checks.h"
#include "tests/soak/footprint.h"
#include "tests/soak/holders.h"
#include "tests/soak/plan.h"
#include "tests/soak/seed.h"

namespace kgpu::soak {
namespace {

using std::chrono::steady_clock;

constexpr uint32_t kUsualSeed = 2'042'371;  // its first rounds have actions of nearly all kinds
constexpr uint64_t kUsualSeconds = 20;
constexpr size_t kRoundsBetweenRests = 8;

class SoakTest : public SoakChecks {
 protected:
  // "" or what went wrong.
  std::string Run(const Round& round) {
    is_agent_new_ = false;
    for (const Action& action : round.actions) {
      story_->Add(action.text());
      Do(action, *plan_);
      // The next action comes at another moment of this one.
      (void)poll(nullptr, 0, static_cast<int>(moments_.Below(20)));
      for (std::string problem : {holders_.Check(Held()), CheckDaemons()}) {
        if (!problem.empty()) {
          return problem;
        }
      }
    }
    if (std::string problem = CheckReported(); !problem.empty()) {
      return problem;
    }
    story_->Add("repair");
    Repair();
    const std::vector<std::string> refused = TakeRefused();
    may_refuse_ = round.has_faults;
    if (!round.has_faults && !refused.empty()) {
      return "refused without a fault: " + refused[0];
    }
    return CheckAtRest();
  }
  std::string CheckAtRest() {
    std::string problem = Settle();
    problem = problem.empty() ? holders_.Check(Held()) : "not at rest: " + problem;
    if (problem.empty() && plan_->rounds() % kRoundsBetweenRests == 0) {
      problem = CheckRest();
    }
    if (is_agent_new_ && problem.empty()) {
      problem = Growth("agent", life_);
      life_.clear();
    }
    life_.push_back(Measure(agent_pid(), plan_->rounds()));
    return problem;
  }
  void Print() const {
    fmt::print(
        "{} rounds, {} actions, {} holders, {} refused pods, {} reports, "
        "{} rests\n",
        plan_->rounds(), story_->steps(), holders_.seen(), refused_, reports_, rests_);
    for (const auto& [verb, count] : done_) {
      fmt::print("  {} {}", verb, count);
    }
    fmt::print("\n");
    if (!life_.empty()) {
      const Footprint& first = life_[life_.size() / 10];
      fmt::print(
          "the last agent: {} rounds; {} KiB and {} files in round {}, {} and {} at the end\n",
          life_.size(), first.memory_kib, first.files, first.round, life_.back().memory_kib,
          life_.back().files);
    }
  }

  std::optional<Story> story_;
  std::optional<Plan> plan_;
  Dice moments_{1};
  Holders holders_;
  std::vector<Footprint> life_;
};

TEST_F(SoakTest, NobodyLosesADeviceAndAllComesToRest) {
  const uint32_t seed = SeedOf(kUsualSeed);
  story_.emplace("soak_test", seed);
  plan_.emplace(seed);
  moments_ = Dice(seed + 1);
  const auto end =
      steady_clock::now() + std::chrono::seconds(NumberOf("KGPU_SOAK_SECONDS", kUsualSeconds));
  const uint64_t rounds = NumberOf("KGPU_SOAK_ROUNDS", UINT64_MAX);
  fmt::print("soak: seed {}\n", seed);
  (void)std::fflush(stdout);
  std::string problem = Settle();
  while (problem.empty() && steady_clock::now() < end && plan_->rounds() < rounds &&
         !HasFailure()) {
    problem = Run(plan_->Next());
  }
  problem = problem.empty() ? Growth("agent", life_) : problem;
  Print();
  if (!problem.empty() || HasFailure()) {
    FAIL() << story_->Failure(problem) << "\n--- status\n"
           << boost::json::serialize(FromAgent("/v1/status")) << "\n--- log\n"
           << host_->dir().ReadFile("log");
  }
}

}  // namespace
}  // namespace kgpu::soak
