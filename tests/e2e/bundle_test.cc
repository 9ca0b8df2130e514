// The bundle for machines with a real GPU, on a simulated host: that it works where it can be
// tried.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "testing/host_tree.h"
#include "tests/e2e/container.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class GpuBundleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here";
    }
    const Result made = RunProgram(
        {KGPU_SOURCE_DIR "/tests/gpu/bundle.sh", "--programs", KGPU_BIN_DIR, dir_.At("bundle")},
        std::chrono::seconds(100));
    ASSERT_EQ(made.code, 0) << made.err;
  }
  // Nothing of this process's environment, and no folder of this repository.
  Result Run(const std::vector<std::string>& arguments) const {
    std::vector<std::string> argv = {"/usr/bin/env", "-i", "-C", "/", dir_.At("bundle/run.sh")};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return RunProgram(argv, std::chrono::seconds(380));
  }

  TempDir dir_;
};

TEST_F(GpuBundleTest, ProvesAHostAndRecordsIt) {
  const SimHost host("1xQuadro-K620");
  const Result result = Run({"--host-root", host.path(), "--burn", "10ms", dir_.At("out")});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out,
              AllOf(Not(HasSubstr("FAILED")), HasSubstr("ok      validate\n"),
                    HasSubstr("ok      doctor\n"), HasSubstr("ok      record\n"),
                    HasSubstr("ok      slice-stops-alloc\n"), HasSubstr("ok      slice-validate\n"),
                    HasSubstr("skipped mps: "), ContainsRegex("\n[0-9]+ passed, 0 failed")));
  if (WhyNoContainers().empty()) {
    EXPECT_THAT(result.out, AllOf(HasSubstr("ok      container-podman-proof\n"),
                                  HasSubstr("ok      container-runc-proof\n")));
  }
  EXPECT_THAT(dir_.ReadFile("out/host/validate.txt"), HasSubstr("Test PASSED\nDone\n"));

  // What was recorded is a host again: with its GPU, and as another machine without its driver.
  const TempDir again;
  UnpackHost(dir_.ReadFile("out/host/host.tree"), again);
  const Result devices = RunProgram({"kgpu", "devices", "--host-root", again.path()});
  EXPECT_THAT(devices.out + devices.err,
              AllOf(HasSubstr("0000:01:00.0 (0x13bb, vga)"), HasSubstr("libnvidia-ml.so.1")));
}

TEST_F(GpuBundleTest, SharesAGpuByMpsWhereItCanBe) {
  const SimHost host("4xT4");
  const Result result = Run({"--host-root", host.path(), "--burn", "10ms", dir_.At("out")});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("ok      mps\n"));
}

TEST_F(GpuBundleTest, AMachineWithoutADriverProvesNothing) {
  const TempDir bare;
  const Result result = Run({"--host-root", bare.path(), dir_.At("out")});
  EXPECT_EQ(result.code, 77) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("0 passed, 0 failed, 1 skipped"));
}

}  // namespace
}  // namespace kgpu::e2e
