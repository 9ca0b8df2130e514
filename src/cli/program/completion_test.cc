#include "src/cli/program/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cli {
namespace {

using ::testing::HasSubstr;

// What bash offers for a line, by the real bash, where kgpu offers `answer`. A last line has the
// words that kgpu was asked for.
std::string OfferedByBash(const std::string& words, int position, const std::string& answer) {
  const TempDir dir;
  dir.WriteFile("script", CompletionScript("bash").value() + "kgpu() { printf '%s|' \"$@\" >" +
                              dir.At("asked") + "; printf '" + answer + "'; }\nCOMP_WORDS=(" +
                              words + ")\nCOMP_CWORD=" + std::to_string(position) +
                              "\n_kgpu_complete\necho \"${COMPREPLY[*]}\"\ncat " + dir.At("asked"));
  const std::unique_ptr<FILE, int (*)(FILE*)> out(popen(("bash " + dir.At("script")).c_str(), "re"),
                                                  pclose);
  std::string text(200, '\0');
  text.resize(fread(text.data(), 1, text.size(), out.get()));
  return text;
}

TEST(CompletionTest, BashAsksKgpuForTheWordsUpToTheCursor) {
  EXPECT_EQ(OfferedByBash("kgpu devices --output = '' more", 4, ""),
            "\n__complete|devices|--output|=||");
}

TEST(CompletionTest, BashOffersTheWordsWithoutTheirDescriptions) {
  EXPECT_EQ(OfferedByBash("kgpu de", 1, "devices\\tList the GPUs\\ndev two\\t\\n"),
            "devices dev two\n__complete|de|");
}

TEST(CompletionTest, EveryShellHasAScriptThatAsksKgpu) {
  for (const std::string_view shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(CompletionScript(shell).value(), HasSubstr("__complete")) << shell;
  }
}

TEST(CompletionTest, AnUnknownShellIsRefusedByName) {
  EXPECT_THAT(CompletionScript("tcsh"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"tcsh\" must be bash")));
}

}  // namespace
}  // namespace kgpu::cli
