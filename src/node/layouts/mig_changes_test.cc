// The order of steps, in simulated time; the test replies in place of the helper.
#include "src/node/layouts/mig_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "testing/fake_loop.h"

namespace kgpu::layouts {
namespace {

using mig::Outcome;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kA = "GPU-00000000-0000-0000-0000-000000000000";
constexpr const char* kB = "GPU-00000001-0000-0000-0000-000000000000";
constexpr const char* kC = "GPU-00000002-0000-0000-0000-000000000000";

mig::HelperReply::Change Change(const std::string& gpu, bool changes_mode = false) {
  return {.gpu = gpu, .changes_mode = changes_mode};
}
mig::HelperReply Plan(std::vector<mig::HelperReply::Change> changes,
                      std::vector<mig::HelperReply::Waiting> waiting = {}) {
  mig::HelperReply reply{
      .outcome = Outcome::kDone, .changes = std::move(changes), .waiting = std::move(waiting)};
  if (!reply.waiting.empty()) {
    reply.outcome = Outcome::kWaits;
    reply.reason = reply.waiting.front().reason;
  }
  return reply;
}
mig::HelperReply Reply(Outcome outcome, std::string reason) {
  return {.outcome = outcome, .reason = std::move(reason)};
}
const mig::HelperReply kNothingToDo = Plan({});
const mig::HelperReply kChanged = Plan({});

MigGoal Goal(const std::string& label, std::vector<std::string> gpus = {kA, kB}) {
  return {.name = "nvidia.com/mig.config=" + label,
          .is_label = true,
          .is_new = true,
          .layout = {.named = label},
          .gpus = std::move(gpus)};
}

class MigChangesTest : public ::testing::Test {
 protected:
  void Start(MigChanges::Left left = {}) {
    kept_ = left.begun;
    changes_.emplace(
        loop_,
        MigChanges::Sources{.ask =
                                [this](mig::HelperRequest request, seconds, MigChanges::Done done) {
                                  EXPECT_EQ(done_, nullptr) << "two requests at once";
                                  request_ = std::move(request);
                                  done_ = std::move(done);
                                },
                            .close =
                                [this](std::function<void()> closed) {
                                  EXPECT_FALSE(is_closed_);
                                  is_closed_ = true;
                                  closed_ = std::move(closed);
                                },
                            .open = [this] { is_closed_ = false; },
                            .read = [this](std::function<void()> done) { read_ = std::move(done); },
                            .forget = [this](const std::string& gpu) { forgotten_.push_back(gpu); },
                            .borrower = [this](const std::string& gpu) { return borrowers_[gpu]; },
                            .holders = [this](const std::string& gpu) { return holders_[gpu]; },
                            .look_at_pods = [this] { ++looks_; },
                            .keep = [this](const auto& kept) { kept_ = kept; },
                            .report =
                                [this](const MigGoalReport&, const MigGoalReport& now) {
                                  told_.push_back(std::string(ToString(now.state)));
                                },
                            .changed = [this] { ++changes_seen_; }},
        std::move(left));
  }
  bool is_planning() const { return done_ != nullptr && request_.step == mig::Step::kPlan; }
  bool is_changing() const { return done_ != nullptr && request_.step == mig::Step::kChange; }
  // The helper ends.
  void End(const StatusOr<mig::HelperReply>& reply) {
    ASSERT_NE(done_, nullptr);
    const MigChanges::Done done = std::exchange(done_, nullptr);
    done(reply);
  }
  void Read() {
    ASSERT_NE(read_, nullptr);
    std::exchange(read_, nullptr)();
  }
  // From a plan that says so to the end of the change.
  void LetChange(const std::string& gpu) {
    loop_.Advance(seconds(2));
    ASSERT_TRUE(is_changing());
    EXPECT_THAT(request_.gpus, ElementsAre(gpu));
    End(kChanged);
    Read();
  }
  MigState state() const { return changes_->reports().at(0).state; }
  std::string text() const { return changes_->reports().at(0).text; }
  // The GPUs that the kubelet gives to nobody.
  std::vector<std::string> Withdrawn() const {
    pools::Assignment assignment;
    pools::Resource& resource = assignment.resources.emplace_back();
    for (const char* gpu : {kA, kB}) {
      pools::Slot& slot = resource.slots.emplace_back();
      slot.id = slot.device_uuid = gpu;
      slot.gpu = *device::GpuUuid::Parse(gpu);
    }
    changes_->Mark(assignment);
    std::vector<std::string> gpus;
    for (const pools::Slot& slot : assignment.resources[0].slots) {
      if (!slot.health.is_healthy) {
        EXPECT_EQ(slot.health.reason, "MigChange");
        gpus.push_back(slot.id);
      }
    }
    return gpus;
  }

