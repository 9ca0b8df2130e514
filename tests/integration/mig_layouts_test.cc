// MIG layouts of the simulated driver, changed through kgpu-probe: what is planned is what the
// driver then has, failures are undone, and a thousand changes leave nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "src/host/inspect/driver_files.h"
#include "src/host/inspect/driver_root.h"
#include "src/node/mig/apply.h"
#include "src/node/mig/config_file.h"
#include "src/node/mig/host.h"
#include "src/node/mig/planner.h"
#include "testing/driver/libnvidia_ml/simulated_library.h"
#include "testing/driver/running_server.h"
#include "testing/driver/sample_state.h"
#include "testing/sanitizer.h"
#include "testing/status_matchers.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::integration {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class MigLayoutsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!e2e::CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
    }
  }

  void Create(const std::string& profile) { host_ = std::make_unique<e2e::SimHost>(profile); }

  StatusOr<std::unique_ptr<mig::DriverSession>> Open() {
    probe::ClientOptions options;
    options.program = e2e::ProgramPath("kgpu-probe");
    auto root = host::OpenDriverRoot(host_->path(), "", "/");
    if (!root.ok()) {
      return root.status();
    }
    return mig::DriverSession::Open(std::move(options), [&]() -> StatusOr<std::string> {
      const auto path = host::FindNvmlLibrary(root->driver);
      return path.ok() ? StatusOr<std::string>(root->driver.At(*path)) : path.status();
    });
  }

  std::vector<mig::HostGpu> Gpus() {
    std::vector<std::string> problems;
    auto session = Open();
    EXPECT_OK(session);
    auto gpus = mig::ReadHostGpus(**session, problems);
    EXPECT_OK(gpus);
    EXPECT_THAT(problems, IsEmpty());
    return gpus.value_or(std::vector<mig::HostGpu>());
  }

  mig::ApplyDeps Deps() {
    mig::ApplyDeps deps;
    deps.open = [this] { return Open(); };
    deps.reset = [this](const mig::HostGpu& gpu) {
      ++resets_;
      host_->Inject("heal", {gpu.uuid.str()});
      return OkStatus();
    };
    deps.note = [this](std::string_view line) { lines_.emplace_back(line); };
    deps.undoing = [this](const Status& error) { undone_.emplace_back(Message(error)); };
    return deps;
  }

  // "3g.40gb@0 1g.10gb@4" of the GPU with this index.
  std::string LayoutOf(unsigned index) {
    std::vector<std::string> words;
    for (const mig::HostGpu& gpu : Gpus()) {
      if (gpu.index != index) {
        continue;
      }
      for (const probe::GpuInstanceReport& report : gpu.instances) {
        const auto instance = mig::InstanceOf(*gpu.geometry, report);
        EXPECT_OK(instance);
        words.push_back(fmt::format("{}@{}", KindText(instance->kind), instance->start));
      }
    }
    return fmt::format("{}", fmt::join(words, " "));
  }

  // What makes the GPUs have exactly this layout each.
  std::vector<mig::Target> TargetsFor(const std::vector<unsigned>& indexes,
                                      const std::string& layout) {
    const std::vector<mig::HostGpu> gpus = Gpus();
    const auto entries = mig::ParseEntries(layout);
    EXPECT_OK(entries);
    const auto demands = mig::DemandsOf(*entries);
    EXPECT_OK(demands);
    std::vector<mig::GpuState> states(gpus.size());
    std::vector<mig::Goal> goals;
    for (const unsigned index : indexes) {
      auto state = mig::StateOf(gpus[index], mig::InUse::kStays);
      EXPECT_OK(state);
      states[index] = *state;
      goals.push_back({.gpu = index, .is_mig_enabled = true, .layout = *demands});
    }
    const auto plan = mig::PlanGoals(states, goals);
    EXPECT_OK(plan);
    EXPECT_TRUE(plan->is_feasible) << plan->reason;
    return mig::TargetsOf(*plan, gpus);
  }

  std::unique_ptr<e2e::SimHost> host_;
  std::vector<std::string> lines_;
  std::vector<std::string> undone_;  // errors of changes
  unsigned resets_ = 0;
};

