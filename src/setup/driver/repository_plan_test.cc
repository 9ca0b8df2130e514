// Repositories, streams and locks that an admin has already stay as they are, and are so again on
// the way back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/setup/driver/planner.h"
#include "testing/status_matchers.h"

namespace kgpu::driver {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kRocky9Release = "ID=rocky\nID_LIKE=\"rhel fedora\"\nVERSION_ID=9.6\n";
constexpr std::string_view kRocky10Release = "ID=rocky\nID_LIKE=\"rhel fedora\"\nVERSION_ID=10.0\n";
constexpr std::string_view kDebian12Release =
    "ID=debian\nVERSION_ID=12\nVERSION_CODENAME=bookworm\n";
constexpr std::string_view kFedora42Release = "ID=fedora\nVERSION_ID=42\n";
constexpr std::string_view kSles15Release = "ID=sles\nID_LIKE=suse\nVERSION_ID=15.6\n";

HostFacts HostOf(std::string_view os_release) {
  HostFacts facts;
  facts.distribution = host::ParseDistribution(os_release);
  facts.arch = "x86_64";
  facts.kernel.release = "5.14.0-570.55.1.el9_6.x86_64";
  facts.kernel.is_running = true;
  facts.gpus = {{0x20b5, Generation::kAmpere}};
  facts.has_systemd = true;
  return facts;
}

Plan PlanOf(const HostFacts& facts, std::string version = "580") {
  Request request;
  request.version = std::move(version);
  request.source = SourceKind::kNvidia;
  const auto plan = PlanDriver(facts, request);
  EXPECT_OK(plan);
  return plan.ok() ? *plan : Plan();
}

const Step* FindStep(const Plan& plan, std::string_view id) {
  const auto step = std::ranges::find(plan.steps, id, &Step::id);
  return step == plan.steps.end() ? nullptr : &*step;
}

RunCommand CommandOf(const Plan& plan, std::string_view id) {
  const Step* step = FindStep(plan, id);
  const auto* run = step == nullptr ? nullptr : std::get_if<RunCommand>(&step->action);
  EXPECT_NE(run, nullptr) << id;
  return run == nullptr ? RunCommand() : *run;
}

std::vector<std::string> NamesOf(const Plan& plan, std::string_view id) {
  const Step* step = FindStep(plan, id);
  const auto* packages = step == nullptr ? nullptr : std::get_if<InstallPackages>(&step->action);
  EXPECT_NE(packages, nullptr) << id;
  return packages == nullptr ? std::vector<std::string>() : packages->names;
}

TEST(RepositoryPlanTest, LeavesTheBuilderRepositoryThatIsOn) {
  HostFacts facts = HostOf(kRocky9Release);
  facts.repositories = {{"crb", "http://crb", "/etc/yum.repos.d/rocky.repo", true}};
  const Plan plan = PlanOf(facts);
  EXPECT_EQ(FindStep(plan, "builder-repository"), nullptr);
  EXPECT_NE(FindStep(plan, "epel"), nullptr);
}

TEST(RepositoryPlanTest, TurnsTheBuilderRepositoryOffAgainThatWasOff) {
  HostFacts facts = HostOf(kRocky9Release);
  facts.repositories = {{"crb", "http://crb", "/etc/yum.repos.d/rocky.repo", false}};
  const RunCommand run = CommandOf(PlanOf(facts), "builder-repository");
  EXPECT_THAT(run.command.argv, Contains("--set-enabled"));
  EXPECT_THAT(run.undo.argv, Contains("--set-disabled"));
}

TEST(RepositoryPlanTest, AddsNoEpelWhereOneIsOn) {
  HostFacts facts = HostOf(kRocky9Release);
  facts.repositories = {{"epel", "http://mirror/epel", "/etc/yum.repos.d/mirror.repo", true}};
  const Plan plan = PlanOf(facts);
  EXPECT_EQ(FindStep(plan, "builder-repository"), nullptr);
  EXPECT_EQ(FindStep(plan, "epel"), nullptr);
}

TEST(RepositoryPlanTest, LeavesTheBuilderRepositoryOfASubscription) {
  HostFacts facts = HostOf("ID=rhel\nID_LIKE=fedora\nVERSION_ID=9.6\n");
  facts.repositories = {{"codeready-builder-for-rhel-9-x86_64-rpms", "https://cdn", "", true}};
  EXPECT_EQ(FindStep(PlanOf(facts), "builder-repository"), nullptr);
}

TEST(RepositoryPlanTest, TakesAMirrorOfNvidiasNameForIt) {
  HostFacts facts = HostOf(kRocky9Release);
  facts.repositories = {
      {"cuda-rhel9-x86_64", "http://mirror", "/etc/yum.repos.d/cuda-rhel9.repo", true}};
  EXPECT_EQ(FindStep(PlanOf(facts), "repository"), nullptr);
}

// `dnf download` is of a plugin, and without it nothing could be kept.
TEST(RepositoryPlanTest, TurnsNvidiasRepositoryOnAndOffAgain) {
  HostFacts facts = HostOf(kRocky9Release);
  facts.repositories = {
      {"cuda-rhel9-x86_64", "http://mirror", "/etc/yum.repos.d/cuda-rhel9.repo", false}};
  const RunCommand run = CommandOf(PlanOf(facts), "repository");
  EXPECT_THAT(run.command.argv, AllOf(Contains("--set-enabled"), Contains("cuda-rhel9-x86_64")));
  EXPECT_THAT(run.undo.argv, AllOf(Contains("--set-disabled"), Contains("cuda-rhel9-x86_64")));
}

TEST(RepositoryPlanTest, PutsAFileOfThatNameAside) {
  HostFacts facts = HostOf(kRocky9Release);
  facts.repositories = {{"mine", "http://mirror", "/etc/yum.repos.d/cuda-rhel9.repo", true}};
  const Plan plan = PlanOf(facts);
  const Step* aside = FindStep(plan, "repository-file");
  ASSERT_NE(aside, nullptr);
  EXPECT_EQ(std::get<RemoveFile>(aside->action).path, "/etc/yum.repos.d/cuda-rhel9.repo");
  EXPECT_LT(aside, FindStep(plan, "repository"))
      << "else the way back removes what it brought back";
}

TEST(RepositoryPlanTest, ChoosesTheOldStreamAgainOnTheWayBack) {
  HostFacts facts = HostOf(kRocky9Release);
  facts.stream.name = "535-dkms";
  const Plan plan = PlanOf(facts);
  EXPECT_THAT(CommandOf(plan, "stream-reset").undo.argv,
              ElementsAre("/usr/bin/dnf", "-y", "module", "enable", "nvidia-driver:535-dkms"));
  EXPECT_THAT(CommandOf(plan, "stream").undo.argv,
              ElementsAre("/usr/bin/dnf", "-y", "module", "reset", "nvidia-driver"));
  EXPECT_LT(FindStep(plan, "stream-reset"), FindStep(plan, "stream"));
}

TEST(RepositoryPlanTest, LeavesTheStreamThatIsChosen) {
  HostFacts facts = HostOf(kRocky9Release);
  facts.stream.name = "580-open";
  const Plan plan = PlanOf(facts);
  EXPECT_EQ(FindStep(plan, "stream-reset"), nullptr);
  EXPECT_EQ(FindStep(plan, "stream"), nullptr);
}

TEST(RepositoryPlanTest, HidesTheModuleAgainThatWasHidden) {
  HostFacts facts = HostOf(kRocky9Release);
  facts.stream.is_disabled = true;
  EXPECT_THAT(CommandOf(PlanOf(facts), "stream-reset").undo.argv, Contains("disable"));
}

// dnf 4 adds nothing for a pattern that something matches, and deletes whatever matches it.
TEST(VersionLockPlanTest, LeavesAnAdminsOwnLocks) {
  HostFacts facts = HostOf(kRocky10Release);
  facts.locked_versions = {"kernel-6.12.0-55.el10.*", "nvidia-driver-cuda-3:580.95.05-1.el10.*"};
  const Plan plan = PlanOf(facts);
  EXPECT_EQ(FindStep(plan, "branch"), nullptr);
  EXPECT_EQ(FindStep(plan, "lock-tool"), nullptr);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("nvidia-driver-cuda-3:580.95.05-1.el10.*")));
  facts.locked_versions = {"kernel-6.12.0-55.el10.*", "nvidia-driver-cuda-3:570.195.03-1.el10.*"};
  EXPECT_THAT(CommandOf(PlanOf(facts), "branch").undo.argv, Contains("*nvidia*580*"));
}