  FakeLoop loop_;
  std::optional<MigChanges> changes_;
  mig::HelperRequest request_;
  MigChanges::Done done_;
  std::function<void()> closed_;
  std::function<void()> read_;
  bool is_closed_ = false;
  std::vector<std::string> forgotten_;
  int looks_ = 0;
  int changes_seen_ = 0;
  std::map<std::string, std::string> borrowers_;
  std::map<std::string, std::string> holders_;
  std::optional<MigChanges::Begun> kept_;
  std::vector<std::string> told_;
};

TEST_F(MigChangesTest, AGpuIsWithdrawnBeforeItChangesAndShownAfterIt) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  ASSERT_TRUE(is_planning());
  EXPECT_THAT(request_.gpus, ElementsAre(kA, kB));
  EXPECT_EQ(request_.layout.named, "half");
  EXPECT_EQ(state(), MigState::kPending);
  EXPECT_THAT(Withdrawn(), IsEmpty());
  End(Plan({Change(kA)}));
  EXPECT_THAT(Withdrawn(), ElementsAre(kA));
  loop_.Advance(milliseconds(1'000));
  EXPECT_EQ(done_, nullptr) << "what the kubelet gave out until then is not in its list yet";
  loop_.Advance(milliseconds(200));
  ASSERT_TRUE(is_changing());
  EXPECT_EQ(kept_->gpu, kA);
  EXPECT_FALSE(is_closed_) << "no reset";
  End(kChanged);
  EXPECT_FALSE(kept_.has_value());
  EXPECT_THAT(Withdrawn(), ElementsAre(kA)) << "until its new devices are known";
  Read();
  EXPECT_THAT(forgotten_, ElementsAre(kA));
  EXPECT_THAT(Withdrawn(), IsEmpty());
  EXPECT_EQ(state(), MigState::kPending) << "until a plan has proven it";
  ASSERT_TRUE(is_planning());
  End(kNothingToDo);
  EXPECT_EQ(state(), MigState::kSuccess);
  EXPECT_THAT(told_, ElementsAre("pending", "pending", "pending", "success"));
}

// An hour at rest, and nothing wakes the loop.
TEST_F(MigChangesTest, WhatIsAsItShouldBeIsLeftAlone) {
  Start();
  MigGoal goal = Goal("half");
  goal.is_new = false;
  changes_->SetGoals({goal}, {});
  EXPECT_EQ(state(), MigState::kUnknown) << "the node's label stays";
  End(kNothingToDo);
  EXPECT_EQ(state(), MigState::kSuccess);
  EXPECT_EQ(loop_.timers(), 0U);
  changes_->SetGoals({goal}, {});
  EXPECT_EQ(done_, nullptr);
  changes_->PlanAgain();
  ASSERT_TRUE(is_planning());
  End(kNothingToDo);
  loop_.Advance(hours(1));
  EXPECT_EQ(done_, nullptr);
}

TEST_F(MigChangesTest, GpusChangeOneAfterTheOther) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  End(Plan({Change(kA), Change(kB)}));
  EXPECT_THAT(Withdrawn(), ElementsAre(kA, kB));
  LetChange(kA);
  EXPECT_THAT(Withdrawn(), ElementsAre(kB));
  LetChange(kB);
  End(kNothingToDo);
  EXPECT_EQ(state(), MigState::kSuccess);
}

TEST_F(MigChangesTest, AGpuInUseWaitsAndChangesWhenItsPodEnds) {
  Start();
  holders_[kA] = "shop/train";
  changes_->SetGoals({Goal("half")}, {});
  End(Plan({Change(kB)}, {{kA, "GPU 0: in use by pod shop/train"}}));
  EXPECT_THAT(Withdrawn(), ElementsAre(kA, kB)) << "nobody else gets it";
  LetChange(kB);
  End(Plan({}, {{kA, "GPU 0: in use by pod shop/train"}}));
  EXPECT_EQ(state(), MigState::kPending);
  EXPECT_EQ(text(), "GPU 0: in use by pod shop/train");
  EXPECT_THAT(Withdrawn(), ElementsAre(kA));
  loop_.Advance(milliseconds(1'500));
  EXPECT_GE(looks_, 1);
  EXPECT_EQ(done_, nullptr);
  holders_.clear();
  loop_.Advance(seconds(1));
  ASSERT_TRUE(is_planning());
  End(Plan({Change(kA)}));
  LetChange(kA);
  End(kNothingToDo);
  EXPECT_EQ(state(), MigState::kSuccess);
}

// Days of waiting cost a list of the kubelet every ten seconds, and a plan every minute.
TEST_F(MigChangesTest, LongWaitsCostLittle) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  int plans = 0;
  for (int second = 0; second < 3'600; ++second) {
    if (is_planning()) {
      ++plans;
      End(Plan({}, {{kA, "GPU 0: in use by process 17"}}));
    }
    ASSERT_FALSE(is_changing());
    loop_.Advance(seconds(1));
  }
  EXPECT_LE(plans, 65);
  EXPECT_GE(plans, 55);
  EXPECT_LE(looks_, 440);
}

TEST_F(MigChangesTest, AResetNeedsAClosedGpu) {
  Start();
  changes_->SetGoals({Goal("all-disabled")}, {});
  End(Plan({Change(kA, true)}));
  loop_.Advance(seconds(2));
  EXPECT_TRUE(is_closed_);
  EXPECT_EQ(done_, nullptr) << "the probe has not ended yet";
  closed_();
  ASSERT_TRUE(is_changing());
  End(kChanged);
  EXPECT_FALSE(is_closed_);
}

TEST_F(MigChangesTest, AProbeThatDoesNotEndIsAFailure) {
  Start();
  changes_->SetGoals({Goal("all-disabled")}, {});
  End(Plan({Change(kA, true)}));
  loop_.Advance(seconds(13));
  EXPECT_FALSE(is_closed_);
  EXPECT_EQ(state(), MigState::kFailed) << "whether the driver answers again or not";
  EXPECT_THAT(text(), HasSubstr("kgpu-probe keeps the GPU open"));
  EXPECT_THAT(Withdrawn(), ElementsAre(kA)) << "until it was read";
  Read();
  EXPECT_THAT(Withdrawn(), IsEmpty());
  ASSERT_TRUE(is_planning());
  End(Plan({Change(kA, true)}));
  EXPECT_EQ(state(), MigState::kFailed);
  EXPECT_THAT(text(), HasSubstr("kgpu-probe keeps the GPU open"));
  closed_();  // too late
  EXPECT_EQ(done_, nullptr);
}

TEST_F(MigChangesTest, AFailureIsShownAndTriedAgainLater) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  End(Plan({Change(kA), Change(kB)}));
  loop_.Advance(seconds(2));
  End(Reply(Outcome::kUndone, "stop DCGM; the former layouts are back"));
  Read();
  EXPECT_EQ(state(), MigState::kFailed);
  EXPECT_THAT(Withdrawn(), ElementsAre(kB)) << "its former layout works";
  EXPECT_THAT(text(), HasSubstr("stop DCGM; the former layouts are back"));
  // The other one changes all the same.
  LetChange(kB);
  End(Plan({Change(kA)}));
  EXPECT_EQ(done_, nullptr);
  EXPECT_EQ(state(), MigState::kFailed);
  loop_.Advance(seconds(50));
  EXPECT_EQ(done_, nullptr);
  loop_.Advance(seconds(10));
  ASSERT_TRUE(is_planning());
  End(Plan({Change(kA)}));
  EXPECT_THAT(Withdrawn(), ElementsAre(kA));
  LetChange(kA);
  End(kNothingToDo);
  EXPECT_EQ(state(), MigState::kSuccess);
}

TEST_F(MigChangesTest, WhatFailsForHoursIsTriedSixTimesAnHour) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  int tries = 0;
  for (int second = 0; second < 4 * 3'600; ++second) {
    if (is_planning()) {
      End(Plan({Change(kA)}));
    } else if (is_changing()) {
      ++tries;
      End(Reply(Outcome::kFailed, "no"));
      Read();
    } else {
      loop_.Advance(seconds(1));
    }
  }
  EXPECT_GE(tries, 20);
  EXPECT_LE(tries, 30);
}

TEST_F(MigChangesTest, AnUnknownNameFailsUntilItIsKnown) {
  Start();
  changes_->SetGoals({Goal("haf")}, {});
  End(Reply(Outcome::kFailed, "no MIG configuration \"haf\": did you mean half?"));
  EXPECT_EQ(state(), MigState::kFailed);
  EXPECT_THAT(text(), HasSubstr("did you mean half?"));
  EXPECT_THAT(Withdrawn(), IsEmpty());
  loop_.Advance(seconds(61));
  ASSERT_TRUE(is_planning());
  End(kNothingToDo);
  EXPECT_EQ(state(), MigState::kSuccess);
}

TEST_F(MigChangesTest, AnInfeasibleLayoutFailsWithItsReason) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  End(Reply(Outcome::kInfeasible, "GPU 0: too much"));
  EXPECT_EQ(state(), MigState::kFailed);
  EXPECT_EQ(text(), "GPU 0: too much");
}

