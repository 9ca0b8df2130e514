#include "src/container/shim/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/platform/base/strings.h"

namespace kgpu::shim {
namespace {

// The words of `text` must outlive the result.
CommandLine Scan(const std::string& text) {
  return ScanCommandLine(Words(text));
}

TEST(ShimCommandLineTest, EverySpellingOfTheBundleIsFound) {
  for (const std::string text :
       {"create --bundle /b id", "create --bundle=/b id", "create -b /b id", "create -b=/b id",
        "create -bundle /b id", "create -bundle=/b id", "create --b /b id", "create -b/b id",
        "create --bun=/b id", "create -f config.json -b /b id", "create id -b /b",
        "create --pid-file create --bundle /b id", "create --console-socket -x -b /b id",
        "create -b /a -b /b id", "run -d -b /b id", "run -db /b id", "run -db/b id",
        "run --detach --keep --no-pivot --preserve-fds 3 --bundle /b -- id"}) {
    const CommandLine line = Scan(text);
    EXPECT_TRUE(line.starts_container) << text;
    EXPECT_EQ(line.bundle, "/b") << text;
    EXPECT_EQ(line.container, "id") << text;
    EXPECT_EQ(line.spec_file, "config.json") << text;
  }
}

TEST(ShimCommandLineTest, WithoutABundleTheWorkingFolderIsIt) {
  const CommandLine line = Scan("run id");
  EXPECT_TRUE(line.starts_container);
  EXPECT_EQ(line.bundle, ".");
}

TEST(ShimCommandLineTest, CrunsOwnNameOfTheSpecIsTaken) {
  for (const std::string text : {"create -f other.json id", "create --config other.json id",
                                 "create --config=other.json id", "create -fother.json id"}) {
    EXPECT_EQ(Scan(text).spec_file, "other.json") << text;
  }
}

TEST(ShimCommandLineTest, GlobalFlagsWithTheirValuesStandBeforeTheVerb) {
  for (const std::string text :
       {"--root create --log /l --log-format json create -b /b id",
        "--debug --root=/run/create --log=/l --log-format=json --systemd-cgroup create -b /b id",
        "-root run -log /l -log-format json create -b /b id",
        "--cgroup-manager systemd --log-level debug --rootless true --log /l --log-format json "
        "create -b /b id",
        "--unknown --log /l --log-format json create -b /b id",
        "--unknown value --log /l --log-format json create -b /b id"}) {
    const CommandLine line = Scan(text);
    EXPECT_TRUE(line.starts_container) << text;
    EXPECT_EQ(line.bundle, "/b") << text;
    EXPECT_EQ(line.log, "/l") << text;
    EXPECT_TRUE(line.is_log_json) << text;
    EXPECT_EQ(line.own, 0U) << text;
  }
}

TEST(ShimCommandLineTest, NoOtherVerbIsLookedInto) {
  for (const std::string text : {"",
                                 "--version",
                                 "-v",
                                 "--help",
                                 "help create",
                                 "state create",
                                 "delete --force create",
                                 "kill create 9",
                                 "exec -d id create",
                                 "start create",
                                 "restore --bundle /b create",
                                 "checkpoint create",
                                 "events create",
                                 "features",
                                 "init",
                                 "list",
                                 "pause run",
                                 "ps create",
                                 "resume run",
                                 "spec --bundle /b",
                                 "update --resources create run",
                                 "mounts",
                                 "other create id",
                                 "--root create",
                                 "--log create state id",
                                 "-- list create"}) {
    EXPECT_FALSE(Scan(text).starts_container) << text;
  }
}

TEST(ShimCommandLineTest, CallsThatTheRuntimeAnswersByItselfAreLeftToIt) {
  for (const std::string text : {"create", "create -b /b", "create --help", "run -h id",
                                 "--help create id", "--version create id", "create -b"}) {
    EXPECT_FALSE(Scan(text).starts_container) << text;
  }
}

TEST(ShimCommandLineTest, OurOwnRootStandsFirstOrIsNotOurs) {
  for (const std::string text :
       {"--kgpu-root=/sim --root /r create id", "--kgpu-root /sim create id"}) {
    const CommandLine line = Scan(text);
    EXPECT_EQ(line.root, "/sim") << text;
    EXPECT_EQ(line.own, text.find('=') < text.find("create") ? 1U : 2U) << text;
    EXPECT_TRUE(line.starts_container) << text;
  }
  EXPECT_EQ(Scan("--root /r --kgpu-root=/sim create id").root, "/");
  EXPECT_EQ(Scan("--kgpu-rootless create id").own, 0U);
}

}  // namespace
}  // namespace kgpu::shim
