// kgpu devices against simulated hosts: the inventory, faults while it watches, bad hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <csignal>
#include <iterator>
#include <string>
#include <vector>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

json::value Devices(const SimHost& host) {
  const Result result = host.Kgpu({"devices", "--output", "json"});
  auto value = doc::Parse(result.out, doc::Format::kJson, "kgpu devices");
  EXPECT_OK(value) << result.out << result.err;
  return value.ok() ? *value : json::value(json::object());
}

const json::value& At(const json::value& value, const std::string& pointer) {
  return value.at_pointer(pointer);
}

class DevicesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
    }
  }

  static std::vector<std::string> WatchArgv(const SimHost& host) {
    std::vector<std::string> argv = {"kgpu", "devices", "--watch", "--hold-down", "100ms"};
    for (const std::string& flag : host.flags()) {
      argv.push_back(flag);
    }
    return argv;
  }
};

TEST_F(DevicesTest, ListsEightHealthyGpusWithTheirFacts) {
  const SimHost host("8xA100-SXM4-80GB");
  const json::value devices = Devices(host);
  ASSERT_EQ(At(devices, "/gpus").as_array().size(), 8u);
  EXPECT_EQ(At(devices, "/driver/state"), "Ready");
  const json::value& gpu = At(devices, "/gpus/0");
  EXPECT_EQ(At(gpu, "/model"), "A100-SXM4-80GB");
  EXPECT_EQ(At(gpu, "/name"), "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(At(gpu, "/computeCapability"), "8.0");
  EXPECT_EQ(At(gpu, "/mig/enabled"), false);
  EXPECT_EQ(At(gpu, "/health/healthy"), true);
  EXPECT_EQ(At(gpu, "/nvlinks").as_array().size(), 12u);
  EXPECT_EQ(At(gpu, "/peers").as_array().size(), 7u);
}

TEST_F(DevicesTest, EveryProfileIsRead) {
  const struct {
    const char* profile;
    size_t gpus;
    const char* model;
  } kProfiles[] = {{"8xH100-SXM5-80GB", 8, "H100-SXM5-80GB"},
                   {"8xH200-SXM5-141GB", 8, "H200-SXM5-141GB"},
                   {"8xB200", 8, "B200-SXM6-180GB"},
                   {"4xT4", 4, "T4"},
                   {"4xK80", 4, "K80"},
                   {"2xL40S", 2, "L40S"},
                   {"1xQuadro-K620", 1, "Quadro-K620"}};
  for (const auto& p : kProfiles) {
    const SimHost host(p.profile);
    const json::value devices = Devices(host);
    ASSERT_EQ(At(devices, "/gpus").as_array().size(), p.gpus) << p.profile;
    EXPECT_EQ(std::string(At(devices, "/gpus/0/model").as_string()), p.model);
    EXPECT_EQ(At(devices, "/driver/state"), "Ready") << p.profile;
  }
}

TEST_F(DevicesTest, ListsMigDevicesBelowTheirGpu) {
  const SimHost host("8xA100-mig");
  const json::value devices = Devices(host);
  size_t migs = 0;
  for (const json::value& gpu : At(devices, "/gpus").as_array()) {
    for (const json::value& mig : At(gpu, "/migDevices").as_array()) {
      ++migs;
      EXPECT_THAT(std::string(At(mig, "/uuid").as_string()), HasSubstr("MIG-"));
      EXPECT_THAT(std::string(At(mig, "/profile").as_string()), HasSubstr("g."));
    }
  }
  EXPECT_GT(migs, 0u);
}

TEST_F(DevicesTest, AHostWithoutGpusSaysSo) {
  const SimHost host("none");
  const Result result = host.Kgpu({"devices"});
  EXPECT_THAT(result.out, HasSubstr("No NVIDIA GPU on this host"));
}

TEST_F(DevicesTest, AnXidTurnsOneGpuUnhealthyAndHealingBringsItBack) {
  SimHost host("8xA100-SXM4-80GB");
  Background watch(WatchArgv(host));
  ASSERT_TRUE(watch.WaitFor("Driver "));
  ASSERT_TRUE(watch.WaitFor("\n7 ")) << watch.out();
  watch.Clear();
  host.Inject("xid", {"3", "79"});
  ASSERT_TRUE(watch.WaitFor("Unhealthy: Xid79")) << watch.out();
  EXPECT_THAT(watch.out(), HasSubstr("GPU 3 "));
  EXPECT_THAT(watch.out(), Not(HasSubstr("GPU 2 ")));
  watch.Clear();
  host.Inject("heal", {"3"});
  EXPECT_TRUE(watch.WaitFor(": Healthy")) << watch.out();
}

TEST_F(DevicesTest, AHungDriverCallMakesItsGpusUnhealthyAndIsSurvived) {
  SimHost host("2xL40S");
  Background watch(WatchArgv(host));
  ASSERT_TRUE(watch.WaitFor("\n1 ")) << watch.out();
  watch.Clear();
  host.Inject("hang", {});
  host.Inject("xid", {"0", "79"});  // makes the inventory look at once
  ASSERT_TRUE(watch.WaitFor("Unresponsive")) << watch.out();
  host.Inject("heal", {});
  EXPECT_TRUE(watch.WaitFor("Driver 5")) << watch.out();
}

TEST_F(DevicesTest, AHungDriverIsReportedWhileItIsWaitedFor) {
  SimHost host("2xL40S");
  host.Inject("hang", {});
  for (const char* verb : {"devices", "validate", "labels"}) {
    std::vector<std::string> argv = {"kgpu", verb};
    std::ranges::copy(host.flags(), std::back_inserter(argv));
    const Result result = RunProgram(std::move(argv), std::chrono::seconds(4));
    EXPECT_EQ(result.code, 128 + SIGKILL) << verb << " waits longer than this test does";
    EXPECT_THAT(result.err, AllOf(HasSubstr("The driver has not answered since "),
                                  HasSubstr("read dmesg for NVRM and Xid lines")))
        << verb;
  }
}

TEST_F(DevicesTest, AReportThatIsInterruptedBeforeTheGpusAreMeasuredIsNone) {
  SimHost host("2xL40S");
  host.Inject("hang", {"--call", "nvmlDeviceGetPowerUsage"});  // which a snapshot does not need
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"health", "--direct"}, {"metrics", "--once"}}) {
    std::vector<std::string> argv = {"/usr/bin/timeout", "--preserve-status", "-s", "INT", "2",
                                     ProgramPath("kgpu")};
    std::ranges::copy(words, std::back_inserter(argv));
    std::ranges::copy(host.flags(), std::back_inserter(argv));
    const Result result = RunProgram(std::move(argv));
    EXPECT_EQ(result.code, 4) << words.front();
    EXPECT_EQ(result.out, "") << words.front();
    EXPECT_THAT(result.err, HasSubstr("interrupted by a signal before the GPUs were "));
  }
}

