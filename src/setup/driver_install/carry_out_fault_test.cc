// A plan with every kind of action is killed at each of its actions, forwards and back: the next
// run ends where an undisturbed one ends, and until then the journal tells that it is not done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/test_plans.h"
#include "src/setup/driver_install/test_run.h"
#include "testing/sanitizer.h"
#include "testing/status_matchers.h"

namespace kgpu::driver_install {
namespace {

using FaultTree = std::map<std::string, std::string>;

constexpr int kMostFaultActions = 1000;
// The plan's runs: to the person, to the restart, to the end.
constexpr int kStages = 3;

// The journal's own text apart: it tells of what went on in between.
FaultTree WithoutJournal(FaultTree tree) {
  tree.erase("host/var/lib/kgpu/driver.json");
  return tree;
}

void BeforeStage(const World& world, int stage) {
  if (stage == 2) {
    world.Reboot("boot-2");
  }
}

StatusOr<Outcome> RunStage(OneRun& run, int stage) {
  return stage == 0 ? run.Begin(PlanOfAllActions()) : run.GoOn();
}

void RunWhole(const World& world, int stages = kStages) {
  for (int stage = 0; stage < stages; ++stage) {
    BeforeStage(world, stage);
    OneRun run(world);
    ASSERT_OK(RunStage(run, stage));
  }
}

std::optional<Journal> JournalOf(const World& world) {
  const auto journal = ReadJournal(world.host());
  EXPECT_OK(journal);
  return journal.ok() ? *journal : std::nullopt;
}

// Runs again and again until it is done, as an admin or the unit would.
void RunToTheEnd(const World& world) {
  for (int turn = 0; turn < 6; ++turn) {
    OneRun run(world);
    const auto outcome = JournalOf(world) ? run.GoOn() : run.Begin(PlanOfAllActions());
    ASSERT_OK(outcome);
    if (outcome->result == Result::kDone) {
      return;
    }
    if (outcome->result == Result::kNeedsReboot) {
      world.Reboot(fmt::format("boot-again-{}", turn));
    }
  }
  FAIL() << "does not come to an end";
}

void TakeBackWhole(const World& world) {
  OneRun run(world);
  const auto outcome = run.Undo();
  EXPECT_TRUE(outcome.ok() || outcome.status().code() == StatusCode::kNotFound) << outcome.status();
}

class Trees {
 public:
  Trees() {
    const World world;
    old = world.Tree();
    RunWhole(world);
    wanted = WithoutJournal(world.Tree());
  }
  FaultTree old;
  FaultTree wanted;
};

// Neither the old tree nor the wanted one: then the journal must say so.
void ExpectReported(const World& world, const Trees& trees) {
  const auto journal = JournalOf(world);
  const FaultTree now = WithoutJournal(world.Tree());
  if (!journal) {
    EXPECT_EQ(now, trees.old);
  } else if (journal->phase == Phase::kInstalled) {
    EXPECT_EQ(now, trees.wanted);
  }
}

using Action = std::function<StatusOr<Outcome>(OneRun&)>;

// Whether the run was killed: within this process nothing is done any more …
bool KilledHere(const World& world, int lives, const Action& action) {
  OneRun run(world, change::Fate(change::Fate::End::kDead, lives));
  const auto outcome = action(run);
  EXPECT_TRUE(run.fate().is_dead() || outcome.ok()) << outcome.status();
  return run.fate().is_dead();
}

// … or a process of its own ends at once.
bool KilledAsProcess(const World& world, int lives, const Action& action) {
  const pid_t child = fork();
  if (child == 0) {
    OneRun run(world, change::Fate(change::Fate::End::kExit, lives));
    (void)action(run);
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status) == 7;
}

using Killer = bool (*)(const World&, int, const Action&);

class CarryOutFaultTest : public ::testing::TestWithParam<Killer> {
 protected:
  Trees trees_;
};

TEST_P(CarryOutFaultTest, GoesOnAfterAKillAtEachAction) {
  for (int stage = 0; stage < kStages; ++stage) {
    bool is_killed = true;
    for (int lives = 0; is_killed && lives < kMostFaultActions; lives += kMomentStep) {
      const World world;
      RunWhole(world, stage);
      BeforeStage(world, stage);
      is_killed = GetParam()(world, lives, [stage](OneRun& run) { return RunStage(run, stage); });
      ExpectReported(world, trees_);
      RunToTheEnd(world);
      ASSERT_EQ(WithoutJournal(world.Tree()), trees_.wanted) << stage << " " << lives;
    }
    EXPECT_FALSE(is_killed);
  }
}

TEST_P(CarryOutFaultTest, IsTakenBackAfterAKillAtEachAction) {
  for (int stage = 0; stage < kStages; ++stage) {
    bool is_killed = true;
    for (int lives = 0; is_killed && lives < kMostFaultActions; lives += kMomentStep) {
      const World world;
      RunWhole(world, stage);
      BeforeStage(world, stage);
      is_killed = GetParam()(world, lives, [stage](OneRun& run) { return RunStage(run, stage); });
      TakeBackWhole(world);
      ASSERT_EQ(world.Tree(), trees_.old) << stage << " " << lives;
    }
    EXPECT_FALSE(is_killed);
  }
}

TEST_P(CarryOutFaultTest, TakingBackGoesOnAfterAKillAtEachAction) {
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostFaultActions; lives += kMomentStep) {
    const World world;
    RunWhole(world);
    is_killed = GetParam()(world, lives, [](OneRun& run) { return run.Undo(); });
    ExpectReported(world, trees_);
    TakeBackWhole(world);
    ASSERT_EQ(world.Tree(), trees_.old) << lives;
  }
  EXPECT_FALSE(is_killed);
}

INSTANTIATE_TEST_SUITE_P(EachWay, CarryOutFaultTest,
                         ::testing::Values(&KilledHere, &KilledAsProcess));

// One that comes in time needs no unit that goes on: its folders are not made.
FaultTree WithoutUnits(FaultTree tree) {
  std::erase_if(tree,
                [](const auto& entry) { return entry.first.starts_with("host/etc/systemd"); });
  return WithoutJournal(std::move(tree));
}

// A power cut: units run again, and modules are those of the kernel's choice.
TEST(CarryOutFaultTest, GoesOnAfterAPowerCutAtEachAction) {
  const Trees trees;
  for (int stage = 0; stage < kStages; ++stage) {
    bool is_killed = true;
    for (int lives = 0; is_killed && lives < kMostFaultActions; lives += kMomentStep) {
      const World world;
      RunWhole(world, stage);
      BeforeStage(world, stage);
      is_killed = KilledHere(world, lives, [stage](OneRun& run) { return RunStage(run, stage); });
      const auto journal = JournalOf(world);
      if (!journal || journal->phase != Phase::kInstalled) {
        world.Reboot("boot-cut");
      }
      RunToTheEnd(world);
      ASSERT_EQ(WithoutUnits(world.Tree()), WithoutUnits(trees.wanted)) << stage << " " << lives;
    }
    EXPECT_FALSE(is_killed);
  }
}

TEST(CarryOutFaultTest, IsTakenBackAfterAPowerCutAtEachAction) {
  const Trees trees;
  for (int stage = 0; stage < kStages; ++stage) {
    bool is_killed = true;
    for (int lives = 0; is_killed && lives < kMostFaultActions; lives += kMomentStep) {
      const World world;
      RunWhole(world, stage);
      BeforeStage(world, stage);
      is_killed = KilledHere(world, lives, [stage](OneRun& run) { return RunStage(run, stage); });
      world.Reboot("boot-cut");
      TakeBackWhole(world);
      ASSERT_EQ(world.Tree(), trees.old) << stage << " " << lives;
    }
    EXPECT_FALSE(is_killed);
  }
}

// Without a restart between clearing the way and what needs it clear.
TEST(CarryOutFaultTest, ClearsTheWayAgainAfterAPowerCut) {
  driver::Plan plan;
  plan.steps = {StepOf("stop", driver::StopUnits{{"display-manager.service"}}),
                StepOf("unload", driver::UnloadModules{{"nouveau"}}),
                StepOf("installer", CommandOf({"/usr/bin/installer"}, {})),
                StepOf("load", driver::LoadModules{{"nvidia", "nvidia-uvm"}}),
                StepOf("start", driver::StartUnits{.units = {"display-manager.service"}})};
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostFaultActions; lives += kMomentStep) {
    const World world;
    is_killed = KilledHere(world, lives, [&plan](OneRun& run) { return run.Begin(plan); });
    world.Reboot("boot-cut");
    OneRun run(world);

    const auto outcome = JournalOf(world) ? run.GoOn() : run.Begin(plan);

    ASSERT_OK(outcome) << lives;
    EXPECT_THAT(world.Get("active"), ::testing::ElementsAre("display-manager.service"));
    if (is_killed) {
      EXPECT_THAT(world.Get("modules"), ::testing::ElementsAre("nvidia", "nvidia-uvm")) << lives;
    }
  }
  EXPECT_FALSE(is_killed);
}