TEST_F(MigLayoutsTest, ReadsLayoutsAndUsers) {
  Create("8xA100-mig");
  host_->Inject("process", {"2", "--pid", "4711", "--memory", "1Gi", "--gi", "1", "--ci", "0"});
  const std::vector<mig::HostGpu> gpus = Gpus();
  ASSERT_THAT(gpus, SizeIs(8));
  EXPECT_EQ(gpus[0].model, "A100-SXM4-80GB");
  EXPECT_EQ(gpus[0].geometry->profiles(), mig::Geometry::OfModel(0x20b2)->profiles());
  EXPECT_THAT(gpus[0].instances, SizeIs(7));
  EXPECT_THAT(gpus[0].devices, SizeIs(7));
  EXPECT_TRUE(gpus[6].is_mig_enabled());
  EXPECT_THAT(gpus[6].instances, IsEmpty());
  EXPECT_FALSE(gpus[7].is_mig_enabled());
  EXPECT_EQ(LayoutOf(2), "4g.40gb@0 2g.20gb@4 1g.10gb@6");
  const auto users = mig::UsersOf(gpus[2], 1);
  ASSERT_THAT(users, SizeIs(1));
  EXPECT_EQ(users[0]->pid, 4711U);
  EXPECT_THAT(mig::UsersOf(gpus[2], 5), IsEmpty());
}

TEST_F(MigLayoutsTest, CreatesWhatWasPlanned) {
  Create("8xA100-mig");
  lines_.clear();
  ASSERT_OK(mig::Applier(Deps()).Apply(
      TargetsFor({6, 5}, "2g.20gb,1c.2g.20gb,1c.2g.20gb,1c.2g.20gb,1g.10gb")));
  for (const unsigned index : {5U, 6U}) {
    EXPECT_THAT(LayoutOf(index), AllOf(HasSubstr("2g.20gb@"), HasSubstr("2g.20gb (1c+1c)@"),
                                       HasSubstr("2g.20gb (1c)@"), HasSubstr("1g.10gb@6")));
  }
  EXPECT_THAT(lines_, Contains(HasSubstr("GPU 6: 2g.20gb (1c) at memory slice")));
}

TEST_F(MigLayoutsTest, TurnsMigOnAndOff) {
  Create("8xA100-mig");
  ASSERT_OK(mig::Applier(Deps()).Apply(TargetsFor({7}, "7g.80gb")));
  EXPECT_EQ(LayoutOf(7), "7g.80gb@0");
  // The driver's own reset is enough where nobody uses the GPU.
  EXPECT_EQ(resets_, 0U);
  const std::vector<mig::HostGpu> gpus = Gpus();
  ASSERT_OK(mig::Applier(Deps()).Apply({{.uuid = gpus[7].uuid, .is_mig_enabled = false}}));
  EXPECT_FALSE(Gpus()[7].is_mig_enabled());
}

TEST_F(MigLayoutsTest, ResetsAGpuOfWhichTheModeIsPending) {
  Create("8xA100-SXM4-80GB");
  host_->Inject("process", {"0", "--pid", "4711", "--memory", "1Gi"});
  const std::vector<mig::HostGpu> gpus = Gpus();
  mig::ApplyDeps deps = Deps();
  deps.reset = [this](const mig::HostGpu& gpu) {
    ++resets_;
    host_->Inject("process", {gpu.uuid.str(), "--pid", "4711", "--end"});
    host_->Inject("heal", {gpu.uuid.str()});
    return OkStatus();
  };
  ASSERT_OK(mig::Applier(deps).Apply({{.uuid = gpus[0].uuid, .is_mig_enabled = true}}));
  EXPECT_EQ(resets_, 1U);
  EXPECT_TRUE(Gpus()[0].is_mig_enabled());
}