TEST_F(MigChangesTest, AHungDriverIsNoFailureOfTheLayout) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  End(Reply(Outcome::kBusy, "the driver does not answer"));
  EXPECT_EQ(state(), MigState::kPending);
  EXPECT_EQ(text(), "the driver does not answer");
  loop_.Advance(seconds(11));
  EXPECT_TRUE(is_planning());
}

TEST_F(MigChangesTest, ANewLabelWhilePlanningReplacesTheOld) {
  Start();
  changes_->SetGoals({Goal("one")}, {});
  changes_->SetGoals({Goal("two")}, {});
  End(Plan({Change(kA)}));  // for "one"
  EXPECT_THAT(Withdrawn(), IsEmpty());
  ASSERT_TRUE(is_planning());
  EXPECT_EQ(request_.layout.named, "two");
}

TEST_F(MigChangesTest, ANewLabelWhileChangingFollowsTheOld) {
  Start();
  changes_->SetGoals({Goal("one")}, {});
  End(Plan({Change(kA), Change(kB)}));
  loop_.Advance(seconds(2));
  ASSERT_TRUE(is_changing());
  changes_->SetGoals({Goal("two")}, {});
  EXPECT_EQ(state(), MigState::kPending);
  EXPECT_TRUE(is_changing()) << "it is not interrupted";
  EXPECT_THAT(Withdrawn(), ElementsAre(kA, kB));
  End(kChanged);
  Read();
  ASSERT_TRUE(is_planning());
  EXPECT_EQ(request_.layout.named, "two");
  End(Plan({Change(kA)}));
  EXPECT_EQ(state(), MigState::kPending) << "a change for another label proves nothing";
  LetChange(kA);
  End(kNothingToDo);
  EXPECT_EQ(state(), MigState::kSuccess);
}

