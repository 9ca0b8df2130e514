#include "src/setup/driver_install/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/setup/driver_install/test_plans.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::driver_install {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Journal FullJournal() {
  Journal journal;
  journal.phase = Phase::kGoingBack;
  journal.began = 1'700'000'000;
  journal.failure = "step build: exit code 2";
  journal.keeps = true;
  journal.restarts = true;
  journal.plan = PlanOfAllActions();
  journal.plan.steps[10].loses = "driver 470";
  journal.steps.resize(journal.plan.steps.size());
  StepRecord& file = journal.steps[1];
  file.state = StepState::kUndoing;
  file.was_done = true;
  file.note = "changed since";
  file.file = FileBefore{.kind = FileKind::kFile,
                         .backup = "/var/lib/kgpu/driver-backup/1-old.conf",
                         .target = "",
                         .attributes = {.mode = 04755, .uid = 7, .gid = 4294967294}};
  file.folders = {"/etc/new"};
  StepRecord& packages = journal.steps[8];
  packages.state = StepState::kDoing;
  packages.packages_before = {{"libc6:i386", "2.36-9+deb12u1"}};
  packages.foreseen = {"libnvidia", "nvidia-driver"};
  packages.configured = {"libnvidia"};
  packages.came = {{"nvidia-driver", "535"}};
  packages.replaced = {{"kept", "1"}};
  packages.unfinished = {"kept"};
  packages.changed_configs = {"/etc/kept.conf"};
  journal.steps[6].units = {"display-manager.service"};
  journal.steps[13].enabled = {"nvidia-persistenced.service"};
  journal.steps[7].modules = {"nouveau"};
  journal.steps[11].boot_id = "2f0c";
  return journal;
}

std::string Without(std::string text, std::string_view part, std::string_view by = "") {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return at == std::string::npos ? text : text.replace(at, part.size(), by);
}

TEST(DriverJournalTest, IsReadAsItWasWritten) {
  const auto read = ParseJournal(PrintJournal(FullJournal()), "driver.json");

  ASSERT_OK(read);
  EXPECT_EQ(*read, FullJournal());
}

TEST(DriverJournalTest, IsReadWithTheFormerDriver) {
  Journal journal = FullJournal();
  journal.former = {.plan = PlanOfAllActions(), .began = 1'600'000'000};

  const auto read = ParseJournal(PrintJournal(journal), "driver.json");

  ASSERT_OK(read);
  EXPECT_EQ(*read, journal);
}

TEST(DriverJournalTest, SeveralDriversOfAnOlderVersionAreLeftToIt) {
  for (const char* field : {R"({"below": [], )", R"({"addsKernel": true, )"}) {
    EXPECT_THAT(ParseJournal(Without(PrintJournal(FullJournal()), "{", field), "driver.json"),
                StatusIs(StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("driver.json: below: an older kgpu"),
                               HasSubstr("run kgpu driver remove with that kgpu"))));
  }
}

TEST(DriverJournalTest, KeepsCommandsWhole) {
  Journal journal;
  driver::RunCommand run;
  run.command = {.argv = {"/bin/sh", "-c", "exec a 'b'"},
                 .environment = {"LANG=C"},
                 .deadline = std::chrono::minutes(30)};
  run.undo.argv = {"/usr/bin/nvidia-uninstall"};
  journal.plan.steps = {StepOf("installer", run)};
  journal.plan.source = driver::SourceKind::kRunFile;
  journal.steps.resize(1);

  const auto read = ParseJournal(PrintJournal(journal), "driver.json");

  ASSERT_OK(read);
  EXPECT_EQ(*read, journal);
}

TEST(DriverJournalTest, ReadsRecordsOfBeforeTrialsWereKept) {
  Journal journal;
  journal.plan.steps = {StepOf("packages", driver::InstallPackages{{"nvidia-driver"}})};
  journal.steps.resize(1);
  const std::string text =
      Without(Without(PrintJournal(journal), "\"foreseen\": [],"), "\"configured\": [],");
  journal.steps[0].foreseen.reset();  // which is not a trial that listed nothing

  EXPECT_THAT(ParseJournal(text, "driver.json"), IsOkAndHolds(journal));
}

