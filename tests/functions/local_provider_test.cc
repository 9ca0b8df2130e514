// Functions in real containers of podman and runc on a simulated GPU host, with the built agent,
// function service and watchdog.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/engines/programs.h"
#include "tests/functions/function_machine.h"

namespace kgpu::engines {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LocalProviderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || !e2e::CanMakeDevices()) {
      GTEST_SKIP() << "needs root, and the right to make devices";
    }
    if (const std::string reason = WhyNot({"podman", "runc"}); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
  static void Deploy(FunctionMachine& machine, const std::string& lines,
                     const std::string& name = "hello") {
    const e2e::Result deployed =
        machine.Fn({"deploy", "-f", machine.WriteConfig(lines, "none", name), "--replace"});
    ASSERT_EQ(deployed.code, 0) << deployed.err;
  }
  static void ExpectNothingLeft(FunctionMachine& machine) {
    EXPECT_TRUE(machine.Until([&] { return machine.LedgerLoans().empty(); }));
    EXPECT_THAT(machine.RunningLoans(), IsEmpty());
    EXPECT_THAT(machine.ReplicaFolders(), IsEmpty());
    EXPECT_THAT(machine.Podman({"ps", "--all", "--quiet"}).out, IsEmpty());
  }
};

TEST_F(LocalProviderTest, AFunctionSeesExactlyTheGpusItsFileRequests) {
  FunctionMachine machine("4xT4");
  ASSERT_NO_FATAL_FAILURE(machine.Up());
  ASSERT_NO_FATAL_FAILURE(Deploy(machine, "    requests:\n      gpu: 2\n"));
  const e2e::Result gpus = machine.Fn({"call", "hello"}, "gpus");
  EXPECT_EQ(gpus.code, 0) << gpus.err;
  EXPECT_THAT(gpus.out, SizeIs(3)) << gpus.out;  // two numbers and a blank
  const std::string bytes("hi\0\xff\n", 5);
  EXPECT_EQ(machine.Fn({"call", "hello"}, bytes).out, bytes);
  EXPECT_EQ(machine.Fn({"call", "hello"}, "crash").code, 7);
  EXPECT_EQ(machine.Fn({"call", "hello"}, "again").out, "again");
  EXPECT_EQ(machine.Fn({"call", "none"}, "hi").code, 3);
  EXPECT_EQ(machine.Fn({"call", "hello"}, "print to the log").code, 0);
  EXPECT_THAT(machine.Fn({"logs", "hello"}).out, HasSubstr("to the log\n"));
  EXPECT_THAT(machine.Fn({"list"}).out, HasSubstr("running"));
  EXPECT_THAT(machine.Fn({"metrics"}).out,
              HasSubstr("gateway_function_invocation_total{function_name=\"hello\",code=\"502\"}"));
  EXPECT_THAT(machine.LedgerLoans(), SizeIs(1));
  EXPECT_EQ(machine.Fn({"delete", "hello"}).code, 0);
  ExpectNothingLeft(machine);
}

TEST_F(LocalProviderTest, AFunctionWithoutAGpuSeesNoneAndOneThatCannotHaveItsGpusIsRefused) {
  FunctionMachine machine("4xT4");
  ASSERT_NO_FATAL_FAILURE(machine.Up());
  ASSERT_NO_FATAL_FAILURE(Deploy(machine, ""));
  EXPECT_EQ(machine.Fn({"call", "hello"}, "gpus").out, "");
  const e2e::Result refused =
      machine.Fn({"deploy", "-f", machine.WriteConfig("    requests:\n      gpu: 5\n")});
  EXPECT_EQ(refused.code, 6) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("5 GPUs cannot be provided"));
  EXPECT_EQ(machine.Fn({"down"}).code, 0);
  ExpectNothingLeft(machine);
}

TEST_F(LocalProviderTest, AFunctionReadsItsSecretsAsTheyAreNow) {
  FunctionMachine machine("4xT4");
  ASSERT_NO_FATAL_FAILURE(machine.Up());
  machine.WriteSecret("my-key", "line1\nline2 \n\n");
  ASSERT_NO_FATAL_FAILURE(Deploy(machine, "    secrets: [my-key]\n"));
  EXPECT_EQ(machine.Fn({"call", "hello"}, "read /etc/openfx/my-key").out, "line1\nline2 \n\n");
  machine.WriteSecret("my-key", "new");
  EXPECT_TRUE(machine.Until(
      [&] { return machine.Fn({"call", "hello"}, "read /etc/openfx/my-key").out == "new"; }));
}

// The network of the box in place of one that podman would make.
TEST_F(LocalProviderTest, FunctionsCallEachOtherUnlessTheyHaveNoNetwork) {
  FunctionMachine machine("4xT4");
  ASSERT_NO_FATAL_FAILURE(machine.Up({"--network=host"}));
  const auto deployed =
      machine.Fn({"deploy", "-f",
                  machine.WriteConfig("    replicas:\n      min: 2\n      max: 2\n", "default")});
  ASSERT_EQ(deployed.code, 0) << deployed.err;
  const e2e::Result called = machine.Fn({"call", "hello"}, "mesh there");
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_EQ(called.out, "there");
  EXPECT_THAT(machine.Fn({"call", "hello"}, "mesh crash").err, HasSubstr("hello: status 502"));
}