TEST_F(MigChangesTest, WhatFailsForAnEarlierLabelSaysNothingAboutTheNew) {
  Start();
  changes_->SetGoals({Goal("one")}, {});
  End(Plan({Change(kA)}));
  loop_.Advance(seconds(2));
  ASSERT_TRUE(is_changing());
  changes_->SetGoals({Goal("two")}, {});
  End(Reply(Outcome::kFailed, "no room for one"));
  EXPECT_EQ(state(), MigState::kPending);
  Read();
  EXPECT_EQ(state(), MigState::kPending);
  End(Plan({Change(kA)}));
  EXPECT_EQ(state(), MigState::kPending);
  EXPECT_THAT(Withdrawn(), ElementsAre(kA));
  LetChange(kA);  // at once
}

TEST_F(MigChangesTest, ALabelThatIsRemovedLeavesTheLayout) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  End(Plan({}, {{kA, "GPU 0: busy"}}));
  EXPECT_THAT(Withdrawn(), ElementsAre(kA));
  changes_->SetGoals({}, {});
  EXPECT_THAT(Withdrawn(), IsEmpty());
  EXPECT_THAT(changes_->reports(), IsEmpty());
  EXPECT_EQ(loop_.timers(), 0U);
}

TEST_F(MigChangesTest, AGpuThatIsLentWaits) {
  Start();
  borrowers_[kA] = "fn/hello/1";
  changes_->SetGoals({Goal("half")}, {});
  End(Plan({Change(kA)}));
  EXPECT_THAT(text(), HasSubstr("fn/hello/1 has borrowed it"));
  loop_.Advance(seconds(3));
  EXPECT_EQ(done_, nullptr);
  borrowers_.clear();
  loop_.Advance(seconds(2));
  ASSERT_TRUE(is_planning());
  End(Plan({Change(kA)}));
  LetChange(kA);
}

