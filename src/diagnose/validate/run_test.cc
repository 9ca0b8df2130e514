// The helper on the simulated libcuda: what is right passes, what is wrong does not.
#include "src/diagnose/validate/run.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "src/diagnose/validate/kernels.h"
#include "src/diagnose/validate/view.h"
#include "testing/driver/running_server.h"
#include "testing/driver/sample_state.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::validate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ValidateRunTest : public ::testing::Test {
 protected:
  ValidateRunTest() {
    constexpr unsigned kNoDriver = 511;
    unsigned minor = 0;
    for (const char* node : {"dev/nvidiactl", "dev/nvidia-uvm", "dev/nvidia0"}) {
      has_nodes_ = has_nodes_ && root_.MakeCharDevice(node, kNoDriver, minor++);
    }
    (void)chmod(root_.path().c_str(), 0755);
    root_.MakeDir("usr/lib64");
    options_.program = KGPU_TEST_CUDA_HELPER;
    options_.library = root_.At("usr/lib64/libcuda.so.535.261.03");
    options_.copy_bytes = 1 << 20;
    std::filesystem::copy_file(KGPU_CUDA_LIBRARY, options_.library);
    server_ = std::make_unique<sim::RunningServer>(root_.path(), *sim::SampleState(1));
  }
  void SetUp() override {
    if (!has_nodes_) {
      GTEST_SKIP() << "this machine does not let us make device nodes";
    }
  }
  // The run, with a driver that hangs in "kernel" until `change` is made.
  template <typename Change>
  Report RunUntilKernel(Change change) const {
    const auto on_phase = [&](std::string_view phase) {
      if (phase == "kernel") {
        server_->Change([&](sim::SimState& state) {
          change(state);
          state.gpus[0].knobs[0] = {};
        });
      }
    };
    const StatusOr<Report> report = validate::Run(options_, on_phase);
    EXPECT_OK(report.status());
    return report.ok() ? *report : Report{};
  }
  // A helper that says what `script` does.
  void UseScript(const std::string& script) {
    options_.program = root_.At("helper");
    root_.WriteFile("helper", "#!/bin/sh\n" + script);
    (void)chmod(options_.program.c_str(), 0755);
  }
  Report RunNow() const {
    const StatusOr<Report> report = validate::Run(options_, [](std::string_view) {});
    EXPECT_OK(report.status());
    return report.ok() ? *report : Report{};
  }
  // Our kernels with the first `from` made `to`.
  static std::string Changed(std::string_view from, std::string_view to) {
    std::string ptx(kKernels);
    const size_t at = ptx.find(from);
    EXPECT_NE(at, std::string::npos);
    return ptx.replace(at, from.size(), to);
  }
  void Hang(const char* function) const {
    server_->Change([function](sim::SimState& state) {
      state.gpus[0].knobs[0] = {
          .hang = 1, .is_set = 1, .slow_ns = 0, .function = {}, .refusal = 0, .padding = 0};
      (void)snprintf(state.gpus[0].knobs[0].function, sizeof(state.gpus[0].knobs[0].function), "%s",
                     function);
    });
  }

  TempDir root_;
  bool has_nodes_ = true;
  RunOptions options_;
  std::unique_ptr<sim::RunningServer> server_;
};

TEST_F(ValidateRunTest, AGoodGpuPasses) {
  const Report report = RunNow();
  EXPECT_EQ(report.outcome, Outcome::kPassed) << report.reason;
  EXPECT_TRUE(report.is_vector_sum_right);
  EXPECT_EQ(report.uuid, "00000000-0000-0000-0000-000000000000");
  EXPECT_TRUE(report.host_to_device && report.device_to_host && report.within_device);
  EXPECT_THAT(
      Text(report),
      HasSubstr("[Vector addition of 50000 elements]\n"
                "Copy input data from the host memory to the CUDA device\n"
                "CUDA kernel launch with 196 blocks of 256 threads\n"
                "Copy output data from the CUDA device to the host memory\nTest PASSED\nDone\n"));
}

TEST_F(ValidateRunTest, AGpuThatSubtractsFails) {
  options_.ptx = Changed("add.f32", "sub.f32");
  const Report report = RunNow();
  EXPECT_EQ(report.outcome, Outcome::kFailed);
  EXPECT_FALSE(report.is_vector_sum_right);
  EXPECT_THAT(report.reason, HasSubstr("Result verification failed at element 0"));
}

TEST_F(ValidateRunTest, AKernelThatLeavesOutAnElementFails) {
  options_.ptx = Changed("setp.ge.u32 %p1, %r1, %r2;", "setp.ge.u32 %p1, %r1, 49999;");
  EXPECT_THAT(RunNow().reason, HasSubstr("failed at element 49999"));
}

TEST_F(ValidateRunTest, WhatTheCompilerSaysIsReported) {
  options_.ptx = Changed("add.f32", "div.f32");
  const Report report = RunNow();
  EXPECT_EQ(report.error, 218);
  EXPECT_THAT(report.reason, AllOf(HasSubstr("CUDA_ERROR_INVALID_PTX"), HasSubstr("'div.f32'")));
}

