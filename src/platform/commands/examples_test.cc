#include "src/platform/commands/examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::commands {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kFooter =
    "Exits 0 when every GPU is healthy.\n\n"
    "  kgpu devices\n"
    "  kgpu devices --watch      print every change";

TEST(ExamplesTest, AnExampleIsAnIndentedLineWithItsExplanation) {
  const std::vector<Example> examples = ExamplesOf(kFooter);
  ASSERT_EQ(examples.size(), 2U);
  EXPECT_EQ(examples[0].line, "kgpu devices");
  EXPECT_EQ(examples[0].explanation, "");
  EXPECT_EQ(examples[1].line, "kgpu devices --watch");
  EXPECT_EQ(examples[1].explanation, "print every change");
}

TEST(ExamplesTest, ProseIsTheRestOfTheFooter) {
  EXPECT_EQ(ProseOf(kFooter), "Exits 0 when every GPU is healthy.");
  EXPECT_EQ(ProseOf("  kgpu devices"), "");
}

TEST(ExamplesTest, ACallEndsAtAPipeAndARedirection) {
  EXPECT_THAT(CallsIn("kgpu devices --output json | jq '.gpus[] | .uuid'", "kgpu"),
              ElementsAre(ElementsAre("devices", "--output", "json")));
  EXPECT_THAT(CallsIn("kgpu explain dump a/b > dump.json", "kgpu"),
              ElementsAre(ElementsAre("explain", "dump", "a/b")));
}

TEST(ExamplesTest, ACallMayStandBehindAPipeOrInBrackets) {
  EXPECT_THAT(CallsIn("kubectl get pods -o json | kgpu explain pod a/b --from -", "kgpu"),
              ElementsAre(ElementsAre("explain", "pod", "a/b", "--from", "-")));
  EXPECT_THAT(CallsIn("source <(kgpu completion bash)", "kgpu"),
              ElementsAre(ElementsAre("completion", "bash")));
}

TEST(ExamplesTest, QuotesKeepAWordTogether) {
  EXPECT_THAT(CallsIn("kgpu require 'cuda>=12.4 brand=tesla' --arch \"8.0\"", "kgpu"),
              ElementsAre(ElementsAre("require", "cuda>=12.4 brand=tesla", "--arch", "8.0")));
}

TEST(ExamplesTest, OtherProgramsAreLeftOut) {
  EXPECT_THAT(CallsIn("podman run --device kgpu.dev/gpu=0 IMAGE", "kgpu"), IsEmpty());
}

}  // namespace
}  // namespace kgpu::commands
