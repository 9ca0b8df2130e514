#include "src/cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cli {
namespace {

using ::testing::HasSubstr;

Verb Tree() {
  return {.name = "kgpu",
          .description = "",
          .flags = {"--help"},
          .verbs = {{.name = "devices",
                     .description = "GPUs",
                     .flags = {"--output"},
                     .verbs = {},
                     .values = {{.flag = "--output", .words = {"table", "json"}}}},
                    {.name = "cdi",
                     .description = "what's injected",
                     .flags = {},
                     .verbs = {{.name = "list", .description = "", .flags = {}, .verbs = {}}}}}};
}

// What bash offers for a line, by the real bash.
std::string OfferedByBash(const std::string& words, int position) {
  const TempDir dir;
  dir.WriteFile("script", CompletionScript(Tree(), "bash").value() + "COMP_WORDS=(" + words +
                              ")\nCOMP_CWORD=" + std::to_string(position) +
                              "\n_kgpu_complete\necho \"${COMPREPLY[*]}\"\n");
  const std::unique_ptr<FILE, int (*)(FILE*)> out(popen(("bash " + dir.At("script")).c_str(), "re"),
                                                  pclose);
  std::string text(200, '\0');
  text.resize(fread(text.data(), 1, text.size(), out.get()));
  return text;
}

TEST(CompletionTest, BashOffersVerbsAndFlagsOfTheVerbTyped) {
  EXPECT_EQ(OfferedByBash("kgpu ''", 1), "devices cdi --help\n");
  EXPECT_EQ(OfferedByBash("kgpu de", 1), "devices\n");
  EXPECT_EQ(OfferedByBash("kgpu cdi ''", 2), "list\n");
  EXPECT_EQ(OfferedByBash("kgpu devices --o", 2), "--output\n");
  EXPECT_EQ(OfferedByBash("kgpu nonsense ''", 2), "\n");
}

TEST(CompletionTest, BashTakesWhatStandsBehindAFlagForNoVerb) {
  EXPECT_EQ(OfferedByBash("kgpu devices --output json --o", 4), "--output\n");
  EXPECT_EQ(OfferedByBash("kgpu devices --output = json --o", 5), "--output\n");
  EXPECT_EQ(OfferedByBash("kgpu --help cdi ''", 3), "list\n");
}

TEST(CompletionTest, BashOffersWhatMayStandBehindAFlag) {
  EXPECT_EQ(OfferedByBash("kgpu devices --output ''", 3), "table json\n");
  EXPECT_EQ(OfferedByBash("kgpu devices --output table,j", 3), "table,json\n");
}

TEST(CompletionTest, FishOffersWhatMayStandBehindAFlag) {
  EXPECT_THAT(CompletionScript(Tree(), "fish").value(), HasSubstr("-l output -x -a 'table json'"));
}

TEST(CompletionTest, FishEscapesQuotesInDescriptions) {
  EXPECT_THAT(CompletionScript(Tree(), "fish").value(), HasSubstr("-a cdi -d 'what\\'s injected'"));
}

TEST(CompletionTest, AnUnknownShellIsRefusedByName) {
  EXPECT_THAT(CompletionScript(Tree(), "tcsh"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"tcsh\" must be bash")));
}

}  // namespace
}  // namespace kgpu::cli
