#include "src/setup/driver/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::driver {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint16_t kV100 = 0x1db6;
constexpr uint16_t kA100 = 0x20b5;
constexpr uint16_t kB200Id = 0x2901;

Request Asking(std::string version, bool is_branch) {
  Request request;
  request.version = std::move(version);
  request.is_branch = is_branch;
  return request;
}

HostFacts Host(std::string_view os_release, const std::vector<uint16_t>& gpus) {
  HostFacts facts;
  facts.distribution = host::ParseDistribution(os_release);
  facts.arch = "x86_64";
  facts.kernel.release = "6.8.0-85-generic";
  facts.kernel.flavour = "generic";
  facts.kernel.is_running = true;
  for (const uint16_t id : gpus) {
    facts.gpus.push_back({id, GenerationOf(id)});
  }
  return facts;
}

HostFacts Debian12(const std::vector<uint16_t>& gpus) {
  return Host("ID=debian\nVERSION_ID=12\nPRETTY_NAME=Debian\n", gpus);
}
HostFacts Ubuntu24(const std::vector<uint16_t>& gpus) {
  return Host("ID=ubuntu\nVERSION_ID=24.04\nPRETTY_NAME=Ubuntu\n", gpus);
}

TEST(ChoiceTest, TakesTheDistributionsPackagesWhereTheyDo) {
  const auto choice = Choose(Debian12({kA100}), {});
  ASSERT_OK(choice);
  EXPECT_EQ(choice->version, "535");
  EXPECT_EQ(choice->source, SourceKind::kDistribution);
  EXPECT_EQ(choice->kind, ModuleKind::kProprietary);
}

TEST(ChoiceTest, GoesToNvidiaWhereTheDistributionsDriverIsTooOldForTheGpu) {
  const auto choice = Choose(Debian12({kB200Id}), {});
  ASSERT_OK(choice);
  EXPECT_EQ(choice->version, "580");
  EXPECT_EQ(choice->source, SourceKind::kNvidia);
  EXPECT_EQ(choice->kind, ModuleKind::kOpen);
}

TEST(ChoiceTest, GoesToNvidiaWhereTheDistributionsDriverIsTooOldForCuda) {
  Request request;
  request.cuda = "12.4";
  const auto choice = Choose(Debian12({kA100}), request);
  ASSERT_OK(choice);
  EXPECT_EQ(choice->source, SourceKind::kNvidia);
  EXPECT_THAT(choice->why, Contains("CUDA 12.4 needs driver 550.54.14 or newer"));
}

TEST(ChoiceTest, GoesToNvidiaWhereTheDistributionLacksWhatSwitchesNeed) {
  const HostFacts boards = Ubuntu24({kB200Id, kB200Id});
  const auto choice = Choose(boards, {});
  ASSERT_OK(choice);
  EXPECT_EQ(choice->source, SourceKind::kNvidia);
  EXPECT_THAT(choice->why, Contains(HasSubstr("nvlsm")));
  Request request;
  request.source = SourceKind::kDistribution;
  EXPECT_THAT(Choose(boards, request),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("nvlsm")));
  HostFacts switched = Debian12({kA100});
  switched.nvswitches = 6;
  const auto of_debian = Choose(switched, {});
  ASSERT_OK(of_debian);
  EXPECT_EQ(of_debian->source, SourceKind::kNvidia);
}

TEST(ChoiceTest, GoesToNvidiaForBranchesThatUbuntuOnlyHasNamesOf) {
  Request request;
  request.version = "535";
  const auto choice = Choose(Ubuntu24({kA100}), request);
  ASSERT_OK(choice);
  EXPECT_EQ(choice->source, SourceKind::kNvidia);
}