// A run that fails and is killed while it takes all back: whatever the journal says is true.
TEST(CarryOutFaultTest, ARollbackThatIsKilledGoesOn) {
  const Trees trees;
  bool is_killed = true;
  for (int lives = 0; is_killed && lives < kMostFaultActions; lives += kMomentStep) {
    const World world;
    {
      OneRun run(world, change::Fate(change::Fate::End::kDead, lives));
      run.packages().FailInstall(FailedPrecondition("held packages"));
      EXPECT_FALSE(run.Begin(PlanOfAllActions()).ok());
      is_killed = run.fate().is_dead();
    }
    ExpectReported(world, trees);
    const auto journal = JournalOf(world);
    if (journal && journal->phase == Phase::kGoingBack) {
      OneRun again(world);
      const auto outcome = again.GoOn();
      ASSERT_OK(outcome);
      EXPECT_EQ(outcome->result, Result::kTakenBack);
    } else {
      TakeBackWhole(world);
    }
    ASSERT_EQ(world.Tree(), trees.old) << lives;
  }
  EXPECT_FALSE(is_killed);
}

// Each command in turn ends badly, once: all is as before at once.
TEST(CarryOutFaultTest, EachCommandThatFailsTakesAllBack) {
  const std::vector<std::string> commands = {"/usr/bin/apt-get", "/usr/bin/systemctl stop display",
                                             "/usr/sbin/rmmod nouveau", "/usr/bin/switch on"};
  for (const std::string& command : commands) {
    const World world;
    const FaultTree before = world.Tree();
    OneRun run(world);
    run.runner().Fail(command, "no");

    EXPECT_FALSE(run.Begin(PlanOfAllActions()).ok()) << command;

    EXPECT_EQ(world.Tree(), before) << command;
  }
}

}  // namespace
}  // namespace kgpu::driver_install
