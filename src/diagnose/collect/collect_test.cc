#include "src/diagnose/collect/collect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/shell.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::collect {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FakeRunner final : public sys::ProgramRunner {
 public:
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    const std::string& program = request.argv.front();
    if (program == "/bin/hangs") {
      return DeadlineExceeded("ended after 30 s");
    }
    sys::RunResult result;
    result.exit.code = program == "/bin/fails" ? 3 : 0;
    result.err = program == "/bin/fails" ? "no driver\n" : "";
    for (const std::string& word : request.argv) {
      result.out += word + "\n";
    }
    result.out += program == "/bin/long" ? std::string(kMostOfOne, 'x') : "";
    return result;
  }
};

class CollectTest : public ::testing::Test {
 protected:
  Bundle Run(const Sources& sources) {
    const auto root = sys::Root::Open(dir_.path());
    return Collect(sources, {.host = *root,
                             .runner = runner_,
                             .program = "/usr/bin/kgpu",
                             .flags = {"--host-root", "/host"}});
  }
  static std::string TextOf(const Bundle& bundle, const std::string& path) {
    for (const compress::TarFile& file : bundle.files) {
      if (file.path == path) {
        return file.text;
      }
    }
    return "none";
  }

  TempDir dir_;
  FakeRunner runner_;
};

TEST_F(CollectTest, OneThatFailsCostsOne) {
  dir_.WriteFile("etc/kgpu/config.yaml", "pools: []\n");
  dir_.WriteFile("etc/kgpu/tokens", "a-bare-token\n");
  dir_.WriteFile("etc/kgpu/http", "token: abc\n");
  dir_.MakeDir("etc/kgpu/folder");
  const Bundle bundle = Run({.commands = {{"a.json", {"kgpu", "status"}},
                                          {"b.txt", {"/bin/hangs"}},
                                          {"c.txt", {"/bin/fails"}}},
                             .files = {"etc/os-release"},
                             .folders = {"etc/kgpu", "etc/none"}});
  EXPECT_EQ(TextOf(bundle, "commands/a.json"), "/usr/bin/kgpu\nstatus\n--host-root\n/host\n");
  EXPECT_EQ(TextOf(bundle, "commands/c.txt.stderr"), "exit code 3\nno driver\n");
  EXPECT_EQ(TextOf(bundle, "files/etc/kgpu/config.yaml"), "pools: []\n");
  EXPECT_EQ(TextOf(bundle, "files/etc/kgpu/http"), "token: \"<removed>\"\n");
  EXPECT_EQ(TextOf(bundle, "files/etc/kgpu/tokens"), "none");
  EXPECT_THAT(bundle.problems, ElementsAre("b.txt: ended after 30 s"))
      << "files that are missing are no problem";
  EXPECT_EQ(bundle.removed.size(), 2U);
}

TEST_F(CollectTest, TheEndOfALongOutputCounts) {
  const Bundle bundle = Run({.commands = {{"a", {"/bin/long"}}}});
  EXPECT_EQ(TextOf(bundle, "commands/a").size(), kMostOfOne);
}

TEST_F(CollectTest, TheArchiveIsBounded) {
  Sources sources;
  for (int i = 0; i < 40; ++i) {
    sources.commands.push_back({fmt::format("{}", i), {"/bin/long"}});
  }
  const Bundle bundle = Run(sources);
  EXPECT_EQ(bundle.files.size(), 32U);
  EXPECT_THAT(bundle.problems, Contains(HasSubstr("left out: the archive has 32 MiB")));
}

TEST_F(CollectTest, OtherProgramsReadTheArchive) {
  dir_.WriteFile("etc/os-release", "ID=debian\n");
  const Bundle bundle = Run({.files = {"etc/os-release"}});
  const auto archive = PackBundle(bundle, "n1", WallTime());
  ASSERT_OK(archive);
  dir_.WriteFile("a.tar.gz", *archive);
  ASSERT_EQ(Shell("cd " + dir_.path() + " && tar -xzf a.tar.gz").code, 0);
  EXPECT_EQ(dir_.ReadFile("kgpu-collect/files/etc/os-release"), "ID=debian\n");
  EXPECT_THAT(dir_.ReadFile("kgpu-collect/README.txt"), HasSubstr("Collected on n1"));
  EXPECT_EQ(dir_.ReadFile("kgpu-collect/removed.txt"), "Nothing was removed.\n");
  EXPECT_EQ(dir_.ReadFile("kgpu-collect/problems.txt"), "None.\n");
}

}  // namespace
}  // namespace kgpu::collect