// Packages that are locked out are not installed again, either.
TEST(OtherDriverPlanTest, LocksTheNewBranchWhenTheOldPackagesAreGone) {
  for (const std::string_view os_release : {kRocky10Release, kFedora42Release}) {
    HostFacts facts = HostOf(os_release);
    facts.packages = {{"nvidia-driver-cuda", {"570.195.03-1", false}}};
    facts.existing = Existing::kPackages;
    facts.existing_version = "570.195.03";
    const Plan plan = PlanOf(facts);
    ASSERT_NE(FindStep(plan, "other-version"), nullptr);
    EXPECT_LT(FindStep(plan, "other-version"), FindStep(plan, "branch"));
  }
}

TEST(OtherDriverPlanTest, TakesOffModulesOfTheOtherForm) {
  HostFacts facts = HostOf(kRocky9Release);
  facts.existing = Existing::kPackages;
  facts.existing_version = "580.95.05";
  facts.packages = {{"kmod-nvidia-580.95.05-5.14.0-570.55.1", {"580.95.05-1", false}},
                    {"nvidia-driver-cuda", {"580.95.05-1", false}}};
  Request request;
  request.version = "580.95.05";
  request.kind = ModuleKind::kProprietary;
  for (const SourceKind source : {SourceKind::kNvidia, SourceKind::kPrecompiled}) {
    request.source = source;
    const auto plan = PlanDriver(facts, request);
    ASSERT_OK(plan);
    EXPECT_EQ(FindStep(*plan, "other-version") != nullptr, source == SourceKind::kNvidia);
    facts.packages = {{"kmod-nvidia-latest-dkms", {"580.95.05-1", false}}};
    const auto other = PlanDriver(facts, request);
    ASSERT_OK(other);
    EXPECT_EQ(FindStep(*other, "other-version") != nullptr, source == SourceKind::kPrecompiled);
    facts.packages = {{"kmod-nvidia-580.95.05-5.14.0-570.55.1", {"580.95.05-1", false}}};
  }
}

