// Launches pass the gate of their slot: each way to launch, and each way to find one.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "src/preload/gate.h"
#include "tests/share/container.h"

namespace kgpu::share {
namespace {

using preload::GateTurn;
using testing::EndsWith;

// 5 µs of each period: whoever launches three times has waited.
constexpr GateTurn kNarrow{.open = 1, .start = 3000};
// Nobody gets there before the test does.
constexpr GateTurn kFar{.open = 1, .start = 3000, .every = 255};

std::string GateBytes(const GateTurn& turn, const GateTurn& fixed) {
  const preload::Gate gate = preload::NewGate(turn, fixed);
  return {reinterpret_cast<const char*>(&gate), sizeof(gate)};
}

class ShareLaunchesTest : public testing::Test {
 protected:
  ShareLaunchesTest() : container_("compute 25\n") {}

  void Gate(const GateTurn& turn, const GateTurn& fixed = {.open = 2500}) const {
    container_.folder().WriteFile("kgpu-slots/0/gate", GateBytes(turn, fixed));
  }
  // As the agent does.
  void Rewrite(const GateTurn& turn) const {
    const std::string path = container_.folder().At("kgpu-slots/0/gate");
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const uint64_t word = preload::PackTurn(turn);
    EXPECT_EQ(pwrite(file, &word, sizeof(word), offsetof(preload::Gate, word)), 8);
    close(file);
  }
  std::string Launch(const std::string& way, int times, const std::string& function) const {
    return container_.Run("share_launch_client " + way + " " + std::to_string(times) + " " +
                          function);
  }
  uint64_t Waited() const { return container_.ReadLedger().header.waited; }
  // Repeats it until a launch has waited: a program that begins with its window may be through
  // before the window ends.
  void LaunchUntilOneWaits(int times, const std::string& function) const {
    const uint64_t before = Waited();
    const std::string all = std::to_string(times) + " " + std::to_string(times) + "\n";
    for (int tries = 0; tries < 50 && Waited() == before; ++tries) {
      EXPECT_EQ(Launch("dlsym", times, function), all);
    }
    EXPECT_GT(Waited(), before);
  }

