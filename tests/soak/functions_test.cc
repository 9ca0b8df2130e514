// Functions in real containers under random deployments, calls and faults, in real time.
//   KGPU_SOAK_SEED, KGPU_SOAK_SECONDS, KGPU_SOAK_ROUNDS: as those of soak_test.cc
// docs/how-it-works/testing.md says what it checks.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fmt/format.h>

#include <chrono>
#include <string>

#include "tests/e2e/sim_host.h"
#include "tests/engines/programs.h"
#include "tests/soak/functions_machine.h"
#include "tests/soak/functions_plan.h"
#include "tests/soak/seed.h"

namespace kgpu::soak {
namespace {

using std::chrono::steady_clock;

constexpr uint32_t kUsualSeed = 11;
constexpr uint64_t kUsualSeconds = 20;
constexpr size_t kRoundsBetweenRests = 8;

class FunctionSoakTest : public testing::Test {
 protected:
  // The small disk of the daemons' state is mounted for this process and its children alone.
  static void SetUpTestSuite() {
    if (unshare(CLONE_NEWNS) == 0) {
      (void)mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    }
  }
  void SetUp() override {
    if (geteuid() != 0 || !e2e::CanMakeDevices()) {
      GTEST_SKIP() << "needs root, and the right to make devices";
    }
    if (const std::string reason = engines::WhyNot({"podman", "runc"}); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }

  // "" or what went wrong.
  static std::string Run(const Round& round, SoakFunctions& functions, const FunctionPlan& plan,
                         Story& story) {
    functions.BeginRound();
    for (const Action& action : round.actions) {
      story.Add(action.text());
      std::string problem = functions.Do(action);
      problem = problem.empty() ? functions.CheckLoans() : problem;
      if (!problem.empty()) {
        return problem;
      }
    }
    story.Add("repair");
    functions.Repair();
    std::string problem = functions.Settle();
    problem = problem.empty() ? functions.CheckLoans() : "not at rest: " + problem;
    if (problem.empty() && plan.rounds() % kRoundsBetweenRests == 0) {
      problem = functions.CheckRest();
    }
    return problem.empty() ? functions.CheckGrowth(plan.rounds()) : problem;
  }
};

TEST_F(FunctionSoakTest, NoGpuIsLentTwiceAndAllComesToRest) {
  const uint32_t seed = SeedOf(kUsualSeed);
  Story story("soak_functions_test", seed);
  FunctionPlan plan(seed);
  SoakFunctions functions;
  functions.Start();
  const auto end =
      steady_clock::now() + std::chrono::seconds(NumberOf("KGPU_SOAK_SECONDS", kUsualSeconds));
  const uint64_t rounds = NumberOf("KGPU_SOAK_ROUNDS", UINT64_MAX);
  fmt::print("soak: seed {}\n", seed);
  (void)std::fflush(stdout);
  std::string problem;
  while (problem.empty() && steady_clock::now() < end && plan.rounds() < rounds && !HasFailure()) {
    const Round round = plan.Next();
    problem = Run(round, functions, plan, story);
  }
  problem = problem.empty() ? functions.CheckGrowth() : problem;
  fmt::print("{} rounds, {} actions, {}\n", plan.rounds(), story.steps(), functions.Summary());
  if (!problem.empty() || HasFailure()) {
    FAIL() << story.Failure(problem) << functions.Evidence();
  }
}

}  // namespace
}  // namespace kgpu::soak