TEST(DriverJournalTest, ReadsRecordsOfBeforeThisWasNotedOfPackagesTakenOff) {
  std::string text =
      Without(PrintJournal(FullJournal()), "\"unfinished\": [\n        \"kept\"\n      ],");
  text = Without(text, "\"changedConfigs\": [\n        \"/etc/kept.conf\"\n      ],");
  Journal journal = FullJournal();
  journal.steps[8].changed_configs.clear();
  journal.steps[8].unfinished.clear();

  EXPECT_THAT(ParseJournal(text, "driver.json"), IsOkAndHolds(journal));
}

TEST(DriverJournalTest, WritesNoTrialWhereNoneWasNoted) {
  Journal journal = FullJournal();
  journal.steps[8].foreseen.reset();

  EXPECT_THAT(ParseJournal(PrintJournal(journal), "driver.json"), IsOkAndHolds(journal));
}

TEST(DriverJournalTest, IsReadAsItWasWrittenByEarlierVersions) {
  const std::string text = Without(Without(PrintJournal(FullJournal()), "  \"keeps\": true,\n"),
                                   "  \"restarts\": true,\n");

  const auto read = ParseJournal(text, "driver.json");

  ASSERT_OK(read);
  EXPECT_FALSE(read->keeps);
}

TEST(DriverJournalTest, RefusesAnotherFormat) {
  const std::string text = Without(PrintJournal(FullJournal()), "\"format\": 1", "\"format\": 2");

  EXPECT_THAT(ParseJournal(text, "driver.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("another version of kgpu")));
}

TEST(DriverJournalTest, NamesTheFieldThatIsWrong) {
  const std::string whole = PrintJournal(FullJournal());
  const std::vector<std::array<std::string, 3>> cases = {
      {"\"undoing\"", "\"sleeping\"", "steps[1].state"},
      {"\"gid\": 4294967294", "\"gid\": 4294967296", "steps[1].file.gid"},
      {"\"wasDone\": true", "\"wasDone\": 1", "steps[1].wasDone"},
      {"\"going-back\"", "\"gone\"", "phase"},
      {"\"write-file\"", "\"write\"", "plan.steps[1].action"},
      {"\"mode\": 384", "\"mode\": -1", "plan.steps[1].of.mode"},
      {"/var/lib/kgpu/driver-backup/1", "/etc/1", "must be a file in /var/lib/kgpu/driver-backup"},
      {"driver-backup/1", "driver-backup/../1", "must be a file in /var/lib/kgpu/driver-backup"},
      {"\"deadline\": 600", "\"deadline\": -600", "plan.steps[0].of.run.deadline"},
  };
  for (const auto& [part, by, named] : cases) {
    EXPECT_THAT(ParseJournal(Without(whole, part, by), "driver.json"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(named)))
        << part;
  }
}

TEST(DriverJournalTest, RefusesWhatIsCutOff) {
  const std::string whole = PrintJournal(FullJournal());
  for (size_t length = 0; length + 1 < whole.size(); length += 7) {
    EXPECT_FALSE(ParseJournal(whole.substr(0, length), "driver.json").ok()) << length;
  }
}

TEST(DriverJournalTest, RefusesRecordsOfAnotherPlan) {
  Journal journal = FullJournal();
  journal.steps.pop_back();

  EXPECT_THAT(ParseJournal(PrintJournal(journal), "driver.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("16 records of a plan of 17")));
}

TEST(DriverJournalTest, SaysWhatToDoWhenItCannotBeRead) {
  const TempDir dir;
  dir.WriteFile("var/lib/kgpu/driver.json", "{");
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);

  EXPECT_THAT(ReadJournal(*root),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("restore it from a copy"), HasSubstr("driver-backup"))));
}

TEST(DriverJournalTest, IsNotThereOnAFreshHost) {
  const TempDir dir;
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);

  const auto journal = ReadJournal(*root);

  ASSERT_OK(journal);
  EXPECT_FALSE(journal->has_value());
}

TEST(DriverJournalTest, IsNotWrittenSoThatItCannotBeRead) {
  const TempDir dir;
  dir.MakeDir("var/lib/kgpu");
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  change::HostDisk disk(*root);
  Journal journal;
  journal.failure = "\xff";

  EXPECT_THAT(WriteJournal(journal, disk),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
  EXPECT_FALSE(root->Exists(kJournalFile));
}

}  // namespace
}  // namespace kgpu::driver_install