TEST(DebianPlanTest, TakesTheArchivesDriverWhereNvidiasRepositoryIsOn) {
  HostFacts facts = HostOf(kDebian12Release);
  Request request;
  request.version = "535";
  const auto alone = PlanDriver(facts, request);
  ASSERT_OK(alone);
  EXPECT_EQ(FindStep(*alone, "branch"), nullptr);
  facts.packages = {{"cuda-keyring", {"1.1-1", false}}};
  const auto plan = PlanDriver(facts, request);
  ASSERT_OK(plan);
  const Step* step = FindStep(*plan, "branch");
  ASSERT_NE(step, nullptr);
  const auto* file = std::get_if<WriteFile>(&step->action);
  ASSERT_NE(file, nullptr);
  EXPECT_THAT(file->text, AllOf(HasSubstr("libcuda1"), HasSubstr("release o=Debian")));
  EXPECT_LT(step, FindStep(*plan, "packages"));
}

TEST(Dnf5PlanTest, BringsTheToolOfVersion5) {
  const Plan plan = PlanOf(HostOf(kFedora42Release));
  EXPECT_THAT(NamesOf(plan, "repository-tool"), ElementsAre("dnf5-plugins"));
  EXPECT_THAT(CommandOf(plan, "repository").command.argv,
              Contains(StartsWith("--from-repofile=https://")));
  EXPECT_EQ(FindStep(plan, "lock-tool"), nullptr);
}

TEST(Dnf5PlanTest, TurnsARepositoryOnByItsOwnGrammar) {
  HostFacts facts = HostOf(kFedora42Release);
  facts.repositories = {{"cuda-fedora42-x86_64", "http://mirror", "", false}};
  const RunCommand run = CommandOf(PlanOf(facts), "repository");
  EXPECT_THAT(run.command.argv, ElementsAre("/usr/bin/dnf", "config-manager", "setopt",
                                            "cuda-fedora42-x86_64.enabled=1"));
  EXPECT_THAT(run.undo.argv, Contains("cuda-fedora42-x86_64.enabled=0"));
}