TEST_F(ValidateRunTest, BurnsWithRightResults) {
  options_.burn = std::chrono::milliseconds(300);
  const Report report = RunNow();
  EXPECT_EQ(report.outcome, Outcome::kPassed) << report.reason;
  EXPECT_GT(report.burn_flops.value_or(0), 0);
}

TEST_F(ValidateRunTest, AWrongProductWhileBurningFails) {
  options_.burn = std::chrono::milliseconds(300);
  options_.ptx = Changed("0f40400000", "0f40400001");
  EXPECT_THAT(RunNow().reason, HasSubstr("Burn test gave a wrong result"));
}

TEST_F(ValidateRunTest, ACallThatHangsEndsAtItsDeadline) {
  Hang("cuLaunchKernel");
  options_.deadline = std::chrono::milliseconds(300);
  options_.start_deadline = options_.deadline;
  const Report report = RunNow();
  EXPECT_EQ(report.outcome, Outcome::kHung);
  // On a machine that is busy it may be a phase before the kernel.
  EXPECT_THAT(report.reason,
              HasSubstr(" did not finish within 300ms: the driver does not respond"));
}

TEST_F(ValidateRunTest, ADriverThatStartsHasADeadlineOfItsOwn) {
  UseScript("echo begin init; exec sleep 1000\n");
  options_.start_deadline = std::chrono::milliseconds(300);
  EXPECT_THAT(
      RunNow().reason,
      HasSubstr(
          "init did not finish within 300ms: the driver does not respond, or is slow to start"));
}

TEST_F(ValidateRunTest, ALostGpuIsReported) {
  server_->Change([](sim::SimState& state) { state.gpus[0].is_lost = 1; });
  EXPECT_EQ(RunNow().error, 100);
}

// The kernel waits in the driver until the fault is there.
TEST_F(ValidateRunTest, AGpuThatIsLostWhileItComputesIsReported) {
  Hang("cuLaunchKernel");
  const Report report = RunUntilKernel([](sim::SimState& state) { state.gpus[0].is_lost = 1; });
  EXPECT_EQ(report.outcome, Outcome::kFailed);
  EXPECT_EQ(report.error, 999);
  EXPECT_THAT(Advice(report), HasSubstr("fell off the bus"));
}

TEST_F(ValidateRunTest, AMemoryErrorWhileItComputesIsReported) {
  Hang("cuLaunchKernel");
  const Report report =
      RunUntilKernel([](sim::SimState& state) { state.gpus[0].ecc.volatile_uncorrected[0] += 1; });
  EXPECT_EQ(report.error, 214);
  EXPECT_THAT(report.reason, HasSubstr("CUDA_ERROR_ECC_UNCORRECTABLE"));
  EXPECT_THAT(Advice(report), HasSubstr("--gpu-reset"));
}

TEST_F(ValidateRunTest, ALibraryThatIsNoneIsReported) {
  root_.WriteFile("usr/lib64/libcuda.so.1", "nothing");
  options_.library = root_.At("usr/lib64/libcuda.so.1");
  const Report report = RunNow();
  EXPECT_EQ(report.error, -1);
  EXPECT_THAT(report.reason, HasSubstr("libcuda.so.1"));
}

TEST_F(ValidateRunTest, AHelperOfAnotherVersionIsAnError) {
  options_.version = "99.1";
  EXPECT_THAT(validate::Run(options_, [](std::string_view) {}).status(),
              StatusIs(StatusCode::kFailedPrecondition, AllOf(HasSubstr("does not match kgpu 99.1"),
                                                              HasSubstr("from the same release"))));
}

TEST_F(ValidateRunTest, AProgramThatIsNoHelperIsAnError) {
  options_.version = "99.1";
  UseScript("exit 0\n");
  EXPECT_THAT(validate::Run(options_, [](std::string_view) {}).status(),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("/helper"), HasSubstr("from the same release"))));
}

TEST_F(ValidateRunTest, AHelperThatIsKilledIsReported) {
  UseScript("echo begin kernel; kill -9 $$\n");
  const Report report = RunNow();
  EXPECT_EQ(report.outcome, Outcome::kCrashed);
  EXPECT_EQ(report.reason, "kgpu-cuda was killed (SIGKILL) during kernel");
}

TEST_F(ValidateRunTest, ALibraryThatCrashesIsReported) {
  UseScript("echo begin compile; kill -SEGV $$\n");
  EXPECT_EQ(RunNow().reason,
            "the driver's library killed its process with signal 11 during compile");
}

TEST_F(ValidateRunTest, AHelperThatIsNotThereIsAnError) {
  options_.program = root_.At("kgpu-cuda");
  EXPECT_THAT(validate::Run(options_, [](std::string_view) {}).status(),
              StatusIs(StatusCode::kNotFound));
}

}  // namespace
}  // namespace kgpu::validate