  const Container container_;
};

class ShareLaunchFunctionsTest : public ShareLaunchesTest,
                                 public testing::WithParamInterface<const char*> {};

TEST_P(ShareLaunchFunctionsTest, WaitsAtAGateThatIsNotOpenAndOnlyThere) {
  Gate({});
  EXPECT_EQ(Launch("dlsym", 3, GetParam()), "3 3\n");
  EXPECT_EQ(Waited(), 0U);
  Gate(kNarrow);
  EXPECT_EQ(Launch("dlsym", 3, GetParam()), "3 3\n");
  EXPECT_GT(Waited(), 0U);
  EXPECT_EQ(container_.Stderr(), "");
}

INSTANTIATE_TEST_SUITE_P(
    All, ShareLaunchFunctionsTest,
    testing::Values("cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync", "cuLaunchKernel",
                    "cuLaunchKernel_ptsz", "cuLaunchKernelEx", "cuLaunchKernelEx_ptsz",
                    "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel_ptsz",
                    "cuLaunchCooperativeKernelMultiDevice", "cuGraphLaunch_ptsz"));

TEST_F(ShareLaunchesTest, ByCuGetProcAddress) {
  Gate(kNarrow);
  EXPECT_EQ(Launch("cuGetProcAddress", 3, "cuLaunchKernel"), "3 3\n");
  EXPECT_GT(Waited(), 0U);
}

TEST_F(ShareLaunchesTest, FromManyThreadsAndFromChildren) {
  Gate(kNarrow);
  EXPECT_EQ(Launch("threads", 4, "cuLaunchKernel"), "64 64\n");
  const uint64_t waited = Waited();
  EXPECT_GT(waited, 0U);
  EXPECT_EQ(Launch("fork", 2, "cuLaunchKernel"), "4 2\n") << "the parent's count has its own";
  EXPECT_GT(Waited(), waited);
}

// Streams of their own change nothing: as long as it is not known what a launch costs, eight go at
// most.
TEST_F(ShareLaunchesTest, AWindowIsForAllThreadsTogether) {
  Gate({.open = 2500, .start = 5000});
  const std::string text = Launch("many", 1, "held");
  ASSERT_THAT(text, EndsWith(" 64 64\n")) << "those that wait go on when the first ones end";
  EXPECT_LE(std::stoi(text), 8);
}

// More streams than are told apart.
TEST_F(ShareLaunchesTest, AWindowIsForAnyNumberOfStreamsTogether) {
  Gate({.open = 2500, .start = 5000});
  const std::string text = Launch("more", 1, "held");
  ASSERT_THAT(text, EndsWith(" 96 96\n"));
  EXPECT_LE(std::stoi(text), 8);
}

TEST_F(ShareLaunchesTest, StreamsThatHaveEndedMakeRoomForOthers) {
  Gate({.open = 2500, .start = 5000});
  LaunchUntilOneWaits(20000, "spread");
}

// The program waits for a stream, and another one still has work.
TEST_F(ShareLaunchesTest, OneStreamsEndIsNotThatOfTheOthers) {
  Gate({.open = 9000});
  const std::string text = Launch("one", 20, "mixed");
  ASSERT_THAT(text, EndsWith(" 20 20\n"));
  EXPECT_LE(std::stoi(text), 8);
}

// What is launched waits for what the program does after it, in vain: the library waits once. It
// would take minutes otherwise.
TEST_F(ShareLaunchesTest, AStreamThatWaitsForItsProgramHoldsItUpOnce) {
  Gate({.open = 9000});
  EXPECT_EQ(Launch("dlsym", 300, "held"), "300 300\n");
  EXPECT_LT(Waited(), 3'000'000'000) << "waiting for work is no demand for a window";
}

// A launch that is captured does not run.
TEST_F(ShareLaunchesTest, NotWhileTheStreamIsCaptured) {
  Gate(kFar);
  EXPECT_EQ(Launch("dlsym", 50, "captured"), "50 50\n");
  EXPECT_EQ(Waited(), 0U);
}

// What runs beyond its window of 2 ms, for more than 18, is paid by nine later ones.
TEST_F(ShareLaunchesTest, WorkThatGoesOnIsWaitedForAndPaid) {
  Gate({.open = 400});
  EXPECT_EQ(Launch("dlsym", 2, "busy"), "2 2\n");
  EXPECT_GT(Waited(), 9 * preload::kGatePeriod);
}

// Sixteen threads wait for each other's launches, in windows of 2 ms; the device does nothing.
TEST_F(ShareLaunchesTest, TimeInTheDriverIsNoWork) {
  Gate({.open = 400});
  EXPECT_EQ(Launch("threads", 2, "slow"), "32 32\n");
  EXPECT_LT(Waited(), uint64_t{16} * 9 * preload::kGatePeriod);
}

// It would take minutes otherwise.
TEST_F(ShareLaunchesTest, AGateThatOpensLetsThoseGoWhoWait) {
  Gate(kFar);
  std::string text;
  std::atomic<bool> has_ended = false;
  std::thread client([&] {
    text = Launch("dlsym", 200, "cuLaunchKernel");
    has_ended = true;
  });
  while (!has_ended && container_.ReadLedger().header.total == 0) {  // until it has a context
    std::this_thread::yield();
  }
  Rewrite({});
  client.join();
  EXPECT_EQ(text, "200 200\n");
}

// The agent has been killed: its last word holds no more, and the fixed parts do.
TEST_F(ShareLaunchesTest, AGateThatNobodyWritesAnyMoreIsLeftForTheFixedParts) {
  Gate(kFar, {});
  EXPECT_EQ(Launch("dlsym", 200, "cuLaunchKernel"), "200 200\n");
  EXPECT_GT(Waited(), 0U);
}

// The parts of its slots add up, here to the whole device, though the first one's gate says less.
TEST_F(ShareLaunchesTest, FixedPartsOfSeveralSlotsAddUp) {
  container_.Write(1, "version 1\ndevice " + std::string(kDevice) + "\nmemory " +
                          std::to_string(1024 * kMiB) + "\ncompute 75\n");
  Gate(kFar, kFar);
  EXPECT_EQ(Launch("dlsym", 200, "cuLaunchKernel"), "200 200\n");
}

// A hundredth of each period.
TEST_F(ShareLaunchesTest, WithoutAGateThePartsAreFixed) {
  container_.Write(0, "version 1\ndevice " + std::string(kDevice) + "\nmemory " +
                          std::to_string(1024 * kMiB) + "\ncompute 1\n");
  std::string other_version = GateBytes({}, {});
  other_version[offsetof(preload::Gate, version)] = 9;
  for (const std::string& rubbish :
       {std::string(), std::string("x"), std::string(sizeof(preload::Gate), '\0'), other_version}) {
    if (!rubbish.empty()) {
      container_.folder().WriteFile("kgpu-slots/0/gate", rubbish);
    }
    LaunchUntilOneWaits(500, "cuLaunchKernel");
    EXPECT_THAT(container_.Stderr(), EndsWith("kgpu-slots/0/gate: is no gate: the GPU's time is "
                                              "shared by fixed parts\n"));
  }
}

// Without a share there is nothing to wait for, and no stand-in.
TEST_F(ShareLaunchesTest, NothingIsInTheWayWithoutAShare) {
  const Container plain;
  plain.folder().WriteFile("kgpu-slots/0/gate", GateBytes(kFar, kFar));
  EXPECT_EQ(plain.Run("share_launch_client dlsym 50 cuLaunchKernel"), "50 50\n");
  EXPECT_EQ(plain.ReadLedger().header.waited, 0U);
}

TEST_F(ShareLaunchesTest, TheEnvironmentOpensNoGate) {
  Gate(kNarrow);
  for (const char* variable : {"CUDA_DISABLE_CONTROL=true", "GPU_CORE_UTILIZATION_POLICY=disable",
                               "CUDA_DEVICE_SM_LIMIT=100"}) {
    const uint64_t waited = Waited();
    EXPECT_EQ(container_.Run("share_launch_client dlsym 3 cuLaunchKernel", variable), "3 3\n");
    EXPECT_GT(Waited(), waited) << variable;
  }
}

}  // namespace
}  // namespace kgpu::share
