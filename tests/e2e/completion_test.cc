// The completion scripts in the shells that they are for: sourced, and asked as a person does.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/strings.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/e2e/terminal.h"

namespace kgpu::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class CompletionTest : public ::testing::Test {
 protected:
  // A shell with this build's kgpu in its PATH, and nobody's settings.
  std::vector<std::string> Shell(std::vector<std::string> words) const {
    const std::string programs = std::filesystem::path(ProgramPath("kgpu")).parent_path();
    words.insert(words.begin(), {"/usr/bin/env", "-i", "TERM=dumb", "HOME=" + dir_.path(),
                                 fmt::format("PATH={}:/usr/bin:/bin", programs)});
    return words;
  }
  // Empty, or why tests of the shell are skipped.
  static std::string WhyWithout(const std::string& shell) {
    return std::filesystem::exists("/usr/bin/" + shell) ? "" : shell + " is not installed here";
  }
  // The path of a script, written as people do.
  std::string Installed(const std::string& shell) const {
    const Result done = RunProgram({"kgpu", "completion", "install", shell, "--dir", dir_.path()});
    EXPECT_EQ(done.code, 0) << done.err;
    return dir_.At(shell == "bash" ? "kgpu" : shell == "zsh" ? "_kgpu" : "kgpu.fish");
  }

  TempDir dir_;
};

// What fish offers for a line, a word each.
class FishTest : public CompletionTest {
 protected:
  std::vector<std::string> Offered(const std::string& line) const {
    const Result result =
        RunProgram(Shell({"fish", "--no-config", "-c",
                          fmt::format("source {}; complete -C '{}'", Installed("fish"), line)}));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    std::vector<std::string> words;
    for (const std::string_view offered : Split(result.out, '\n')) {
      if (!offered.empty()) {
        words.emplace_back(offered.substr(0, offered.find('\t')));
      }
    }
    return words;
  }
};

TEST_F(FishTest, OffersCommandsFlagsAndValues) {
  if (const std::string why = WhyWithout("fish"); !why.empty()) {
    GTEST_SKIP() << why;
  }
  EXPECT_THAT(Offered("kgpu do"), ElementsAre("doctor"));
  EXPECT_THAT(Offered("kgpu devices --output "), UnorderedElementsAre("table", "json", "yaml"));
  EXPECT_THAT(Offered("kgpu devices --output=j"), ElementsAre("--output=json"));
  EXPECT_THAT(Offered("kgpu sim creat"), ElementsAre("create"));
}

TEST_F(FishTest, OffersFilesWhereKgpuOffersNothing) {
  if (const std::string why = WhyWithout("fish"); !why.empty()) {
    GTEST_SKIP() << why;
  }
  dir_.WriteFile("image.tar", "");
  EXPECT_THAT(Offered("kgpu doctor image " + dir_.At("ima")), ElementsAre(dir_.At("image.tar")));
}

// zsh completes only at a terminal: each line is typed, a tab behind it, then a key whose widget
// prints the line as zsh has it.
class ZshTest : public CompletionTest {
 protected:
  // `load` makes the completion known.
  void Start(const std::string& load) {
    zsh_ = std::make_unique<AtTerminal>(Shell({"zsh", "-f", "-i"}));
    if (!zsh_->has_terminal()) {
      return;
    }
    zsh_->Type(
        fmt::format("PS1=; {}; show() {{ print -r -- \"[$BUFFER]\" }}; zle -N show; "
                    "bindkey '^X' show; print 'it is re'ady\n",
                    load));
    EXPECT_TRUE(zsh_->WaitFor("it is ready")) << zsh_->shown();
  }
  // Whether `typed` becomes `line`. ^U deletes what was typed before.
  bool Completes(const std::string& typed, const std::string& line) {
    zsh_->Type(fmt::format("\x15{}\t\x18", typed));
    return zsh_->WaitFor(fmt::format("[{}]", line), std::chrono::seconds(20));
  }

  std::unique_ptr<AtTerminal> zsh_;
};

TEST_F(ZshTest, TheScriptHasNoErrors) {
  if (const std::string why = WhyWithout("zsh"); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const std::string script = Installed("zsh");
  for (const std::string& line :
       {"zsh -n " + script, "autoload -Uz compinit; compinit -u -D; source " + script}) {
    const Result result = RunProgram(Shell({"zsh", "-f", "-c", line}));
    EXPECT_EQ(result.code, 0) << line;
    EXPECT_EQ(result.out + result.err, "") << line;
  }
}

TEST_F(ZshTest, OffersCommandsAndValuesFromAFileThatIsSourced) {
  if (const std::string why = WhyWithout("zsh"); !why.empty()) {
    GTEST_SKIP() << why;
  }
  Start("autoload -Uz compinit; compinit -u -D; source " + Installed("zsh"));
  if (!zsh_->has_terminal()) {
    GTEST_SKIP() << "no terminals here";
  }
  EXPECT_TRUE(Completes("kgpu do", "kgpu doctor ")) << zsh_->shown();
  for (const std::string value : {"table", "json", "yaml"}) {
    EXPECT_TRUE(Completes("kgpu devices --output " + value.substr(0, 1),
                          fmt::format("kgpu devices --output {} ", value)))
        << zsh_->shown();
  }
  EXPECT_TRUE(Completes("kgpu sim creat", "kgpu sim create ")) << zsh_->shown();
  EXPECT_THAT(zsh_->shown(), Not(HasSubstr("error")));
}

TEST_F(ZshTest, OffersThemFromAFolderOfFunctions) {
  if (const std::string why = WhyWithout("zsh"); !why.empty()) {
    GTEST_SKIP() << why;
  }
  Installed("zsh");
  Start(fmt::format("fpath=({} $fpath); autoload -Uz compinit; compinit -u -D", dir_.path()));
  if (!zsh_->has_terminal()) {
    GTEST_SKIP() << "no terminals here";
  }
  EXPECT_TRUE(Completes("kgpu do", "kgpu doctor ")) << zsh_->shown();
  EXPECT_TRUE(Completes("kgpu devices --output j", "kgpu devices --output json ")) << zsh_->shown();
}

}  // namespace
}  // namespace kgpu::e2e
