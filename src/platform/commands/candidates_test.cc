#include "src/platform/commands/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::commands {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Command Tree() {
  Command devices{
      .name = "devices",
      .description = "List the GPUs",
      .flags = {
          {.name = "--output", .letter = "-o", .value = "table|json", .words = {"table", "json"}},
          {.name = "--watch"},
          {.name = "--host-root", .value = "DIR"}}};
  Command clear{.name = "clear", .arguments = {{.name = "GPU"}}};
  Command health{
      .name = "health", .flags = {{.name = "--gpu", .value = "GPU"}}, .commands = {clear}};
  Command check{.name = "check", .arguments = {{.name = "FILE", .is_many = true}}};
  Command completion{.name = "completion",
                     .arguments = {{.name = "SHELL", .words = {"bash", "zsh"}}}};
  return {.name = "kgpu",
          .flags = {{.name = "--help"}, {.name = "--color", .value = "WHEN"}},
          .commands = {devices, health, check, completion}};
}

std::vector<Candidate> HostsValues(std::string_view kind) {
  return kind == "GPU" ? std::vector<Candidate>{{"0", "A100"}, {"1", "A100"}, {"GPU-11", "A100"}}
                       : std::vector<Candidate>();
}

std::vector<std::string> Offered(std::vector<std::string> words) {
  std::vector<std::string> offered;
  for (const Candidate& one : CandidatesFor(Tree(), TypedLineOf(std::move(words)), &HostsValues)) {
    offered.push_back(one.word);
  }
  return offered;
}

TEST(CandidatesTest, OffersCommandsAndFlagsOfTheCommandTyped) {
  EXPECT_THAT(Offered({""}), ElementsAre("devices", "health", "check", "completion"));
  EXPECT_THAT(Offered({"de"}), ElementsAre("devices"));
  EXPECT_THAT(Offered({"--"}), ElementsAre("--help", "--color"));
  EXPECT_THAT(Offered({"devices", "--o"}), ElementsAre("--output"));
  EXPECT_THAT(Offered({"devices", ""}), ElementsAre("--output", "--watch", "--host-root"));
  EXPECT_THAT(Offered({"nonsense", ""}), IsEmpty());
}

TEST(CandidatesTest, TheValueOfAFlagIsNoCommand) {
  EXPECT_THAT(Offered({"devices", "--output", "json", "--w"}), ElementsAre("--watch"));
  EXPECT_THAT(Offered({"devices", "--output", "=", "json", "--w"}), ElementsAre("--watch"));
  EXPECT_THAT(Offered({"--color", "health", "dev"}), ElementsAre("devices"));
  EXPECT_THAT(Offered({"--help", "health", "cl"}), ElementsAre("clear"));
}

TEST(CandidatesTest, OffersTheValuesOfAFlag) {
  EXPECT_THAT(Offered({"devices", "--output", ""}), ElementsAre("table", "json"));
  EXPECT_THAT(Offered({"devices", "-o", "j"}), ElementsAre("json"));
  EXPECT_THAT(Offered({"devices", "--output", "="}), ElementsAre("table", "json"));
  EXPECT_THAT(Offered({"devices", "--output", "=", "t"}), ElementsAre("table"));
  EXPECT_THAT(Offered({"devices", "--output=j"}), ElementsAre("--output=json"));
  EXPECT_THAT(Offered({"devices", "--output", "table,j"}), ElementsAre("table,json"));
}

TEST(CandidatesTest, OffersTheGpusOfTheHost) {
  EXPECT_THAT(Offered({"health", "--gpu", ""}), ElementsAre("0", "1", "GPU-11"));
  EXPECT_THAT(Offered({"health", "clear", "G"}), ElementsAre("GPU-11"));
  EXPECT_THAT(Offered({"health", "clear", "1", ""}), IsEmpty());
}

TEST(CandidatesTest, LeavesFilesToTheShell) {
  EXPECT_THAT(Offered({"devices", "--host-root", ""}), IsEmpty());
  EXPECT_THAT(Offered({"check", ""}), IsEmpty());
}

TEST(CandidatesTest, OffersTheWordsOfAnArgumentOnce) {
  EXPECT_THAT(Offered({"completion", "b"}), ElementsAre("bash"));
  EXPECT_THAT(Offered({"completion", "bash", ""}), IsEmpty());
}

TEST(CandidatesTest, ALineHasTheWordAndItsDescription) {
  EXPECT_EQ(CandidatesText({{"devices", "List the GPUs"}, {"0", ""}}),
            "devices\tList the GPUs\n0\t\n");
}

}  // namespace
}  // namespace kgpu::commands
