#include "src/functions/provider/replica.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace kgpu::functions {
namespace {

using enum ReplicaState;
using enum ReplicaEvent;
using enum ReplicaAction;
using Step = ReplicaStep;
using ::testing::IsEmpty;

constexpr ReplicaLife kFresh{kCold, Step::kNothing};
constexpr ReplicaLife kServing{kRunning, Step::kNothing};
constexpr ReplicaLife kEnded{kGone, Step::kNothing};

ReplicaLife Starts(Step step) {
  return {kStarting, step};
}
ReplicaLife Drains(Step step) {
  return {kDraining, step};
}

std::vector<ReplicaLife> AllLives() {
  return {kFresh,
          Starts(Step::kLoan),
          Starts(Step::kContainer),
          Starts(Step::kReadiness),
          kServing,
          Drains(Step::kLoan),
          Drains(Step::kContainer),
          Drains(Step::kCalls),
          Drains(Step::kRemoval),
          Drains(Step::kReturn),
          kEnded};
}

std::vector<ReplicaEvent> AllEvents() {
  return {kNeeded,           kAdopted,         kLoanGranted, kLoanRefused,
          kContainerStarted, kContainerFailed, kReady,       kContainerEnded,
          kStartExpired,     kStopAsked,       kCallsEnded,  kContainerRemoved,
          kLoanReturned};
}

struct Row {
  ReplicaLife from;
  ReplicaEvent event;
  ReplicaTransition to;
};

// Every pair that is not here changes nothing.
std::vector<Row> Table() {
  const ReplicaTransition remove{Drains(Step::kRemoval), {kRemoveContainer}};
  const ReplicaTransition give_back{Drains(Step::kReturn), {kReturnLoan}};
  const ReplicaTransition forget{kEnded, {kForget}};
  return {
      {kFresh, kNeeded, {Starts(Step::kLoan), {kBorrow}}},
      {kFresh, kAdopted, {Starts(Step::kReadiness), {kAwaitReady}}},
      {kFresh, kStopAsked, forget},
      {Starts(Step::kLoan), kLoanGranted, {Starts(Step::kContainer), {kStartContainer}}},
      {Starts(Step::kLoan), kLoanRefused, forget},
      {Starts(Step::kLoan), kStopAsked, {Drains(Step::kLoan), {}}},
      {Starts(Step::kContainer), kContainerStarted, {Starts(Step::kReadiness), {kAwaitReady}}},
      {Starts(Step::kContainer), kContainerFailed, remove},
      {Starts(Step::kContainer), kStopAsked, {Drains(Step::kContainer), {}}},
      {Starts(Step::kReadiness), kReady, {kServing, {kServe}}},
      {Starts(Step::kReadiness), kContainerEnded, remove},
      {Starts(Step::kReadiness), kStartExpired, remove},
      {Starts(Step::kReadiness), kStopAsked, remove},
      {kServing, kStopAsked, {Drains(Step::kCalls), {kAwaitCalls}}},
      {kServing, kContainerEnded, remove},
      {Drains(Step::kLoan), kLoanGranted, give_back},
      {Drains(Step::kLoan), kLoanRefused, forget},
      {Drains(Step::kContainer), kContainerStarted, remove},
      {Drains(Step::kContainer), kContainerFailed, remove},
      {Drains(Step::kCalls), kCallsEnded, remove},
      {Drains(Step::kCalls), kContainerEnded, remove},
      {Drains(Step::kRemoval), kContainerRemoved, give_back},
      {Drains(Step::kReturn), kLoanReturned, forget},
  };
}

TEST(ReplicaTest, EveryEventInEveryStateDoesWhatTheTableSays) {
  for (const ReplicaLife& life : AllLives()) {
    for (const ReplicaEvent event : AllEvents()) {
      ReplicaTransition expected{life, {}};
      for (const Row& row : Table()) {
        if (row.from == life && row.event == event) {
          expected = row.to;
        }
      }
      EXPECT_EQ(Next(life, event), expected)
          << NameOf(life.state) << "/" << static_cast<int>(life.step) << " on event "
          << static_cast<int>(event);
    }
  }
}

// Whatever happens in whichever order: from the first request on, a replica ends only after its
// loan was refused or returned, and returns the loan only after its container was removed.
TEST(ReplicaTest, NoPathEndsWithALoanOrAContainer) {
  struct Held {
    ReplicaLife life;
    bool may_have_container = false;
    bool may_have_loan = false;
    auto operator<=>(const Held& other) const {
      return std::tuple(life.state, life.step, may_have_container, may_have_loan) <=>
             std::tuple(other.life.state, other.life.step, other.may_have_container,
                        other.may_have_loan);
    }
    bool operator==(const Held&) const = default;
  };
  std::set<Held> found = {{kFresh}};
  std::vector<Held> open = {{kFresh}};
  while (!open.empty()) {
    const Held held = open.back();
    open.pop_back();
    for (const ReplicaEvent event : AllEvents()) {
      const ReplicaTransition to = Next(held.life, event);
      Held next{to.next, held.may_have_container, held.may_have_loan};
      if (to == ReplicaTransition{held.life, {}}) {
        continue;
      }
      if (event == kContainerRemoved) {
        next.may_have_container = false;
      }
      if (event == kLoanReturned || event == kLoanRefused) {
        next.may_have_loan = false;
      }
      for (const ReplicaAction action : to.actions) {
        if (action == kBorrow || event == kAdopted) {
          next.may_have_loan = true;
        }
        if (action == kStartContainer || event == kAdopted) {
          next.may_have_container = true;
        }
        if (action == kReturnLoan) {
          EXPECT_FALSE(next.may_have_container) << "a GPU returned while a container has it";
        }
        if (action == kForget) {
          EXPECT_FALSE(next.may_have_container || next.may_have_loan);
        }
      }
      if (found.insert(next).second) {
        open.push_back(next);
      }
    }
  }
  EXPECT_TRUE(found.contains({kEnded}));
}

TEST(ReplicaTest, AReplicaThatIsGoneStaysSo) {
  for (const ReplicaEvent event : AllEvents()) {
    EXPECT_THAT(Next(kEnded, event).actions, IsEmpty());
  }
}

}  // namespace
}  // namespace kgpu::functions