TEST_F(MigLayoutsTest, UndoesAllGpusWhenOneFails) {
  Create("8xA100-mig");
  const std::vector<std::string> before = {LayoutOf(5), LayoutOf(4), LayoutOf(1)};
  const std::vector<mig::Target> targets = TargetsFor({5, 4, 1}, "7g.80gb");
  // Somebody comes after the plan was made.
  host_->Inject("process", {"1", "--pid", "4711", "--memory", "1Gi", "--gi", "2", "--ci", "0"});
  EXPECT_THAT(mig::Applier(Deps()).Apply(targets),
              StatusIs(StatusCode::kUnavailable, HasSubstr("the former layouts are back")));
  EXPECT_THAT((std::vector<std::string>{LayoutOf(5), LayoutOf(4), LayoutOf(1)}),
              ::testing::ElementsAreArray(before));
  EXPECT_THAT(undone_, SizeIs(1));
}

TEST_F(MigLayoutsTest, UndoesEarlierGpusWhenALaterOneIsGone) {
  Create("8xA100-mig");
  const std::string before = LayoutOf(5);
  std::vector<mig::Target> targets = TargetsFor({5}, "7g.80gb");
  targets.push_back({.uuid = *device::GpuUuid::Parse("GPU-00000000-0000-0000-0000-000000000000")});
  EXPECT_THAT(mig::Applier(Deps()).Apply(targets),
              StatusIs(StatusCode::kNotFound, AllOf(HasSubstr("does not list this GPU"),
                                                    HasSubstr("the former layouts are back"))));
  EXPECT_EQ(LayoutOf(5), before);
}

TEST_F(MigLayoutsTest, RestoresWhatAnInterruptedChangeLeft) {
  Create("8xA100-mig");
  const std::vector<mig::HostGpu> gpus = Gpus();
  const std::string former = LayoutOf(5);
  const auto before = mig::TargetOf(gpus[5]);
  ASSERT_OK(before);
  mig::ApplyDeps deps = Deps();
  deps.note = [this](std::string_view line) {
    lines_.emplace_back(line);
    if (lines_.size() == 2) {  // in the middle of the change; the way back is lost, too
      host_->Inject("lose", {"5"});
    }
  };
  EXPECT_THAT(Message(mig::Applier(deps).Apply(TargetsFor({5}, "7g.80gb"))),
              HasSubstr(gpus[5].uuid.str() + " keeps its changes: "));
  host_->Inject("heal", {"5"});
  EXPECT_NE(LayoutOf(5), former);
  ASSERT_OK(mig::Applier(Deps()).Apply({*before}));
  EXPECT_EQ(LayoutOf(5), former);
}

// Another program has the GPUs open, so that a change of the MIG mode stays pending.
class MigPendingTest : public MigLayoutsTest {
 protected:
  void SetUp() override {
    MigLayoutsTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    Create("8xA100-SXM4-80GB");
    ASSERT_NO_FATAL_FAILURE(Watch());
    gpu_ = Gpus()[3].uuid;
  }

  // It listens to the driver's events, as DCGM does.
  void Watch() {
    std::vector<std::string> argv = {"kgpu", "devices", "--watch"};
    std::ranges::copy(host_->flags(), std::back_inserter(argv));
    other_ = std::make_unique<e2e::Background>(std::move(argv));
    ASSERT_TRUE(other_->WaitFor("HEALTH"));
  }
  mig::ApplyDeps RefusedReset() {
    mig::ApplyDeps deps = Deps();
    deps.reset = [this](const mig::HostGpu&) {
      ++resets_;
      return FailedPrecondition("the GPU is in use");
    };
    return deps;
  }
  // What the driver shows of GPU 3.
  std::string State() {
    const auto state = mig::TargetOf(Gpus()[3]);
    EXPECT_OK(state);
    return state.ok() ? mig::StateText(*state) : "";
  }
  mig::Target Halves() {
    return {.uuid = gpu_,
            .is_mig_enabled = true,
            .layout = {{.kind = {.profile = "3g.40gb"}, .start = 0},
                       {.kind = {.profile = "3g.40gb"}, .start = 4}}};
  }

  std::unique_ptr<e2e::Background> other_;
  device::GpuUuid gpu_;
};

