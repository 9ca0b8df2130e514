// The example of a function that computes on a GPU, against the built libcuda.so.1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "src/platform/sys/run.h"
#include "testing/driver/running_server.h"
#include "testing/driver/sample_state.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::simcuda {
namespace {

using ::testing::HasSubstr;

class VectorAddTest : public ::testing::Test {
 protected:
  void SetUp() override {
    constexpr unsigned kNoDriver = 511;
    unsigned minor = 0;
    for (const char* node : {"dev/nvidiactl", "dev/nvidia-uvm", "dev/nvidia0"}) {
      if (!root_.MakeCharDevice(node, kNoDriver, minor++)) {
        GTEST_SKIP() << "this machine does not let us make device nodes";
      }
    }
    (void)chmod(root_.path().c_str(), 0755);
    root_.MakeDir("usr/lib64");
    std::filesystem::copy_file(KGPU_CUDA_LIBRARY, root_.At("usr/lib64/libcuda.so.1"));
    server_ = std::make_unique<sim::RunningServer>(root_.path(), *sim::SampleState(1));
  }
  StatusOr<sys::RunResult> Run(const std::vector<std::string>& inputs) const {
    sys::RunRequest request;
    request.argv = {KGPU_VECTOR_ADD};
    request.argv.insert(request.argv.end(), inputs.begin(), inputs.end());
    request.environment.push_back("LD_LIBRARY_PATH=" + root_.At("usr/lib64"));
    return sys::RealRunner().Run(request);
  }

  TempDir root_;
  std::unique_ptr<sim::RunningServer> server_;
};

TEST_F(VectorAddTest, AddsOnTheGpuWithOneContextForAllCalls) {
  const auto result = Run({"1 2 3.5\n10 20 30\n", "-1\n1\n"});
  ASSERT_OK(result);
  EXPECT_EQ(result->exit.code, 0) << result->err;
  EXPECT_EQ(result->out, "11 22 33.5\n0\n");
  EXPECT_EQ(result->err, "context on NVIDIA A100-SXM4-80GB\n");
}

TEST_F(VectorAddTest, AddsMoreThanOneBlockOfThreads) {
  std::string input;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    input += fmt::format("{}{}", i == 0 ? "" : " ", i);
    expected += fmt::format("{}{}", i == 0 ? "" : " ", 2 * i);
  }
  const auto result = Run({input + "\n" + input + "\n"});
  ASSERT_OK(result);
  EXPECT_EQ(result->out, expected + "\n") << result->err;
}

TEST_F(VectorAddTest, SaysWhatIsWrong) {
  const auto uneven = Run({"1 2\n3\n"});
  ASSERT_OK(uneven);
  EXPECT_EQ(uneven->exit.code, 1);
  EXPECT_THAT(uneven->err, HasSubstr("two lines with the same number of numbers"));
  std::filesystem::remove(root_.At("usr/lib64/libcuda.so.1"));
  const auto without = Run({"1\n1\n"});
  ASSERT_OK(without);
  EXPECT_THAT(without->err, HasSubstr("this container has no GPU driver"));
}

}  // namespace
}  // namespace kgpu::simcuda
