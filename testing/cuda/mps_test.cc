// Programs of the simulated libcuda as clients of the simulated MPS: the memory of each process is
// limited, and a fault of one ends the work of all.
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <string>
#include <thread>

#include "testing/cuda/child_side.h"
#include "testing/cuda/cuda_fixture.h"

namespace kgpu::simcuda {
namespace {

// Writes to an address that is nobody's.
constexpr char kBadKernel[] =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".visible .entry bad(.param .u64 where) {\n"
    ".reg .b32 %r<1>; .reg .b64 %rd<1>;\n"
    "ld.param.u64 %rd0, [where]; mov.u32 %r0, 7; st.global.u32 [%rd0], %r0; ret;\n}\n";

class CudaMpsTest : public CudaFixture {
 protected:
  CudaMpsTest() {
    root_.MakeDir("pipe");
    root_.MakeDir("log");
    // NOLINTBEGIN(concurrency-mt-unsafe): no other thread reads the environment
    setenv("CUDA_MPS_PIPE_DIRECTORY", root_.At("pipe").c_str(), 1);
    setenv("CUDA_MPS_LOG_DIRECTORY", root_.At("log").c_str(), 1);
    // NOLINTEND(concurrency-mt-unsafe)
  }
  ~CudaMpsTest() override {
    if (daemon_ > 0) {
      (void)Command("quit");
      (void)waitpid(daemon_, nullptr, 0);
    }
    // NOLINTBEGIN(concurrency-mt-unsafe): as above
    unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    unsetenv("CUDA_MPS_LOG_DIRECTORY");
    unsetenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT");
    // NOLINTEND(concurrency-mt-unsafe)
  }

  void StartDaemon() {
    std::string program = KGPU_SIM_MPS;
    std::string flag = "-f";
    char* argv[] = {program.data(), flag.data(), nullptr};
    ASSERT_EQ(posix_spawn(&daemon_, program.c_str(), nullptr, nullptr, argv, environ), 0);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (Command("get_default_active_thread_percentage") != 0 &&
           std::chrono::steady_clock::now() < limit) {
      std::this_thread::yield();
    }
  }
  // The exit code of the daemon's program.
  static int Command(const std::string& command) {
    const std::string line = "echo '" + command + "' | " + KGPU_SIM_MPS + " > /dev/null 2>&1";
    return system(line.c_str());  // NOLINT(concurrency-mt-unsafe, cert-env33-c): a test
  }
  bool Begin() { return Init() == cu::kSuccess && MakeContext(0, &context_) == cu::kSuccess; }
  // What the program learns of it afterwards.
  cu::Result RunBadKernel() {
    cu::Module module = nullptr;
    cu::Function function = nullptr;
    cu::DevicePointer nowhere = 4096;
    void* arguments[] = {&nowhere};
    const bool is_launched =
        Call<cu::ModuleLoadDataExFn>("cuModuleLoadDataEx", &module,
                                     static_cast<const void*>(kBadKernel), 0U, nullptr,
                                     nullptr) == cu::kSuccess &&
        Call<cu::ModuleGetFunctionFn>("cuModuleGetFunction", &function, module, "bad") ==
            cu::kSuccess &&
        Call<cu::LaunchKernelFn>("cuLaunchKernel", function, 1U, 1U, 1U, 1U, 1U, 1U, 0U, nullptr,
                                 &arguments[0], nullptr) == cu::kSuccess;
    return is_launched ? Synchronize() : cu::kUnknown;
  }