TEST_F(MigPendingTest, ARefusedResetLeavesNoPendingMode) {
  EXPECT_THAT(mig::Applier(RefusedReset()).Apply({Halves()}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("GPU 3: MIG turns on at a reset: the GPU is in use"),
                             HasSubstr("; the former layouts are back"))));
  EXPECT_EQ(resets_, 1U);
  EXPECT_EQ(State(), "MIG off, no instances");
  host_->Inject("heal", {"3"});  // a reboot, say
  EXPECT_EQ(State(), "MIG off, no instances");
}

TEST_F(MigPendingTest, AResetThatDoesNothingIsUndone) {
  mig::ApplyDeps deps = Deps();
  deps.reset = [](const mig::HostGpu&) { return OkStatus(); };
  EXPECT_THAT(
      mig::Applier(deps).Apply({Halves()}),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("MIG is not on after the reset")));
  EXPECT_EQ(State(), "MIG off, no instances");
}

TEST_F(MigPendingTest, ALaterGpuThatFailsCancelsNothingOfOthers) {
  host_->Inject("mig", {"3", "--enable", "--pending"});
  EXPECT_EQ(State(), "MIG off (on after a reset), no instances");
  EXPECT_THAT(Message(mig::Applier(RefusedReset()).Apply({Halves()})),
              HasSubstr("; the former layouts are back; GPU 3: MIG turns on at the next reset, as "
                        "before"));
  EXPECT_EQ(State(), "MIG off (on after a reset), no instances");
}

// What a change leaves that was killed between the request for the mode and the reset.
TEST_F(MigPendingTest, APendingModeIsCancelledWithoutAReset) {
  host_->Inject("mig", {"3", "--enable", "--pending"});
  host_->Inject("process", {"3", "--pid", "4711", "--memory", "1Gi"});
  ASSERT_OK(mig::Applier(RefusedReset()).Apply({{.uuid = gpu_, .is_mig_enabled = false}}));
  EXPECT_EQ(resets_, 0U);
  EXPECT_THAT(lines_, ElementsAre("GPU 3: MIG stays off at the next reset"));
  EXPECT_EQ(State(), "MIG off, no instances");
}

TEST_F(MigPendingTest, ACancelledModeThatCannotComeBackIsReported) {
  host_->Inject("mig", {"3", "--enable", "--pending"});
  const device::GpuUuid nobody =
      *device::GpuUuid::Parse("GPU-00000000-0000-0000-0000-000000000000");
  EXPECT_THAT(Message(mig::Applier(RefusedReset())
                          .Apply({{.uuid = gpu_, .is_mig_enabled = false}, {.uuid = nobody}})),
              HasSubstr("GPU 3: MIG does not turn on at the next reset any more"));
  EXPECT_EQ(State(), "MIG off, no instances");
}

TEST_F(MigPendingTest, InstancesAreNotMadeForAModeThatEnds) {
  host_->Inject("mig", {"3", "--enable"});
  host_->Inject("mig", {"3", "--disable", "--pending"});
  ASSERT_OK(mig::Applier(RefusedReset()).Apply({Halves()}));
  EXPECT_EQ(State(), "MIG on, 3g.40gb at 0, 3g.40gb at 4");
}

// MIG is off; it had instances, and the way back needs the same reset.
TEST_F(MigPendingTest, AModeThatCannotComeBackIsReported) {
  host_->Inject("mig", {"3", "--enable", "--create", "7g.80gb"});
  other_.reset();
  mig::ApplyDeps deps = RefusedReset();
  const device::GpuUuid nobody =
      *device::GpuUuid::Parse("GPU-00000000-0000-0000-0000-000000000000");
  deps.undoing = [this](const Status&) { Watch(); };
  const std::string text(Message(
      mig::Applier(deps).Apply({{.uuid = gpu_, .is_mig_enabled = false}, {.uuid = nobody}})));
  EXPECT_THAT(text, HasSubstr(gpu_.str() + " keeps its changes: GPU 3: MIG turns on at a reset"));
  EXPECT_EQ(State(), "MIG off (on after a reset), no instances");
}

