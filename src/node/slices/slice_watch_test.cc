#include "src/node/slices/slice_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/node/sharing/memory/memory.h"
#include "src/platform/sys/root.h"
#include "testing/status_matchers.h"

namespace kgpu::slices {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One container with a slice of 20 GiB.
class SliceWatchTest : public ::testing::Test {
 protected:
  SliceWatchTest()
      : watch_(pods::AtOnce(),
               {.notify = [this](kube::Event event) { events_.push_back(std::move(event)); },
                .kill = [this](const slices::SliceUse& use) -> StatusOr<unsigned> {
                  killed_.insert(killed_.end(), use.processes.begin(), use.processes.end());
                  return static_cast<unsigned>(use.processes.size());
                },
                .evict =
                    [this](const slices::SliceUse& use) {
                      evicted_.push_back(use.user.pod_uid);
                      return evict_status_;
                    }}) {
    pools::Resource& resource = assignment_.resources.emplace_back();
    resource.name = "nvidia.com/gpu-20gi";
    resource.share.by = &sharing::kMemory;
    pools::Slot& slot = resource.slots.emplace_back();
    slot.id = "GPU-a::0";
    slot.device_uuid = kGpu;
    slot.memory = GibiBytes(20);
    pods_.devices.push_back({.resource = resource.name,
                             .device_id = slot.id,
                             .user = {.pod_namespace = "n", .pod = "p", .container = "c"}});
    pods_.processes[7] = {.pod_namespace = "n", .pod = "p", .container = "c", .pod_uid = "u"};
    samples_.gpus.emplace_back().uuid = *device::GpuUuid::Parse(kGpu);
  }
  void Round(uint64_t gibi) {
    device::ProcessSample process;
    process.pid = 7;
    process.memory = GibiBytes(gibi);
    samples_.gpus[0].processes = {process};
    now_ += std::chrono::seconds(15);
    watch_.OnSample({.assignment = assignment_,
                     .held = held_,
                     .snapshot = snapshot_,
                     .samples = samples_,
                     .pods = pods_},
                    has_list_ ? std::optional(now_) : std::nullopt, now_, std::chrono::seconds(15));
  }

  static constexpr const char* kGpu = "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b0000";
  pools::Assignment assignment_;
  pools::Assignment held_;
  SteadyTime now_{};
  bool has_list_ = true;
  device::Snapshot snapshot_;
  device::SampleSet samples_;
  pods::PodMap pods_;
  std::vector<kube::Event> events_;
  std::vector<uint32_t> killed_;
  std::vector<std::string> evicted_;
  Status evict_status_;
  SliceWatch watch_;
};

TEST_F(SliceWatchTest, AnExcessIsAnEventOfItsPod) {
  Round(20);
  EXPECT_THAT(events_, IsEmpty());
  Round(30);
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_EQ(events_[0].reason, "GPUMemoryExceeded");
  EXPECT_TRUE(events_[0].is_warning);
  EXPECT_EQ(events_[0].regarding.name, "p");
  EXPECT_EQ(events_[0].regarding.space, "n");
  EXPECT_THAT(events_[0].note, HasSubstr("container c uses 30 GiB of GPU-5d5ba0d6"));
  EXPECT_THAT(events_[0].note, HasSubstr("allow 20 GiB"));
}

TEST_F(SliceWatchTest, AnExcessThatGoesOnForADayFloodsNobody) {
  for (int round = 0; round < 24 * 60 * 4; ++round) {
    Round(30);
  }
  EXPECT_EQ(events_.size(), 2U + 57U);
  EXPECT_THAT(killed_, IsEmpty()) << "onExcess is event";
}

TEST_F(SliceWatchTest, KillsNobodyByAListThatMayBeOld) {
  assignment_.resources[0].share.on_excess = sharing::OnExcess::kKill;
  has_list_ = false;
  for (int round = 0; round < 10; ++round) {
    Round(30);
  }
  has_list_ = true;
  pods_.problem = "the kubelet does not answer";
  Round(30);
  EXPECT_THAT(killed_, IsEmpty());
  pods_.problem.clear();
  Round(30);
  EXPECT_THAT(killed_, ElementsAre(7));
}

TEST_F(SliceWatchTest, KillsWhenItGoesOn) {
  assignment_.resources[0].share.on_excess = sharing::OnExcess::kKill;
  Round(30);
  EXPECT_THAT(killed_, IsEmpty());
  Round(10);
  Round(30);
  EXPECT_THAT(killed_, IsEmpty()) << "it was no excess in between";
  Round(30);
  EXPECT_THAT(killed_, ElementsAre(7));
  EXPECT_EQ(events_.back().reason, "GPUMemoryKilled");
  EXPECT_THAT(events_.back().note, HasSubstr("1 of its processes on the GPU were killed"));
}

TEST_F(SliceWatchTest, EvictsWhenItGoesOn) {
  assignment_.resources[0].share.on_excess = sharing::OnExcess::kEvict;
  Round(30);
  EXPECT_THAT(evicted_, IsEmpty());
  EXPECT_THAT(events_.back().note, HasSubstr("the pod is evicted if this goes on"));
  Round(30);
  EXPECT_THAT(evicted_, ElementsAre("u"));
  EXPECT_THAT(killed_, IsEmpty());
}

TEST_F(SliceWatchTest, SaysOnceWhyItCannotEvict) {
  assignment_.resources[0].share.on_excess = sharing::OnExcess::kEvict;
  evict_status_ = FailedPrecondition("there is no cluster");
  testing::internal::CaptureStderr();
  for (int round = 0; round < 50; ++round) {
    Round(30);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  const size_t at = log.find("there is no cluster");
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(log.find("there is no cluster", at + 1), std::string::npos) << log;
  EXPECT_EQ(evicted_.size(), 49U);
}

}  // namespace
}  // namespace kgpu::slices