  pid_t daemon_ = 0;
};

TEST_F(CudaMpsTest, WithoutADaemonAProgramRunsAsWithoutMps) {
  ChildSide child([this](const Talk&) {
    cu::DevicePointer pointer = 0;
    return Begin() && Alloc(20 * kGiB, &pointer) == cu::kSuccess;
  });
  EXPECT_EQ(child.Wait(), 0);
}

TEST_F(CudaMpsTest, TheLimitIsThatOfEachProcess) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  ASSERT_EQ(Command("set_default_device_pinned_mem_limit 0 8G"), 0);
  const auto takes = [this](const Talk& talk) {
    cu::DevicePointer pointer = 0;
    const bool is_limited = Begin() && Alloc(9 * kGiB, &pointer) == cu::kOutOfMemory &&
                            Alloc(7 * kGiB, &pointer) == cu::kSuccess &&
                            Alloc(2 * kGiB, &pointer) == cu::kOutOfMemory;
    return talk.Say(is_limited ? "limited" : "not limited") && talk.Hear() == "end";
  };
  ChildSide first(takes);
  ChildSide second(takes);
  EXPECT_EQ(first.talk().Hear(), "limited");
  EXPECT_EQ(second.talk().Hear(), "limited") << "both: MPS knows nothing of containers";
  EXPECT_TRUE(first.talk().Say("end"));
  EXPECT_TRUE(second.talk().Say("end"));
  EXPECT_EQ(first.Wait(), 0);
  EXPECT_EQ(second.Wait(), 0);
}

TEST_F(CudaMpsTest, AProgramMayHaveLessThanTheServersLimit) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  ASSERT_EQ(Command("set_default_device_pinned_mem_limit 0 8G"), 0);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): as above
  setenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=4096M", 1);
  ChildSide less([this](const Talk&) {
    cu::DevicePointer pointer = 0;
    return Begin() && Alloc(5 * kGiB, &pointer) == cu::kOutOfMemory &&
           Alloc(3 * kGiB, &pointer) == cu::kSuccess;
  });
  EXPECT_EQ(less.Wait(), 0);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): as above
  setenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=64G", 1);
  ChildSide more([this](const Talk&) {
    cu::DevicePointer pointer = 0;
    return Begin() && Alloc(9 * kGiB, &pointer) == cu::kOutOfMemory;
  });
  EXPECT_EQ(more.Wait(), 0) << "not more";
}

TEST_F(CudaMpsTest, AFaultEndsTheWorkOfAllAndBlocksNewOnes) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  ChildSide neighbour([this](const Talk& talk) {
    return Begin() && talk.Say("runs") && talk.Hear() == "go on" &&
           Synchronize() == cu::kMpsClientTerminated && talk.Say("lost") && talk.Hear() == "end";
  });
  ASSERT_EQ(neighbour.talk().Hear(), "runs");
  ChildSide bad([this](const Talk&) { return Begin() && RunBadKernel() == cu::kIllegalAddress; });
  EXPECT_EQ(bad.Wait(), 0);
  ASSERT_TRUE(neighbour.talk().Say("go on"));
  EXPECT_EQ(neighbour.talk().Hear(), "lost");
  ChildSide early([this](const Talk&) {
    return Init() == cu::kSuccess && MakeContext(0, &context_) == cu::kMpsServerNotReady;
  });
  EXPECT_EQ(early.Wait(), 0) << "the neighbour is still there";
  ASSERT_TRUE(neighbour.talk().Say("end"));
  EXPECT_EQ(neighbour.Wait(), 0);
  ChildSide later([this](const Talk&) { return Begin() && Synchronize() == cu::kSuccess; });
  EXPECT_EQ(later.Wait(), 0);
}

TEST_F(CudaMpsTest, ADaemonThatEndsTakesItsClientsAlong) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  ChildSide child([this](const Talk& talk) {
    return Begin() && talk.Say("runs") && talk.Hear() == "go on" &&
           Synchronize() == cu::kMpsRpcFailure;
  });
  ASSERT_EQ(child.talk().Hear(), "runs");
  ASSERT_EQ(Command("quit"), 0);
  EXPECT_EQ(waitpid(daemon_, nullptr, 0), daemon_);
  daemon_ = 0;
  ASSERT_TRUE(child.talk().Say("go on"));
  EXPECT_EQ(child.Wait(), 0);
}

}  // namespace
}  // namespace kgpu::simcuda