// Another kgpu has the lock: no failure, and no hurry.
TEST_F(MigChangesTest, AnotherProgramThatChangesTheHostIsWaitedFor) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  int tries = 0;
  for (int second = 0; second < 600; ++second) {
    if (is_planning()) {
      End(Plan({Change(kA)}));
    } else if (is_changing()) {
      ++tries;
      End(Reply(Outcome::kBusy, "another kgpu is running on this host"));
      Read();
    } else {
      loop_.Advance(seconds(1));
    }
    EXPECT_EQ(state(), MigState::kPending);
  }
  EXPECT_LE(tries, 15);
  EXPECT_GE(tries, 8);
}

// It began, and was undone: the same would happen again.
TEST_F(MigChangesTest, ADriverThatHangsInTheMiddleIsAFailure) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  End(Plan({Change(kA)}));
  loop_.Advance(seconds(2));
  End(Reply(Outcome::kUndone, "the driver does not answer"));
  Read();
  EXPECT_EQ(state(), MigState::kFailed);
  EXPECT_THAT(Withdrawn(), IsEmpty());
}

TEST_F(MigChangesTest, ALayoutThatDoesNotStayIsAFailure) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  End(Plan({Change(kA)}));
  LetChange(kA);
  End(Plan({Change(kA)}));
  EXPECT_EQ(state(), MigState::kFailed);
  EXPECT_THAT(text(), HasSubstr("or another program has changed it back"));
  told_.clear();
  int tries = 0;
  for (int second = 0; second < 4 * 3'600; ++second) {
    if (is_planning()) {
      End(Plan({Change(kA)}));
    } else if (is_changing()) {
      ++tries;
      End(kChanged);
      Read();
    } else {
      loop_.Advance(seconds(1));
    }
    ASSERT_EQ(state(), MigState::kFailed) << second;
  }
  EXPECT_GE(tries, 20);
  EXPECT_LE(tries, 30);
  EXPECT_THAT(told_, IsEmpty());
}

// Another program brings the former layout back whenever it has seen ours.
TEST_F(MigChangesTest, ALayoutThatIsChangedBackLaterIsNotFoughtOver) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  bool is_ours = false;
  int tries = 0;
  int age = 0;  // of our layout
  for (int second = 0; second < 4 * 3'600; ++second) {
    if (is_planning()) {
      End(is_ours ? kNothingToDo : Plan({Change(kA)}));
    } else if (is_changing()) {
      ++tries;
      is_ours = true;
      age = 0;
      End(kChanged);
      Read();
    } else {
      loop_.Advance(seconds(1));
      if (is_ours && ++age == 20) {
        is_ours = false;
        changes_->PlanAgain();
      }
    }
  }
  EXPECT_GE(tries, 20);
  EXPECT_LE(tries, 30);
}

