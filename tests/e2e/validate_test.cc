// kgpu validate against simulated hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A child that the main thread of `pid` started.
bool HasChild(pid_t pid, std::string_view program) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", pid));
  for (pid_t child = 0; children >> child;) {
    std::string name;
    std::getline(std::ifstream(fmt::format("/proc/{}/comm", child)), name);
    if (name == program) {
      return true;
    }
  }
  return false;
}

class ValidateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here";
    }
  }
};

TEST_F(ValidateTest, AGoodHostPasses) {
  const SimHost host("4xT4");
  const Result result = host.Kgpu({"validate"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("Tesla T4"), HasSubstr("Test PASSED\nDone\n"),
                                HasSubstr("Copy host to device")));
}

TEST_F(ValidateTest, EveryGpuAndMigDeviceIsTriedByItself) {
  const SimHost host("mixed");
  const Result result = host.Kgpu({"validate", "--all-gpus", "--no-bandwidth", "--output", "json"});
  EXPECT_EQ(result.code, 0) << result.err;
  const auto report = doc::Parse(result.out, doc::Format::kJson, "validate");
  ASSERT_OK(report.status());
  EXPECT_TRUE(report->at("passed").as_bool());
  const std::string text = result.out;
  EXPECT_THAT(text, AllOf(HasSubstr("MIG-"), HasSubstr("GPU-")));
  EXPECT_GE(report->at("gpus").as_array().size(), 4U);
}

TEST_F(ValidateTest, AGpuWhoseKernelsHangIsAFailure) {
  SimHost host("4xT4");
  host.Inject("hang", {"0", "--call", "cuLaunchKernel"});
  // On a machine that is busy it may be a phase before the kernel.
  const Result result = host.Kgpu({"validate", "--gpu", "0", "--deadline", "2s"});
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_THAT(result.out, HasSubstr(" did not finish within 2s: the driver does not respond"));
  EXPECT_EQ(host.Kgpu({"validate", "--gpu", "1", "--no-bandwidth"}).code, 0);
}

TEST_F(ValidateTest, AGpuThatFellOffTheBusFailsTheNode) {
  SimHost host("4xT4");
  host.Inject("lose", {"1"});
  const Result result = host.Kgpu({"validate", "--all-gpus", "--no-bandwidth"});
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("Test PASSED"), HasSubstr("Test FAILED")));
}

TEST_F(ValidateTest, AMigDeviceIsTriedByItsUuid) {
  const SimHost host("mixed");
  const std::string devices = host.Kgpu({"devices", "--output", "json"}).out;
  const size_t at = devices.find("MIG-");
  ASSERT_NE(at, std::string::npos);
  const std::string uuid = devices.substr(at, devices.find('"', at) - at);
  const Result result =
      host.Kgpu({"validate", "--gpu", uuid, "--no-bandwidth", "--output", "yaml"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("passed: true"), HasSubstr(uuid), HasSubstr(" MIG ")));
}

TEST_F(ValidateTest, APhaseUnderWayIsShownOnATerminalAlone) {
  const SimHost host("4xT4");
  const std::string command =
      fmt::format("{} validate --no-bandwidth --host-root {} --engine-root /", ProgramPath("kgpu"),
                  host.path());
  const Result terminal = RunProgram({"/usr/bin/script", "-qec", command, "/dev/null"});
  EXPECT_EQ(terminal.code, 0) << terminal.out;
  EXPECT_THAT(terminal.out,
              AllOf(HasSubstr("\r\033[K"), HasSubstr(" …"), HasSubstr("Test PASSED")));
  EXPECT_EQ(host.Kgpu({"validate", "--no-bandwidth"}).err, "");
}

TEST_F(ValidateTest, ASignalEndsATestOfAllGpus) {
  const SimHost host("4xT4");
  std::vector<std::string> argv = {ProgramPath("kgpu"), "validate", "--all-gpus", "--burn", "1h"};
  std::ranges::copy(host.flags(), std::back_inserter(argv));
  const Background validate(argv);
  while (!HasChild(validate.pid(), "kgpu-cuda")) {
    ASSERT_TRUE(validate.RunsFor(std::chrono::milliseconds(10)));
  }
  ASSERT_EQ(kill(validate.pid(), SIGTERM), 0);
  EXPECT_FALSE(validate.RunsFor(std::chrono::seconds(20)));
}

TEST_F(ValidateTest, AHelperThatIsMissingOrNoneIsNamedWithItsFix) {
  const SimHost host("4xT4");
  const Result missing = host.Kgpu({"validate", "--cuda-helper", "/no/such/kgpu-cuda"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err,
              AllOf(HasSubstr("/no/such/kgpu-cuda"), HasSubstr("install kgpu-cuda beside kgpu")));
  const Result other = host.Kgpu({"validate", "--cuda-helper", "/bin/true"});
  EXPECT_EQ(other.code, 6);
  EXPECT_THAT(other.err, HasSubstr("install kgpu and kgpu-cuda from the same release"));
}

TEST_F(ValidateTest, ADriverThatIsNotLoadedIsNamedAsTheCause) {
  SimHost host("4xT4");
  host.Inject("unload");
  const Result first = host.Kgpu({"validate", "--no-bandwidth"});
  EXPECT_NE(first.code, 0) << first.out;
  EXPECT_THAT(first.err,
              AllOf(HasSubstr("its kernel module is not loaded"), HasSubstr("kgpu doctor")));
  const Result all = host.Kgpu({"validate", "--all-gpus"});
  EXPECT_EQ(all.code, 6) << all.out;
  EXPECT_THAT(all.err,
              AllOf(HasSubstr("its kernel module is not loaded"), HasSubstr("kgpu doctor")));
}

TEST_F(ValidateTest, NouveauIsNamedAsTheCause) {
  SimHost host("4xT4");
  host.Inject("nouveau");
  const Result result = host.Kgpu({"validate"});
  EXPECT_EQ(result.code, 3) << result.out;
  EXPECT_THAT(result.err, AllOf(HasSubstr("nouveau uses the GPUs"), HasSubstr("kgpu doctor")));
}

TEST_F(ValidateTest, NoTimeAtAllIsRefused) {
  const SimHost host("4xT4");
  EXPECT_EQ(host.Kgpu({"validate", "--deadline", "0"}).code, 2);
}

TEST_F(ValidateTest, AGpuThatIsNotThereIsNotFound) {
  const SimHost host("4xT4");
  EXPECT_EQ(host.Kgpu({"validate", "--gpu", "9"}).code, 3);
  EXPECT_EQ(host.Kgpu({"validate", "--gpu", "first"}).code, 2);
}

}  // namespace
}  // namespace kgpu::e2e
