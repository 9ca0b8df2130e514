#include "src/cli/driver/driver_view.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::cli {
namespace {

using driver_install::Journal;
using driver_install::Outcome;
using driver_install::Phase;
using driver_install::Result;
using driver_install::StepState;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Journal JournalOf(Phase phase, const std::vector<StepState>& states) {
  Journal journal;
  journal.phase = phase;
  journal.plan.version = "535";
  for (size_t i = 0; i < states.size(); ++i) {
    driver::Step step;
    step.id = fmt::format("step-{}", i + 1);
    journal.plan.steps.push_back(step);
    journal.steps.emplace_back().state = states[i];
  }
  return journal;
}

TEST(DriverViewTest, TellsWhereAnUnfinishedInstallationIs) {
  Journal journal = JournalOf(Phase::kInstalling, {StepState::kDone, StepState::kPassedOver,
                                                   StepState::kDoing, StepState::kPending});
  journal.failure = "no space";

  EXPECT_THAT(JournalText(journal),
              AllOf(HasSubstr("unfinished: step 3 of 4, step-3: doing"),
                    HasSubstr("it failed: no space"), HasSubstr("kgpu driver rollback undoes it")));
  EXPECT_EQ(JournalJson(journal)["step"], "step-3");
}

TEST(DriverViewTest, TellsWhatIsLeftToUndo) {
  const Journal journal =
      JournalOf(Phase::kGoingBack, {StepState::kDone, StepState::kUndoing, StepState::kUndone});

  EXPECT_THAT(JournalText(journal), AllOf(HasSubstr("unfinished: step 2 of 3, step-2: undoing"),
                                          Not(HasSubstr("failed"))));
}

TEST(DriverViewTest, TellsOfAnInstalledDriver) {
  const Journal journal = JournalOf(Phase::kInstalled, {StepState::kDone});

  EXPECT_THAT(JournalText(journal), HasSubstr("driver 535, installed by kgpu"));
  EXPECT_TRUE(JournalJson(journal)["step"].is_null());
}

TEST(DriverViewTest, TellsWhatAnInstalledDriverReplaced) {
  Journal journal = JournalOf(Phase::kInstalled, {StepState::kDone});
  journal.former = {.plan = journal.plan, .began = 1};
  journal.plan.version = "580";

  EXPECT_THAT(JournalText(journal), HasSubstr("kgpu driver rollback installs driver 535 again"));
  EXPECT_EQ(JournalJson(journal)["replaced"], "535");
  journal.failure = "not all is here again";
  EXPECT_THAT(JournalText(journal),
              HasSubstr("driver 580, installed by kgpu, but not all is here again; "));
}

TEST(DriverViewTest, TellsOfADriverThatGaveWay) {
  const Journal journal = JournalOf(Phase::kRemoved, {StepState::kPending});

  EXPECT_THAT(JournalText(journal), HasSubstr("driver 535 was removed for another one"));
  EXPECT_EQ(JournalJson(journal)["phase"], "removed");
}

TEST(DriverViewTest, SaysWhatIsToBeDoneBeforeItGoesOn) {
  Outcome restart;
  restart.result = Result::kNeedsReboot;
  restart.text = "restart the host: nouveau";
  Outcome resumed = restart;
  resumed.resumes_itself = true;
  Outcome person;
  person.result = Result::kNeedsPerson;
  person.text = "enrol the key";

  EXPECT_EQ(OutcomeText(restart, "535"),
            "not complete yet: restart the host: nouveau\n"
            "Then run: kgpu driver install\n");
  EXPECT_EQ(OutcomeText(resumed, "535"),
            "not complete yet: restart the host: nouveau\n"
            "kgpu resumes automatically after that.\n");
  EXPECT_EQ(OutcomeText(person, "535"),
            "not complete yet: enrol the key\n"
            "Then run: kgpu driver install\n");
  EXPECT_EQ(OutcomeJson(person, "535")["result"], "needs-person");
}

TEST(DriverViewTest, SaysWhatWasSeen) {
  const driver::Verified seen{
      .passed = {"module"}, .failed = {"library"}, .warned = {"next kernel"}, .skipped = {"nodes"}};

  EXPECT_EQ(VerifiedText(seen),
            "ok      module\n"
            "warn    next kernel\n"
            "skipped nodes\n"
            "FAILED  library\n");
}

}  // namespace
}  // namespace kgpu::cli