// An admin's new file is followed at once, and no program is to be stopped.
TEST_F(MigChangesTest, OtherNamedLayoutsAreNobodysFault) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  End(Plan({Change(kA)}));
  LetChange(kA);
  End(kNothingToDo);
  changes_->NamesChanged();
  End(Plan({Change(kA)}));
  EXPECT_EQ(state(), MigState::kPending);
  loop_.Advance(seconds(2));
  ASSERT_TRUE(is_changing());
  changes_->NamesChanged();
  End(kChanged);  // to the former file's, perhaps
  Read();
  ASSERT_TRUE(is_planning());
  End(Plan({Change(kA)}));
  EXPECT_EQ(state(), MigState::kPending);
  LetChange(kA);
  End(kNothingToDo);
  EXPECT_EQ(state(), MigState::kSuccess);
}

// Somebody changes a GPU of the first goal while the second one is planned.
TEST_F(MigChangesTest, WhatChangesDuringAPlanIsPlannedAgain) {
  Start();
  changes_->SetGoals({Goal("half", {kA}), Goal("whole", {kB})}, {});
  End(kNothingToDo);
  ASSERT_TRUE(is_planning());
  changes_->PlanAgain();
  End(kNothingToDo);
  ASSERT_TRUE(is_planning());
  EXPECT_EQ(request_.layout.named, "half");
  End(Plan({Change(kA)}));
  End(kNothingToDo);
  loop_.Advance(seconds(2));
  ASSERT_TRUE(is_changing());
  changes_->PlanAgain();  // the change itself
  End(kChanged);
  Read();
  End(kNothingToDo);
  End(kNothingToDo);
  EXPECT_EQ(done_, nullptr) << "one plan is enough";
  EXPECT_EQ(state(), MigState::kSuccess);
}

// The driver does not answer for a moment: who waits goes on waiting, and is given to nobody.
TEST_F(MigChangesTest, WhatCannotBePlannedNowStaysWithdrawn) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  End(Plan({}, {{kA, "GPU 0: busy"}}));
  loop_.Advance(seconds(11));
  End(Reply(Outcome::kBusy, "the driver does not answer"));
  EXPECT_THAT(Withdrawn(), ElementsAre(kA));
  EXPECT_EQ(state(), MigState::kPending);
  loop_.Advance(seconds(21));
  ASSERT_TRUE(is_planning());
  End(Plan({Change(kA)}));
  LetChange(kA);
}

// One that was withdrawn long ago needs no pause, whatever else has just been withdrawn.
TEST_F(MigChangesTest, AGpuThatHasWaitedDoesNotWaitForOthers) {
  Start();
  changes_->SetGoals({Goal("half", {kA, kB, kC})}, {});
  End(Plan({}, {{kB, "GPU 1: busy"}, {kC, "GPU 2: busy"}}));
  loop_.Advance(seconds(11));
  ASSERT_TRUE(is_planning());
  looks_ = 0;
  End(Plan({Change(kA), Change(kB)}, {{kC, "GPU 2: busy"}}));
  ASSERT_TRUE(is_changing());
  EXPECT_THAT(request_.gpus, ElementsAre(kB));
  End(kChanged);
  Read();
  EXPECT_EQ(done_, nullptr) << "the other one may be given out still";
  LetChange(kA);
  EXPECT_LE(looks_, 2);
}

TEST_F(MigChangesTest, AnInterruptedChangeIsFinishedFirst) {
  Start({.begun = MigChanges::Begun{.gpu = kA, .layout = {.named = "gone"}}});
  EXPECT_THAT(Withdrawn(), ElementsAre(kA)) << "from the start";
  changes_->SetGoals({}, {});  // the label was removed meanwhile
  EXPECT_TRUE(is_closed_);
  closed_();
  ASSERT_TRUE(is_changing());
  EXPECT_THAT(request_.gpus, ElementsAre(kA));
  EXPECT_EQ(request_.layout.named, "gone");
  End(kChanged);
  Read();
  EXPECT_FALSE(kept_.has_value());
  EXPECT_THAT(Withdrawn(), IsEmpty());
  EXPECT_EQ(done_, nullptr);
}

