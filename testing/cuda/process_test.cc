// Several processes on one GPU: what they share, and what is left when one of them ends.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/cuda/child_side.h"
#include "testing/cuda/cuda_fixture.h"
#include "testing/driver/faults.h"
#include "testing/driver/mig.h"
#include "testing/driver/nvml_abi_more.h"
#include "testing/sanitizer.h"
#include "testing/status_matchers.h"

// Each test loads a copy of the library, and each copy takes its lock before a fork: more locks at
// a time than the detector of deadlocks knows, 64. ThreadSanitizer calls this where it is there.
extern "C" const char* __tsan_default_options();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "detect_deadlocks=0";
}

namespace kgpu::simcuda {
namespace {

using ::testing::HasSubstr;

class ProcessTest : public CudaFixture {
 protected:
  // What a child does: a context, and memory.
  bool Take(uint64_t size) {
    cu::DevicePointer pointer = 0;
    return Init() == cu::kSuccess && MakeContext(0, &context_) == cu::kSuccess &&
           (size == 0 || Alloc(size, &pointer) == cu::kSuccess);
  }
  // A child that has memory until it is told otherwise.
  std::function<bool(const Talk&)> Holder(uint64_t size) {
    return [this, size](const Talk& talk) {
      return Take(size) && talk.Say("has it") && talk.Hear() == "end";
    };
  }
  uint64_t FreeSeen() const {
    size_t free_bytes = 0;
    size_t total = 0;
    EXPECT_EQ(Call<cu::MemGetInfoFn>("cuMemGetInfo_v2", &free_bytes, &total), cu::kSuccess);
    return free_bytes;
  }
};

TEST_F(ProcessTest, ProcessesShareTheGpu) {
  ChildSide child(Holder(60 * kGiB));
  ASSERT_EQ(child.talk().Hear(), "has it");
  EXPECT_EQ(UsedBy(child.pid()), 60 * kGiB + kContext) << "with the pid as this machine counts";
  Start();
  EXPECT_LT(FreeSeen(), 20 * kGiB);
  cu::DevicePointer pointer = 0;
  EXPECT_EQ(Alloc(20 * kGiB, &pointer), cu::kOutOfMemory);
  EXPECT_EQ(Alloc(10 * kGiB, &pointer), cu::kSuccess);
  ASSERT_TRUE(child.talk().Say("end"));
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(Alloc(60 * kGiB, &pointer), cu::kSuccess);
}

TEST_F(ProcessTest, AKilledProcessGivesEverythingBack) {
  const uint64_t before = FreeOf();
  ChildSide child(Holder(60 * kGiB));
  ASSERT_EQ(child.talk().Hear(), "has it");
  EXPECT_LT(FreeOf(), before - 60 * kGiB);
  const pid_t pid = child.pid();
  child.Kill();
  EXPECT_EQ(UsedBy(pid), 0U);
  EXPECT_EQ(FreeOf(), before);
}

TEST_F(ProcessTest, MemoryOfAKilledProcessIsThereForTheNextRequest) {
  const uint64_t most = FreeOf() - 2 * kContext;
  ChildSide first(Holder(most / 2 / (2 * kMiB) * (2 * kMiB)));
  ChildSide second(Holder(most / 2 / (2 * kMiB) * (2 * kMiB)));
  ASSERT_EQ(first.talk().Hear(), "has it");
  ASSERT_EQ(second.talk().Hear(), "has it");
  const pid_t pid = first.pid();
  first.Kill();
  // No time for anybody to notice.
  EXPECT_TRUE(Take(most / 2 / (2 * kMiB) * (2 * kMiB)));
  EXPECT_EQ(UsedBy(pid), 0U);
}

TEST_F(ProcessTest, TheChildOfAProcessWithCudaHasNone) {
  Start();
  ChildSide child([&](const Talk&) {
    cu::DevicePointer pointer = 0;
    return Init() == cu::kNotInitialized && Alloc(1, &pointer) == cu::kNotInitialized &&
           Synchronize() == cu::kNotInitialized;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(UsedBy(getpid()), kContext);
  EXPECT_EQ(Synchronize(), cu::kSuccess) << "the parent goes on";
}

TEST_F(ProcessTest, AProgramThatHasUnloadedTheLibraryCanFork) {
  const LeaksAllowed leaks;
  ASSERT_EQ(Init(), cu::kSuccess);
  const void* place = dlsym(handle_, "cuInit");
  ASSERT_EQ(dlclose(std::exchange(handle_, nullptr)), 0);
  Dl_info info{};
  ASSERT_EQ(dladdr(place, &info), 0) << "it is unloaded";
  ChildSide child([](const Talk&) { return true; });
  EXPECT_EQ(child.Wait(), 0);
}

TEST_F(ProcessTest, AChildThatLivesOnKeepsNothingOfItsParent) {
  ChildSide parent([&](const Talk& talk) {
    if (!Take(kGiB)) {
      return false;
    }
    // A helper that was started before the end, and has nothing to do with GPUs.
    if (fork() == 0) {
      (void)talk.Say("child");
      (void)talk.Hear();
      _exit(0);
    }
    return talk.Hear() == "end";
  });
  ASSERT_EQ(parent.talk().Hear(), "child");
  EXPECT_EQ(UsedBy(parent.pid()), kGiB + kContext);
  const pid_t pid = parent.pid();
  parent.Kill();
  EXPECT_EQ(UsedBy(pid), 0U);
  EXPECT_TRUE(parent.talk().Say("end"));
}

TEST_F(ProcessTest, AnotherProgramHasNothingOfTheOneBefore) {
  ChildSide child([&](const Talk& talk) {
    const char* arguments[] = {"cat", nullptr};
    if (!Take(kGiB) || !talk.Say("has it") || talk.Hear() != "go" ||
        dup2(talk.fd(), STDIN_FILENO) < 0 || dup2(talk.fd(), STDOUT_FILENO) < 0) {
      return false;
    }
    execv("/bin/cat", const_cast<char**>(arguments));
    return false;
  });
  ASSERT_EQ(child.talk().Hear(), "has it");
  EXPECT_EQ(UsedBy(child.pid()), kGiB + kContext);
  ASSERT_TRUE(child.talk().Say("go"));
  ASSERT_TRUE(child.talk().Say("are you there?"));
  EXPECT_EQ(child.talk().Hear(), "are you there?") << "of the new program";
  EXPECT_EQ(UsedBy(child.pid()), 0U);
}

TEST_F(ProcessTest, NvmlShowsWhoUsesHowMuch) {
  const std::string file = root_.At("usr/lib64/libnvidia-ml.so.535.261.03");
  std::filesystem::copy_file(KGPU_NVIDIA_ML, file);
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  const auto call = [&]<typename Fn>(Fn*, const char* name, auto... arguments) {
    return reinterpret_cast<Fn*>(dlsym(library, name))(arguments...);
  };
  ChildSide child(Holder(10 * kGiB));
  ASSERT_EQ(child.talk().Hear(), "has it");
  ASSERT_EQ(UsedBy(child.pid()), 10 * kGiB + kContext);
  nvml::Device device = nullptr;
  nvml::Memory memory{};
  nvml::ProcessInfo process{};
  uint32_t count = 1;
  ASSERT_EQ(call(static_cast<nvml::InitFn*>(nullptr), "nvmlInit_v2"), nvml::kSuccess);
  ASSERT_EQ(call(static_cast<nvml::DeviceGetHandleByIndexFn*>(nullptr),
                 "nvmlDeviceGetHandleByIndex_v2", 0U, &device),
            nvml::kSuccess);
  ASSERT_EQ(call(static_cast<nvml::DeviceGetMemoryInfoFn*>(nullptr), "nvmlDeviceGetMemoryInfo",
                 device, &memory),
            nvml::kSuccess);
  EXPECT_EQ(memory.used, 10 * kGiB + kContext + 600 * kMiB) << "and what the driver reserves";
  ASSERT_EQ(call(static_cast<nvml::DeviceGetProcessesFn*>(nullptr),
                 "nvmlDeviceGetComputeRunningProcesses_v3", device, &count, &process),
            nvml::kSuccess);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(process.pid, static_cast<uint32_t>(child.pid()));
  EXPECT_EQ(process.used_gpu_memory, 10 * kGiB + kContext);
  ASSERT_EQ(call(static_cast<nvml::ShutdownFn*>(nullptr), "nvmlShutdown"), nvml::kSuccess);
}

TEST_F(ProcessTest, ManyProcessesOneAfterTheOther) {
  const uint64_t before = FreeOf();
  for (int round = 0; round < 100; ++round) {
    ChildSide child(Holder(70 * kGiB));
    ASSERT_EQ(child.talk().Hear(), "has it") << round;
    child.Kill();
  }
  EXPECT_EQ(FreeOf(), before);
}

TEST_F(ProcessTest, AsManyProcessesAsTheGpuHasContextsFor) {
  std::vector<std::unique_ptr<ChildSide>> children;
  children.reserve(100);
  for (int i = 0; i < 100; ++i) {
    children.push_back(std::make_unique<ChildSide>(Holder(2 * kMiB)));
  }
  for (const auto& child : children) {
    ASSERT_EQ(child->talk().Hear(), "has it");
    EXPECT_EQ(UsedBy(child->pid()), kContext + 2 * kMiB);
  }
}

TEST_F(ProcessTest, AMigDeviceHasItsOwnMemory) {
  server_->Change([](sim::SimState& state) {
    ASSERT_OK(sim::SetMigMode(state, 0, true));
    ASSERT_OK(sim::Heal(state, 0));
    ASSERT_OK(sim::MigCreate(state, 0, "1g.10gb"));
    ASSERT_OK(sim::MigCreate(state, 0, "1g.10gb"));
  });
  uint32_t minor = 10;
  server_->Look([&](const sim::SimState& state) {
    root_.MakeDir("dev/nvidia-caps");
    for (const sim::SimGpuInstance& instance : state.gpus[0].mig.instances) {
      for (const uint32_t cap : {instance.cap_minor, instance.compute_instances[0].cap_minor}) {
        if (instance.exists != 0) {
          EXPECT_TRUE(root_.MakeCharDevice("dev/nvidia-caps/nvidia-cap" + std::to_string(cap), 511,
                                           minor++));
        }
      }
    }
  });
  std::filesystem::remove(root_.At("dev/nvidia1"));
  std::vector<std::string> uuids;
  server_->Look([&](const sim::SimState& state) {
    for (const sim::SimGpuInstance& instance : state.gpus[0].mig.instances) {
      if (instance.exists != 0) {
        uuids.emplace_back(instance.compute_instances[0].uuid);
      }
    }
  });
  ASSERT_EQ(uuids.size(), 2U);
  ShowDevices(uuids[0].c_str());
  ChildSide child(Holder(9 * kGiB));
  ASSERT_EQ(child.talk().Hear(), "has it");
  ShowDevices(uuids[1].c_str());
  Start();
  cu::DevicePointer pointer = 0;
  EXPECT_EQ(Alloc(10 * kGiB, &pointer), cu::kOutOfMemory);
  EXPECT_EQ(Alloc(9 * kGiB, &pointer), cu::kSuccess) << "the other instance is not touched";
  uint32_t instances = 0;
  server_->Look([&](const sim::SimState& state) {
    for (const sim::SimProcess& process : state.gpus[0].processes) {
      instances |= process.pid != 0 ? 1U << process.gpu_instance : 0;
    }
    EXPECT_THAT(sim::MigDestroy(*std::make_unique<sim::SimState>(state), 0, std::nullopt),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("in use by processes")));
  });
  EXPECT_EQ(__builtin_popcount(instances), 2);
}

}  // namespace
}  // namespace kgpu::simcuda