TEST(ChoiceTest, SendsSuseToNvidiaWhoseModulesSuseSigns) {
  const auto choice = Choose(Host("ID=sles\nVERSION_ID=15.6\nPRETTY_NAME=SLES\n", {kA100}), {});
  ASSERT_OK(choice);
  EXPECT_EQ(choice->source, SourceKind::kNvidia);
  EXPECT_EQ(choice->version, "580");
  EXPECT_TRUE(choice->is_signed);
  const auto newer = Choose(Host("ID=sles\nVERSION_ID=16.0\nPRETTY_NAME=SLES\n", {kA100}), {});
  ASSERT_OK(newer);
  EXPECT_EQ(newer->version, "595");
  EXPECT_THAT(Choose(Host("ID=sles\nVERSION_ID=16.0\nPRETTY_NAME=SLES\n", {kV100}), {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--source NVIDIA-Linux-")));
}

TEST(ChoiceTest, TakesABranchWithFixesBeforeAnEndedOne) {
  Request request;
  request.cuda = "13.3";
  const auto choice = Choose(Ubuntu24({kA100}), request);
  ASSERT_OK(choice);
  EXPECT_EQ(choice->version, "615");
}

TEST(ChoiceTest, KnowsTheLeastVersionForHgxBoardsOfBlackwell) {
  Request request;
  request.version = "570.124.06";
  EXPECT_THAT(Choose(Ubuntu24({kB200Id}), request),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("570.133.20")));
  request.version = "570.133.20";
  EXPECT_OK(Choose(Ubuntu24({kB200Id}), request));
}

TEST(ChoiceTest, HasAWholeVersionOfPrecompiledModulesOnRhel) {
  const HostFacts facts = Host("ID=rhel\nVERSION_ID=9.6\nPRETTY_NAME=RHEL\n", {kA100});
  Request request;
  request.source = SourceKind::kPrecompiled;
  request.version = "580.95.05";
  const auto choice = Choose(facts, request);
  ASSERT_OK(choice);
  EXPECT_EQ(choice->kind, ModuleKind::kProprietary);
  EXPECT_EQ(choice->version, "580.95.05");
  EXPECT_THAT(Choose(Host("ID=rhel\nVERSION_ID=9.6\nPRETTY_NAME=RHEL\n", {kB200Id}), request),
              StatusIs(StatusCode::kFailedPrecondition));
}

TEST(ChoiceTest, PrefersLongSupportToTheNewest) {
  const auto choice = Choose(Ubuntu24({kA100}), {});
  ASSERT_OK(choice);
  EXPECT_EQ(choice->version, "580");
  EXPECT_TRUE(choice->is_signed);
}

TEST(ChoiceTest, LeavesLongSupportWhereCudaNeedsMore) {
  Request request;
  request.cuda = "13.2";
  const auto choice = Choose(Ubuntu24({kA100}), request);
  ASSERT_OK(choice);
  EXPECT_EQ(choice->version, "595");
}

TEST(ChoiceTest, TakesProprietaryModulesForVolta) {
  const auto choice = Choose(Ubuntu24({kV100}), {});
  ASSERT_OK(choice);
  EXPECT_EQ(choice->kind, ModuleKind::kProprietary);
  Request open;
  open.kind = ModuleKind::kOpen;
  EXPECT_THAT(Choose(Ubuntu24({kV100}), open),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("use proprietary")));
}

TEST(ChoiceTest, RefusesProprietaryModulesForBlackwell) {
  Request request;
  request.kind = ModuleKind::kProprietary;
  EXPECT_THAT(Choose(Ubuntu24({kB200Id}), request),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("use open")));
}

TEST(ChoiceTest, RefusesGpusThatNoModulesDriveTogether) {
  EXPECT_THAT(Choose(Ubuntu24({kV100, kB200Id}), {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("volta and blackwell")));
}

TEST(ChoiceTest, RefusesCudaWhoseDriverHasLeftTheGpuBehind) {
  Request request;
  request.cuda = "13.1";
  EXPECT_THAT(Choose(Ubuntu24({kV100}), request),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("branch 580 is the last that supports these GPUs (volta)")));
}

TEST(ChoiceTest, NotesThatCudaMakesNoProgramsForTheGpu) {
  Request request;
  request.cuda = "13.0";
  const auto choice = Choose(Ubuntu24({kV100}), request);
  ASSERT_OK(choice);
  EXPECT_THAT(choice->notes, Contains(HasSubstr("builds programs for volta")));
}