// A kgpu that the killed agent started may still be at work.
TEST_F(MigChangesTest, AnInterruptedChangeIsTriedUntilItCanBeFinished) {
  Start({.begun = MigChanges::Begun{.gpu = kA, .layout = {.named = "gone"}}});
  changes_->SetGoals({}, {});
  int tries = 0;
  const auto end_with = [&](const StatusOr<mig::HelperReply>& reply, int seconds_long) {
    for (int second = 0; second < seconds_long; ++second) {
      if (is_closed_ && closed_) {
        std::exchange(closed_, nullptr)();
      }
      if (is_changing()) {
        ++tries;
        End(reply);
        Read();
        if (reply.ok() && reply->outcome == Outcome::kDone) {
          return;
        }
        EXPECT_TRUE(kept_.has_value()) << "for the next start";
      }
      ASSERT_THAT(Withdrawn(), ElementsAre(kA));
      loop_.Advance(seconds(1));
    }
  };
  end_with(Reply(Outcome::kBusy, "another kgpu that changes this host"), 60);
  EXPECT_GE(tries, 2);
  EXPECT_LE(tries, 6);
  end_with(Unavailable("ended by signal 9"), 3'600);
  EXPECT_LE(tries, 20);
  end_with(kChanged, 601);
  EXPECT_FALSE(kept_.has_value());
  EXPECT_THAT(Withdrawn(), IsEmpty());
}

TEST_F(MigChangesTest, AnInterruptedChangeThatWaitsHoldsUpNoOtherGpu) {
  Start({.begun = MigChanges::Begun{.gpu = kA, .layout = {.named = "gone"}}});
  changes_->SetGoals({Goal("half", {kB})}, {});
  std::exchange(closed_, nullptr)();
  End(Plan({}, {{kA, "GPU 0: in use by process 17"}}));
  Read();
  ASSERT_TRUE(is_planning()) << "the others";
  End(Plan({Change(kB)}));
  loop_.Advance(seconds(2));
  ASSERT_TRUE(is_changing());
  EXPECT_THAT(request_.gpus, ElementsAre(kB));
  EXPECT_EQ(kept_->gpu, kA) << "no plan knows it";
  End(kChanged);
  Read();
  End(kNothingToDo);
  EXPECT_EQ(state(), MigState::kSuccess);
  EXPECT_THAT(Withdrawn(), ElementsAre(kA));
  loop_.Advance(seconds(10));
  std::exchange(closed_, nullptr)();
  ASSERT_TRUE(is_changing());
  EXPECT_THAT(request_.gpus, ElementsAre(kA));
  EXPECT_EQ(request_.layout.named, "gone");
  End(kChanged);
  Read();
  EXPECT_FALSE(kept_.has_value());
}

// Half a layout is not left behind, whoever was killed.
TEST_F(MigChangesTest, AChangeWhoseProgramIsKilledIsFinishedWithoutItsLabel) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  End(Plan({Change(kA)}));
  loop_.Advance(seconds(2));
  End(Unavailable("did not end in time and was killed"));
  ASSERT_TRUE(kept_.has_value());
  Read();
  EXPECT_EQ(state(), MigState::kFailed);
  EXPECT_THAT(Withdrawn(), ElementsAre(kA));
  End(Plan({Change(kA)}));
  EXPECT_EQ(kept_->gpu, kA);
  changes_->SetGoals({}, {});
  loop_.Advance(seconds(10));
  ASSERT_NE(closed_, nullptr);
  closed_();
  ASSERT_TRUE(is_changing());
  EXPECT_THAT(request_.gpus, ElementsAre(kA));
  EXPECT_EQ(request_.layout.named, "half");
  End(kChanged);
  Read();
  EXPECT_FALSE(kept_.has_value());
  EXPECT_THAT(Withdrawn(), IsEmpty());
}

TEST_F(MigChangesTest, AnInterruptedChangeThatFailsIsOver) {
  Start({.begun = MigChanges::Begun{.gpu = kA, .layout = {.named = "gone"}}});
  changes_->SetGoals({}, {});
  closed_();
  End(Reply(Outcome::kFailed, "no"));
  Read();
  EXPECT_FALSE(kept_.has_value());
  EXPECT_THAT(Withdrawn(), IsEmpty());
  EXPECT_EQ(loop_.timers(), 0U);
}

