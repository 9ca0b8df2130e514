#include "src/cli/program/completion_install.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

using ::testing::HasSubstr;

std::string PathOf(std::string_view shell, const std::vector<std::string>& environment,
                   bool is_root = false) {
  return CompletionFileOf(shell, environment, is_root).value().path;
}

TEST(CompletionInstallTest, AUserGetsAFileBelowHome) {
  const std::vector<std::string> environment = {"HOME=/home/u"};
  EXPECT_EQ(PathOf("bash", environment), "/home/u/.local/share/bash-completion/completions/kgpu");
  EXPECT_EQ(PathOf("zsh", environment), "/home/u/.local/share/zsh/site-functions/_kgpu");
  EXPECT_EQ(PathOf("fish", environment), "/home/u/.config/fish/completions/kgpu.fish");
}

TEST(CompletionInstallTest, XdgFoldersWin) {
  EXPECT_EQ(PathOf("bash", {"HOME=/home/u", "XDG_DATA_HOME=/d"}),
            "/d/bash-completion/completions/kgpu");
  EXPECT_EQ(PathOf("fish", {"HOME=/home/u", "XDG_CONFIG_HOME=/c"}),
            "/c/fish/completions/kgpu.fish");
  EXPECT_EQ(PathOf("fish", {"HOME=/home/u", "XDG_CONFIG_HOME=relative"}),
            "/home/u/.config/fish/completions/kgpu.fish");
}

TEST(CompletionInstallTest, RootInstallsForAllUsers) {
  EXPECT_EQ(PathOf("bash", {}, true), "/usr/local/share/bash-completion/completions/kgpu");
  EXPECT_EQ(PathOf("zsh", {}, true), "/usr/local/share/zsh/site-functions/_kgpu");
}

TEST(CompletionInstallTest, WithoutHomeTheFolderMustBeNamed) {
  EXPECT_THAT(CompletionFileOf("bash", {}, false),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--dir")));
}

TEST(CompletionInstallTest, TheShellIsThatOfTheUser) {
  EXPECT_EQ(ShellOf({"SHELL=/usr/bin/zsh"}).value(), "zsh");
  EXPECT_THAT(ShellOf({"SHELL=/bin/tcsh"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("name bash, zsh or fish")));
  EXPECT_THAT(ShellOf({}), StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kgpu::cli