TEST_F(LocalProviderTest, ScalesToZeroAndBackByACall) {
  FunctionMachine machine("4xT4");
  ASSERT_NO_FATAL_FAILURE(machine.Up());
  ASSERT_NO_FATAL_FAILURE(
      Deploy(machine,
             "    requests:\n      gpu: 1\n    replicas:\n      min: 0\n      max: 2\n"
             "    idle: 1s\n"));
  EXPECT_EQ(machine.Fn({"call", "hello"}, "one").out, "one");
  ExpectNothingLeft(machine);
  EXPECT_EQ(machine.Fn({"call", "hello"}, "two").out, "two");
}

TEST_F(LocalProviderTest, AFunctionLeavesAGpuThatFails) {
  FunctionMachine machine("4xT4");
  ASSERT_NO_FATAL_FAILURE(machine.Up());
  ASSERT_NO_FATAL_FAILURE(Deploy(machine, "    requests:\n      gpu: 1\n"));
  EXPECT_EQ(machine.Fn({"call", "hello"}, "gpus").out, "0");
  const auto first = machine.LedgerLoans();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_TRUE(machine.Simulate("lose", {"0"}));
  EXPECT_TRUE(machine.Until([&] {
    const auto loans = machine.LedgerLoans();
    return loans.size() == 1 && loans.begin()->second != first.begin()->second;
  }));
  EXPECT_EQ(machine.Fn({"call", "hello"}, "gpus").out, "1");
  EXPECT_THAT(machine.StateTexts(), HasSubstr("its GPU is unhealthy"));
}

// As podman lists no containers of a network that only the service sees, `down` finds them by name.
TEST_F(LocalProviderTest, DownRemovesWhatKilledDaemonsLeft) {
  FunctionMachine machine("4xT4");
  ASSERT_NO_FATAL_FAILURE(machine.Up());
  ASSERT_NO_FATAL_FAILURE(
      Deploy(machine, "    requests:\n      gpu: 1\n    replicas:\n      min: 0\n"));
  for (const bool with_agent : {true, false}) {
    EXPECT_EQ(machine.Fn({"call", "hello"}, "hi").out, "hi");
    EXPECT_THAT(machine.LedgerLoans(), SizeIs(1));
    machine.KillService();
    if (!with_agent) {
      machine.KillAgent();
    }
    const e2e::Result down = machine.Fn({"down"});
    EXPECT_EQ(down.code, 0) << down.err;
    ExpectNothingLeft(machine);
    ASSERT_NO_FATAL_FAILURE(machine.Up());
  }
}

// 4 GiB less a context of 320 MiB, in pieces of 512 MiB.
constexpr const char* kStoppedAt4Gi = "total 4096\ngot 7\n";
constexpr const char* kSliceOf4Gi = "    limits:\n      gpu: {count: 1, memory: 4Gi}\n";

TEST_F(LocalProviderTest, FunctionsShareAGpuAndEachIsStoppedAtItsSlice) {
  FunctionMachine machine("4xT4", {"slice-client"});
  machine.Configure(
      "pools:\n- {devices: {index: 0}, provider: local, share: {by: memory, size: 4Gi}}\n");
  ASSERT_NO_FATAL_FAILURE(machine.Up());
  ASSERT_NO_FATAL_FAILURE(Deploy(machine, kSliceOf4Gi, "one"));
  ASSERT_NO_FATAL_FAILURE(Deploy(machine, kSliceOf4Gi, "two"));
  // Each keeps what it has while the other one takes its own.
  EXPECT_EQ(machine.Fn({"call", "one"}, "take 100").out, kStoppedAt4Gi);
  EXPECT_EQ(machine.Fn({"call", "two"}, "take 100").out, kStoppedAt4Gi);
  EXPECT_THAT(machine.Fn({"call", "one"}, "take 100").out, HasSubstr("no context"));
  const std::map<std::string, std::string> slots = machine.LedgerSlots();
  ASSERT_THAT(slots, SizeIs(2));
  EXPECT_NE(slots.begin()->second, slots.rbegin()->second);
  EXPECT_EQ(machine.Fn({"call", "one"}, "gpus").out, machine.Fn({"call", "two"}, "gpus").out);
  const std::string mounts = machine.Fn({"call", "one"}, "read /proc/self/mountinfo").out;
  EXPECT_THAT(mounts, AllOf(HasSubstr(" /etc/ld.so.preload ro,"), HasSubstr("/limits ro,"),
                            HasSubstr("/libkgpu-share.so ro,"), HasSubstr("/ledger rw,")));

  // Nobody's slice changes hands when a daemon dies.
  const std::vector<std::string> running = machine.RunningLoans();
  machine.KillAgent();
  machine.KillService();
  ASSERT_NO_FATAL_FAILURE(machine.Up());
  EXPECT_EQ(machine.Fn({"call", "two"}, "hi").out, "hi");
  EXPECT_EQ(machine.LedgerSlots(), slots);
  EXPECT_EQ(machine.RunningLoans(), running);
  // The next replica gets all that the last one had.
  EXPECT_EQ(machine.Fn({"delete", "one"}).code, 0);
  ASSERT_NO_FATAL_FAILURE(Deploy(machine, kSliceOf4Gi, "one"));
  EXPECT_EQ(machine.Fn({"call", "one"}, "take 100").out, kStoppedAt4Gi);
  const e2e::Result refused = machine.Fn(
      {"deploy", "-f", machine.WriteConfig("    limits:\n      gpu: {count: 1, memory: 8Gi}\n")});
  EXPECT_EQ(refused.code, 6) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("3 × slices of 4Gi of T4"));
  for (const char* name : {"one", "two"}) {
    EXPECT_EQ(machine.Fn({"delete", name}).code, 0);
  }
  ExpectNothingLeft(machine);
}

}  // namespace
}  // namespace kgpu::engines