TEST_F(MigLayoutsTest, SaysWhatTheDriverShowsInstead) {
  Create("8xA100-mig");
  mig::ApplyDeps deps = Deps();
  const std::vector<mig::HostGpu> gpus = Gpus();
  deps.note = [&](std::string_view line) {
    lines_.emplace_back(line);
    if (line.ends_with("created") && lines_.size() == 2) {  // another program's
      host_->Inject("mig", {"6", "--destroy", "all"});
    }
  };
  const mig::Target target{.uuid = gpus[6].uuid,
                           .is_mig_enabled = true,
                           .layout = {{.kind = {.profile = "1g.10gb"}, .start = 0},
                                      {.kind = {.profile = "1g.10gb"}, .start = 1}}};
  EXPECT_THAT(Message(mig::Applier(deps).Apply({target})),
              HasSubstr("GPU 6: the driver shows MIG on, no instances instead of MIG on, 1g.10gb "
                        "at 0, 1g.10gb at 1: look for another program"));
}

TEST_F(MigLayoutsTest, SaysWhichGpuIsMissing) {
  Create("4xT4");
  const std::vector<mig::HostGpu> gpus = Gpus();
  EXPECT_THAT(mig::Applier(Deps()).Apply({{.uuid = gpus[0].uuid}}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has no MIG")));
}

// In KiB. Source: proc_pid_status(5).
long ResidentKib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmRSS:") {
      long kib = 0;
      status >> kib;
      return kib;
    }
  }
  return 0;
}

// The driver alone, without a host's files around it.
TEST(MigChangesTest, AThousandChangesLeaveNothingBehind) {
  const sim::SimulatedLibrary library(1);
  if (!library.has_nodes()) {
    GTEST_SKIP() << "cannot create device nodes here";
  }
  auto state = sim::SampleState(1);
  state->gpus[0].mig.mode = state->gpus[0].mig.pending_mode = 1;
  const sim::RunningServer server(library.root().path(), *state);
  mig::ApplyDeps deps;
  deps.open = [&] {
    probe::ClientOptions options;
    options.program = e2e::ProgramPath("kgpu-probe");
    return mig::DriverSession::Open(std::move(options), [&]() -> StatusOr<std::string> {
      return library.root().At(fmt::format("usr/lib64/libnvidia-ml.so.{}", sim::kVersion));
    });
  };
  deps.note = [](std::string_view) {};
  deps.undoing = [](const Status&) {};
  auto session = deps.open();
  ASSERT_OK(session);
  const auto gpu = mig::ReadHostGpu(**session, 0);
  ASSERT_OK(gpu);
  const std::vector<mig::Layout> layouts = gpu->geometry->MaximalLayouts();
  std::mt19937 random(7);
  mig::Applier applier(deps);
  mig::Target target{.uuid = gpu->uuid, .is_mig_enabled = true};
  const auto change = [&] {
    target.layout.clear();
    for (const mig::Placement& placement : layouts[random() % layouts.size()]) {
      target.layout.push_back(
          {.kind = {.profile = gpu->geometry->profile(placement).name}, .start = placement.start});
    }
    std::ranges::sort(target.layout, {}, &mig::Instance::start);
    return applier.Apply({target});
  };
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(change());
  }
  const long before = ResidentKib();
  for (int i = 0; i < 900; ++i) {
    ASSERT_OK(change());
  }
  const auto after = mig::ReadHostGpu(**session, 0);
  ASSERT_OK(after);
  const auto present = mig::TargetOf(*after);
  ASSERT_OK(present);
  ASSERT_EQ(present->layout.size(), target.layout.size());
  for (size_t i = 0; i < target.layout.size(); ++i) {
    EXPECT_EQ(present->layout[i].kind, target.layout[i].kind);
    EXPECT_EQ(present->layout[i].start, target.layout[i].start);
  }
  if (!kIsSanitized) {
    EXPECT_LT(ResidentKib() - before, 1024);
  }
}

}  // namespace
}  // namespace kgpu::integration
