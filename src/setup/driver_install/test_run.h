// One run of a plan on a host for tests, and what it reports.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "src/host/change/test_mortal_disk.h"
#include "src/platform/base/status_macros.h"
#include "src/setup/driver_install/carry_out.h"
#include "src/setup/driver_install/test_packages.h"
#include "src/setup/driver_install/test_programs.h"
#include "src/setup/driver_install/test_world.h"
#include "testing/fake_clock.h"
#include "testing/status_matchers.h"

namespace kgpu::driver_install {

class ReportedProgress final : public Progress {
 public:
  void OnStep(size_t number, size_t count, const driver::Step& step, bool is_undone) override {
    reported_.push_back(
        fmt::format("{}/{} {}{}", number, count, step.id, is_undone ? " back" : ""));
  }
  void OnLine(std::string_view line) override { lines_.emplace_back(line); }
  void OnWait(std::string_view line) override { lines_.emplace_back(line); }
  const std::vector<std::string>& reported() const { return reported_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> reported_;
  std::vector<std::string> lines_;
};

// Everything that one run needs, in a world that outlives it.
class OneRun {
 public:
  explicit OneRun(const World& world, change::Fate fate = change::Fate())
      : world_(world),
        fate_(fate),
        host_disk_(world.host(), sys::Durability::kMemory),
        disk_(host_disk_, fate_),
        runner_(world, fate_),
        packages_(world, fate_) {
    options_.resume_command = {"/usr/local/bin/kgpu", "driver", "install", "--resume"};
  }

  Dependencies deps() {
    return {world_.host(),
            disk_,
            runner_,
            &packages_,
            clock_,
            progress_,
            [this](const driver::Verify&) { return seen_; }};
  }
  StatusOr<Outcome> Begin(const driver::Plan& plan) {
    return Locked([&](const Dependencies& with) { return CarryOut(plan, options_, with); });
  }
  StatusOr<Outcome> GoOn() {
    return Locked([&](const Dependencies& with) { return Resume(options_, with); });
  }
  StatusOr<Outcome> Undo() {
    return Locked([&](const Dependencies& with) { return TakeBack(options_, with); });
  }

  StatusOr<Outcome> GiveWay() {
    return Locked(
        [&](const Dependencies& with) { return driver_install::GiveWay(options_, with); });
  }

  change::Fate& fate() { return fate_; }
  WorldRunner& runner() { return runner_; }
  WorldPackages& packages() { return packages_; }
  ReportedProgress& progress() { return progress_; }
  Options& options() { return options_; }
  void See(driver::Verified seen) { seen_ = std::move(seen); }

 private:
  StatusOr<Outcome> Locked(const std::function<StatusOr<Outcome>(const Dependencies&)>& work) {
    const Dependencies with = deps();
    ASSIGN_OR_RETURN(const UniqueFd lock, LockHost(with));
    return work(with);
  }

  const World& world_;
  change::Fate fate_;
  change::HostDisk host_disk_;
  change::MortalDisk disk_;
  WorldRunner runner_;
  WorldPackages packages_;
  FakeClock clock_;
  ReportedProgress progress_;
  Options options_;
  driver::Verified seen_;
};

// The journal of a host that must have one.
inline Journal WholeJournal(const World& world) {
  auto journal = ReadJournal(world.host());
  EXPECT_OK(journal);
  EXPECT_TRUE(journal.ok() && journal->has_value());
  return journal.ok() ? journal->value_or(Journal()) : Journal();
}

// A run that must succeed without interruption.
inline void Install(const World& world, const driver::Plan& plan) {
  OneRun run(world);
  const auto outcome = run.Begin(plan);
  ASSERT_OK(outcome);
  ASSERT_EQ(outcome->result, Result::kDone);
}

}  // namespace kgpu::driver_install