// The goal of its GPU cannot be planned: the half of a layout is not left behind.
TEST_F(MigChangesTest, AnInterruptedChangeIsFinishedIfItsGoalFails) {
  Start({.begun = MigChanges::Begun{.gpu = kA, .layout = {.named = "one"}}});
  changes_->SetGoals({Goal("tow")}, {});
  End(Reply(Outcome::kFailed, "no MIG configuration \"tow\""));
  closed_();
  ASSERT_TRUE(is_changing());
  EXPECT_EQ(request_.layout.named, "one");
  End(kChanged);
  Read();
  EXPECT_FALSE(kept_.has_value());
}

TEST_F(MigChangesTest, NothingIsFinishedWhereAnotherPluginServesTheGpus) {
  Start({.begun = MigChanges::Begun{.gpu = kA, .layout = {.named = "one"}}});
  changes_->SetGoals({}, {.may_change = false});
  EXPECT_FALSE(is_closed_);
  EXPECT_EQ(done_, nullptr);
  EXPECT_TRUE(kept_.has_value());
  changes_->SetGoals({}, {});
  EXPECT_TRUE(is_closed_);
}

TEST_F(MigChangesTest, WhatAnEarlierAgentWithdrewStaysSoUntilItIsPlanned) {
  Start({.withdrawn = {kA, kB}});
  EXPECT_THAT(Withdrawn(), ElementsAre(kA, kB));
  changes_->SetGoals({}, {.is_complete = false});  // the label is not known yet
  EXPECT_THAT(Withdrawn(), ElementsAre(kA, kB));
  changes_->SetGoals({Goal("half")}, {});
  EXPECT_THAT(Withdrawn(), ElementsAre(kA, kB));
  End(Plan({}, {{kA, "GPU 0: busy"}}));
  EXPECT_THAT(Withdrawn(), ElementsAre(kA));
}

TEST_F(MigChangesTest, WithoutALabelNothingStaysWithdrawn) {
  Start({.withdrawn = {kA}});
  changes_->SetGoals({}, {.is_complete = false});
  EXPECT_THAT(Withdrawn(), ElementsAre(kA));
  changes_->SetComplete();
  EXPECT_THAT(Withdrawn(), IsEmpty());
}

TEST_F(MigChangesTest, AnInterruptedChangeIsPartOfThePlanOfItsGoal) {
  Start({.begun = MigChanges::Begun{.gpu = kA, .layout = {.named = "one"}}});
  changes_->SetGoals({Goal("two")}, {});
  ASSERT_TRUE(is_planning());
  EXPECT_THAT(Withdrawn(), ElementsAre(kA));
  EXPECT_TRUE(kept_.has_value()) << "until the plan has taken it over";
  End(Plan({Change(kA)}));
  EXPECT_TRUE(kept_.has_value());
  LetChange(kA);
  EXPECT_FALSE(kept_.has_value());
  End(kNothingToDo);
  EXPECT_EQ(state(), MigState::kSuccess);
  EXPECT_THAT(Withdrawn(), IsEmpty());
}

TEST_F(MigChangesTest, ALabelWithoutGpusFails) {
  Start();
  changes_->SetGoals({Goal("half", {})}, {});
  EXPECT_EQ(state(), MigState::kFailed);
  EXPECT_THAT(text(), HasSubstr("no GPU of this node has MIG"));
}

TEST_F(MigChangesTest, UnassignedGpusSayWhy) {
  Start();
  changes_->SetGoals({Goal("half")}, {});
  End(Plan({}, {{kA, "GPU 0: busy"}}));
  pools::Assignment assignment;
  assignment.unassigned.push_back({kA, "no layout yet", *device::GpuUuid::Parse(kA)});
  changes_->Mark(assignment);
  EXPECT_THAT(assignment.unassigned[0].reason, HasSubstr("once nobody uses it: GPU 0: busy"));
}

}  // namespace
}  // namespace kgpu::layouts
