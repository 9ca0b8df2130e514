// kgpu node up and down on simulated hosts: their folders have no systemd, so the agent is skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "testing/temp_dir.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class NodeUpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeDevices()) {
      GTEST_SKIP() << "character devices can not be made here";
    }
  }
  static Result Node(const SimHost& host, std::vector<std::string> words) {
    words.insert(words.begin(), {"kgpu", "node"});
    words.insert(words.end(), {"--host-root", host.path()});
    return RunProgram(std::move(words));
  }
};

TEST_F(NodeUpTest, GoesFromTheHostToTheProofAndBack) {
  const SimHost host("4xT4");
  host.dir().WriteFile("host/usr/bin/dockerd", "");
  const Result up = Node(host, {"up", "--yes", "--skip", "driver,agent"});
  EXPECT_EQ(up.code, 0) << up.out << up.err;
  EXPECT_THAT(up.out, AllOf(ContainsRegex("host +ready"), ContainsRegex("driver +skipped"),
                            ContainsRegex("engine +done"), ContainsRegex("validate +done")));
  EXPECT_THAT(up.err, HasSubstr("Test PASSED"));
  EXPECT_THAT(host.dir().ReadFile("host/etc/docker/daemon.json"), HasSubstr("kgpu-runtime"));

  const Result down = Node(host, {"down", "--yes"});
  EXPECT_EQ(down.code, 0) << down.out << down.err;
  EXPECT_THAT(down.out, ContainsRegex("engine +done"));
  EXPECT_FALSE(std::filesystem::exists(host.dir().At("host/etc/docker/daemon.json")));
  EXPECT_THAT(Node(host, {"down", "--yes"}).out, HasSubstr("nothing to do"));
}

TEST_F(NodeUpTest, WhatOnlyPeopleMendStopsIt) {
  SimHost host("4xT4");
  const Result up = Node(host, {"up", "--yes"});
  EXPECT_EQ(up.code, 1);
  EXPECT_THAT(up.out, AllOf(HasSubstr("engine-missing"), ContainsRegex("driver +not reached")));
}

// Nothing of a driver is there either, which the doctor alone would not mind.
TEST_F(NodeUpTest, AHostWithoutGpusStopsItUnlessTheyComeLater) {
  const SimHost host("4xT4");
  host.dir().WriteFile("bare/usr/bin/dockerd", "");
  host.dir().WriteFile("bare/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n");
  host.dir().MakeDir("bare/sys/bus/pci/devices");
  std::vector<std::string> words = {"kgpu",        "node",
                                    "up",          "--yes",
                                    "--skip",      "driver,engine,agent,validate",
                                    "--host-root", host.dir().At("bare")};
  const Result up = RunProgram(words);
  EXPECT_EQ(up.code, 1);
  EXPECT_THAT(up.out, AllOf(ContainsRegex("host +failed"), HasSubstr("--gpu")));
  words.insert(words.end(), {"--gpu", "ampere"});
  EXPECT_THAT(RunProgram(words).out, ContainsRegex("host +ready"));
}

TEST_F(NodeUpTest, ADryRunTellsAllAndChangesNothing) {
  const SimHost host("4xT4");
  host.dir().WriteFile("host/usr/bin/dockerd", "");
  const Result up = Node(host, {"up", "--dry-run", "--skip", "driver,agent"});
  EXPECT_EQ(up.code, 0) << up.out << up.err;
  EXPECT_THAT(up.out, AllOf(HasSubstr("would do"), HasSubstr("+++ /etc/docker/daemon.json")));
  EXPECT_FALSE(std::filesystem::exists(host.dir().At("host/var/lib/kgpu/node")));
}

TEST_F(NodeUpTest, ADriverThatIsNotWhatIsAskedForIsNotReady) {
  const SimHost host("4xT4");
  const std::vector<std::string> words = {"up", "--yes", "--offline", "--skip",
                                          "engine,agent,validate"};
  EXPECT_THAT(Node(host, words).out, ContainsRegex("driver +ready"));
  std::vector<std::string> more = words;
  more.insert(more.end(), {"--cuda", "12.9"});
  const Result up = Node(host, more);
  EXPECT_EQ(up.code, 1);
  EXPECT_THAT(up.out, ContainsRegex("driver +failed"));
  EXPECT_FALSE(std::filesystem::exists(host.dir().At("host/var/lib/kgpu/node/record.json")))
      << "it did nothing, and down has nothing to undo";
}

TEST_F(NodeUpTest, WithoutATerminalItWantsYes) {
  const SimHost host("4xT4");
  const Result up = Node(host, {"up"});
  EXPECT_EQ(up.code, 2);
  EXPECT_THAT(up.err, HasSubstr("--yes"));
}

TEST_F(NodeUpTest, AStageThatIsNoneIsRefused) {
  const SimHost host("4xT4");
  const Result up = Node(host, {"up", "--skip", "drivers"});
  EXPECT_EQ(up.code, 2);
  EXPECT_THAT(up.err, HasSubstr("host, driver, engine, agent, validate"));
}

}  // namespace
}  // namespace kgpu::e2e