TEST(ChoiceTest, RefusesAHostWithoutGpus) {
  EXPECT_THAT(Choose(Ubuntu24({}), {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--gpu ampere")));
  Request request;
  request.generation = Generation::kAmpere;
  EXPECT_OK(Choose(Ubuntu24({}), request));
}

TEST(ChoiceTest, TakesAWholeVersionOfNvidiasRepositoryOnly) {
  Request request;
  request.version = "580.95.05";
  const auto choice = Choose(Ubuntu24({kA100}), request);
  ASSERT_OK(choice);
  EXPECT_EQ(choice->source, SourceKind::kNvidia);
  EXPECT_EQ(choice->version, "580.95.05");
  request.source = SourceKind::kDistribution;
  EXPECT_THAT(Choose(Ubuntu24({kA100}), request),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--branch 580")));
}

TEST(ChoiceTest, RefusesAVersionOlderThanTheCudaAskedFor) {
  Request request;
  request.version = "535";
  request.cuda = "12.4";
  EXPECT_THAT(Choose(Ubuntu24({kA100}), request), StatusIs(StatusCode::kInvalidArgument));
}

TEST(ChoiceTest, TellsWhatThereIsWhereNothingFits) {
  Request request;
  request.version = "460";
  EXPECT_THAT(Choose(Debian12({kA100}), request),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("535 (both kinds)")));
  EXPECT_THAT(Choose(Host("ID=alpine\nPRETTY_NAME=Alpine\n", {kA100}), {}),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("Alpine: no driver packages are known for it: use NVIDIA's")));
}

TEST(ChoiceTest, NamesTheLastDriverOfOldGpus) {
  Request request;
  request.generation = Generation::kFermi;
  EXPECT_THAT(Choose(Debian12({}), request),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("no package has a driver for these GPUs (fermi); the last "
                                       "one is 390."),
                             HasSubstr("kgpu driver plan --source NVIDIA-Linux-x86_64-390."),
                             Not(HasSubstr("meets the request")))));
}

TEST(ChoiceTest, TellsWhichLimitKeepsABranchFromFitting) {
  Request request;
  request.generation = Generation::kFermi;
  request.source = SourceKind::kDistribution;
  EXPECT_THAT(Choose(Debian12({}), request),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("(GPUs: fermi, up to branch 390); available: distribution: ")));
  request = Asking("999", true);
  request.kind = ModuleKind::kOpen;
  EXPECT_THAT(Choose(Debian12({kA100}), request),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("; branch 999; open modules)")));
}

TEST(VersionTest, IsFoundByItsBranchWhereTheDistributionHasThat) {
  for (const auto source :
       {std::optional<SourceKind>(), std::optional(SourceKind::kDistribution)}) {
    Request request = Asking("535.309.01", false);
    request.source = source;
    const auto choice = Choose(Debian12({kA100}), request);
    ASSERT_OK(choice);
    EXPECT_EQ(choice->version, "535.309.01");
    EXPECT_EQ(choice->source, SourceKind::kDistribution);
  }
  const auto of_nvidia = Choose(Debian12({kA100}), Asking("580.95.05", false));
  ASSERT_OK(of_nvidia);
  EXPECT_EQ(of_nvidia->source, SourceKind::kNvidia);
}

TEST(VersionTest, IsRefusedByTheFlagThatNamedIt) {
  const auto refused = [](const std::string& version, bool is_branch, std::string_view why) {
    EXPECT_THAT(ParseVersion(Asking(version, is_branch)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(std::string(why))));
  };
  refused("abc", true, "--branch: \"abc\" must be a branch: a number, e.g. 580");
  refused("-5", true, "--branch: \"-5\"");
  refused("580.95.05", true, "use --version for a full version");
  refused("abc", false, "--version: \"abc\" must be a driver version, e.g. 580.95.05");
  refused("580.", false, "--version: \"580.\"");
  refused("580.95.05.07", false, "--version: ");
  EXPECT_OK(ParseVersion(Asking("580", true)));
  EXPECT_OK(ParseVersion(Asking("580.95.05", false)));
}

TEST(VersionTest, ABranchThatIsTooOldIsReportedAsOne) {
  Request request = Asking("470", true);
  request.cuda = "12.4";
  EXPECT_THAT(Choose(Ubuntu24({kA100}), request),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--branch: 470 is older than")));
}

TEST(ChoiceTest, RefusesAFileForAnotherArchitecture) {
  HostFacts facts = Ubuntu24({kA100});
  facts.file =
      DriverFile{.path = "/x.run", .version = "580.95.05", .arch = "aarch64", .package = ""};
  Request request;
  request.source = SourceKind::kRunFile;
  EXPECT_THAT(Choose(facts, request),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is for aarch64")));
}

TEST(SourceTest, IsAWordOrAFile) {
  EXPECT_THAT(ParseSource("nvidia"), IsOkAndHolds(std::optional(SourceKind::kNvidia)));
  EXPECT_THAT(ParseSource("auto"), IsOkAndHolds(std::nullopt));
  EXPECT_THAT(ParseSource("/a/b.run"), IsOkAndHolds(std::optional(SourceKind::kRunFile)));
  EXPECT_THAT(ParseSource("b.deb"), IsOkAndHolds(std::optional(SourceKind::kLocalRepo)));
  EXPECT_THAT(ParseSource("internet"), StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kgpu::driver