TEST(Dnf5PlanTest, KeepsLocksThatAreThere) {
  HostFacts facts = HostOf(kFedora42Release);
  facts.version_locks = "version = \"1.0\"\n\n[[packages]]\nname = \"bash\"\n";
  const Plan plan = PlanOf(facts);
  const Step* step = FindStep(plan, "branch");
  ASSERT_NE(step, nullptr);
  const auto* file = std::get_if<WriteFile>(&step->action);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->path, "/etc/dnf/versionlock.toml");
  EXPECT_THAT(file->text, AllOf(StartsWith(facts.version_locks), HasSubstr("value = \"3:580\""),
                                HasSubstr("value = \"3:581\"")));
  facts.version_locks = file->text;
  EXPECT_EQ(FindStep(PlanOf(facts), "branch"), nullptr) << "it is locked already";
}

TEST(SusePlanTest, ReadsOnlyItsOwnRepositoryAgain) {
  const RunCommand run = CommandOf(PlanOf(HostOf(kSles15Release)), "package-lists");
  EXPECT_EQ(run.command.argv.back(), "cuda-sles15-x86_64");
}

TEST(SusePlanTest, KnowsARepositoryUnderAnotherName) {
  HostFacts facts = HostOf(kSles15Release);
  facts.repositories = {{"mine",
                         "https://developer.download.nvidia.com/compute/cuda/repos/sles15/x86_64/",
                         "", true}};
  const Plan plan = PlanOf(facts);
  EXPECT_EQ(FindStep(plan, "repository"), nullptr);
  EXPECT_EQ(CommandOf(plan, "package-lists").command.argv.back(), "mine");
}

TEST(SusePlanTest, TurnsARepositoryOnAndOffAgain) {
  HostFacts facts = HostOf(kSles15Release);
  facts.repositories = {{"cuda-sles15-x86_64", "https://mirror", "", false}};
  const RunCommand run = CommandOf(PlanOf(facts), "repository");
  EXPECT_THAT(run.command.argv, Contains("--enable"));
  EXPECT_THAT(run.undo.argv, Contains("--disable"));
}

TEST(SusePlanTest, UserSpaceFollowsTheModulesAndTheJournalKnowsIt) {
  const Plan plan = PlanOf(HostOf(kSles15Release));
  const Step* step = FindStep(plan, "packages");
  ASSERT_NE(step, nullptr);
  const auto* packages = std::get_if<InstallPackages>(&step->action);
  ASSERT_NE(packages, nullptr);
  EXPECT_EQ(packages->version_of, "nvidia-open-driver-G06-signed-cuda-kmp-default");
  EXPECT_THAT(packages->names, Contains("nvidia-compute-utils-G06"));
}

TEST(LocalRepositoryPlanTest, TakesBackTheKeyAndLeavesARepositoryThatWasHere) {
  HostFacts facts = HostOf("ID=ubuntu\nVERSION_ID=\"24.04\"\nPRETTY_NAME=Ubuntu\n");
  facts.file = DriverFile{.kind = FileKind::kLocalDeb,
                          .path = "/r.deb",
                          .version = "580.95.05",
                          .arch = "x86_64",
                          .package = "local-repo"};
  Request request;
  request.source = SourceKind::kLocalRepo;
  auto plan = PlanDriver(facts, request);
  ASSERT_OK(plan);
  EXPECT_THAT(NamesOf(*plan, "repository"), ElementsAre("/r.deb"));
  EXPECT_THAT(CommandOf(*plan, "repository-key").undo.argv, Not(IsEmpty()));
  facts.packages["local-repo"].version = "1.0-1";
  plan = PlanDriver(facts, request);
  ASSERT_OK(plan);
  EXPECT_EQ(FindStep(*plan, "repository"), nullptr);
  EXPECT_EQ(FindStep(*plan, "repository-key"), nullptr);
}

}  // namespace
}  // namespace kgpu::driver
