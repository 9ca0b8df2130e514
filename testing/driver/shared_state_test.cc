#include "testing/driver/shared_state.h"

#include <gmock/gmock.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>
#include <vector>

#include "testing/driver/sample_state.h"
#include "testing/status_matchers.h"

namespace kgpu::sim {
namespace {

// Reads two values that are always written together, until asked to stop.
void ReadPairs(const SimState& state, const std::stop_token& stop, std::atomic<uint64_t>& reads,
               std::atomic<uint64_t>& torn) {
  // Loads only: the mapping is read-only.
  const std::atomic_ref<uint64_t> sequence(const_cast<uint64_t&>(state.sequence));
  auto& use = const_cast<SimUtilization&>(state.gpus[0].utilization);
  while (!stop.stop_requested()) {
    const uint64_t before = sequence.load(std::memory_order_acquire);
    const uint32_t gpu = std::atomic_ref(use.gpu).load(std::memory_order_acquire);
    const uint32_t memory = std::atomic_ref(use.memory).load(std::memory_order_acquire);
    if ((before & 1) == 0 && sequence.load(std::memory_order_relaxed) == before) {
      torn += gpu == memory ? 0 : 1;
      ++reads;
    }
    std::this_thread::yield();
  }
}

TEST(SharedStateTest, ReadersNeverSeeHalfAChange) {
  const auto shared = SharedState::Create();
  ASSERT_OK(shared);
  const auto state = SampleState(1);
  (*shared)->Write(*state);
  void* mapped =
      mmap(nullptr, sizeof(SimState), PROT_READ, MAP_SHARED, (*shared)->read_only_fd(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  std::atomic<uint64_t> reads = 0;
  std::atomic<uint64_t> torn = 0;
  {
    std::vector<std::jthread> readers;
    readers.reserve(8);
    for (int i = 0; i < 8; ++i) {
      readers.emplace_back([&](const std::stop_token& stop) {
        ReadPairs(*static_cast<const SimState*>(mapped), stop, reads, torn);
      });
    }
    for (uint32_t round = 0; round < 500 || reads.load() < 1000; ++round) {
      state->gpus[0].utilization.gpu = state->gpus[0].utilization.memory = round;
      (*shared)->Write(*state);
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(torn.load(), 0U);
  munmap(mapped, sizeof(SimState));
}

TEST(SharedStateTest, ForgetsGpusThatANewStateLacks) {
  const auto shared = SharedState::Create();
  ASSERT_OK(shared);
  (*shared)->Write(*SampleState(2));
  (*shared)->Write(*SampleState(1));
  void* mapped =
      mmap(nullptr, sizeof(SimState), PROT_READ, MAP_SHARED, (*shared)->read_only_fd(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto* state = static_cast<const SimState*>(mapped);
  EXPECT_EQ(state->gpu_count, 1U);
  EXPECT_EQ(state->gpus[1].is_present, 0U);
  EXPECT_EQ(state->sequence % 2, 0U);
  munmap(mapped, sizeof(SimState));
}

}  // namespace
}  // namespace kgpu::sim