TEST_F(DevicesTest, ALostGpuDoesNotSpoilTheOthers) {
  SimHost host("4xT4");
  host.Inject("lose", {"2"});
  const json::value devices = Devices(host);
  const json::array& gpus = At(devices, "/gpus").as_array();
  size_t healthy = 0;
  for (const json::value& gpu : gpus) {
    healthy += At(gpu, "/health/healthy").as_bool() ? 1 : 0;
  }
  EXPECT_EQ(healthy, 3u);
  EXPECT_EQ(host.Kgpu({"devices"}).code, 7);
}

TEST_F(DevicesTest, AddedAndRemovedGpusAppearAndVanishWhileWatched) {
  SimHost host("4xT4");
  Background watch(WatchArgv(host));
  ASSERT_TRUE(watch.WaitFor("\n3 ")) << watch.out();
  watch.Clear();
  host.Inject("add", {"--model", "T4"});
  ASSERT_TRUE(watch.WaitFor("GPU 4 (T4, ")) << watch.out();
  watch.Clear();
  host.Inject("remove", {"4"});
  EXPECT_TRUE(watch.WaitFor(": removed")) << watch.out();
}

TEST_F(DevicesTest, AnUnloadedDriverIsAReasonNotAnExit) {
  SimHost host("4xT4");
  Background watch(WatchArgv(host));
  ASSERT_TRUE(watch.WaitFor("\n3 ")) << watch.out();
  host.Inject("unload");
  ASSERT_TRUE(watch.WaitFor("its kernel module is not loaded")) << watch.out();
  watch.Clear();
  host.Inject("load", {"--driver", "550.54.15"});
  EXPECT_TRUE(watch.WaitFor("Driver 550.54.15")) << watch.out();
}

TEST_F(DevicesTest, LibraryAndModuleOfDifferentVersionsAreNamedWithTheFix) {
  SimHost host("4xT4");
  host.Inject("unload");
  host.Inject("load", {"--driver", "550.54.15", "--module-only"});
  const Result result = host.Kgpu({"devices"});
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(result.out, AllOf(HasSubstr("have 535.104.05"), HasSubstr("550.54.15")));
}

TEST_F(DevicesTest, SigtermStopsAWatchAtOnce) {
  const SimHost host("4xT4");
  Background watch(WatchArgv(host));
  ASSERT_TRUE(watch.WaitFor("\n3 "));
  EXPECT_EQ(watch.Stop().code, 0);
}

}  // namespace
}  // namespace kgpu::e2e
