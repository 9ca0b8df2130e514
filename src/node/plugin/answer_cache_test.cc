#include "src/node/plugin/answer_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/node/sharing/mps/mps.h"
#include "src/node/sharing/time/time.h"
#include "testing/status_matchers.h"

namespace kgpu::plugin {
namespace {

using config::DeviceListStrategy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kFirst[] = "GPU-00000000-0000-0000-0000-000000000000";
constexpr char kSecond[] = "GPU-11111111-1111-1111-1111-111111111111";

device::Snapshot TwoGpus() {
  device::Snapshot snapshot;
  for (const char* uuid : {kFirst, kSecond}) {
    device::Gpu gpu;
    gpu.uuid = device::GpuUuid::Parse(uuid).value();
    gpu.index = static_cast<unsigned>(snapshot.gpus.size());
    snapshot.gpus.push_back(std::move(gpu));
  }
  return snapshot;
}

std::shared_ptr<const inject::InjectionPlan> Plan() {
  inject::InjectionPlan plan;
  for (const auto& [index, uuid] : {std::pair("0", kFirst), std::pair("1", kSecond)}) {
    cdi::DeviceNode node;
    node.path = fmt::format("/dev/nvidia{}", index);
    node.host_path = fmt::format("/host/dev/nvidia{}", index);
    node.permissions = "rw";
    plan.devices.push_back({{index, uuid}, {node}});
  }
  cdi::DeviceNode control;
  control.path = "/dev/nvidiactl";
  control.permissions = "rw";
  plan.nodes.push_back(control);
  plan.mounts.push_back({"/host/libcuda.so.1", "/usr/lib/libcuda.so.1", {"ro", "rbind"}, ""});
  plan.mounts.push_back({"/run/socket", "/run/socket", {"rbind"}, ""});
  return std::make_shared<const inject::InjectionPlan>(std::move(plan));
}

pools::Resource Resource(unsigned replicas) {
  pools::Resource resource;
  resource.name = "nvidia.com/gpu";
  for (const device::Gpu& gpu : TwoGpus().gpus) {
    for (unsigned replica = 0; replica < replicas; ++replica) {
      pools::Slot slot;
      slot.device_uuid = gpu.uuid.str();
      slot.id = replicas == 1 ? slot.device_uuid : fmt::format("{}::{}", slot.device_uuid, replica);
      slot.gpu = gpu.uuid;
      slot.replica = replica;
      resource.slots.push_back(std::move(slot));
    }
  }
  return resource;
}

AnswerCache Cache(std::set<DeviceListStrategy> strategies, unsigned replicas = 1) {
  Delivery delivery;
  delivery.strategies = std::move(strategies);
  return {Resource(replicas), TwoGpus(), Plan(), std::move(delivery)};
}

const std::vector<std::string> kBoth = {kSecond, kFirst};

TEST(AnswerCacheTest, NamesCdiDevices) {
  const auto answer = Cache({DeviceListStrategy::kCdiCri}).For(kBoth);
  ASSERT_OK(answer.status());
  EXPECT_THAT(answer->cdi_devices, ElementsAre(fmt::format("kgpu.dev/gpu={}", kFirst),
                                               fmt::format("kgpu.dev/gpu={}", kSecond)));
  EXPECT_THAT(answer->envs, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "void")));
  EXPECT_THAT(answer->devices, IsEmpty());
  EXPECT_THAT(answer->mounts, IsEmpty());
}

TEST(AnswerCacheTest, AnnotatesWithALegalKeyThatDependsOnTheDevicesOnly) {
  const AnswerCache cache = Cache({DeviceListStrategy::kCdiAnnotations});
  const auto answer = cache.For(kBoth);
  ASSERT_OK(answer.status());
  ASSERT_THAT(answer->annotations, SizeIs(1));
  const auto& [key, value] = *answer->annotations.begin();
  EXPECT_THAT(key, ::testing::MatchesRegex("cdi\\.k8s\\.io/kgpu_[0-9a-f]{16}"));
  EXPECT_EQ(value, fmt::format("kgpu.dev/gpu={},kgpu.dev/gpu={}", kFirst, kSecond));
  EXPECT_EQ(*cache.For(std::vector<std::string>{kFirst, kSecond}), *answer);
  EXPECT_NE(cache.For(std::vector<std::string>{kFirst})->annotations.begin()->first, key);
}

TEST(AnswerCacheTest, NamesGpusToNvidiasRuntime) {
  const auto answer = Cache({DeviceListStrategy::kEnvvar}).For(kBoth);
  ASSERT_OK(answer.status());
  EXPECT_THAT(answer->envs,
              ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", fmt::format("{},{}", kFirst, kSecond))));
}

TEST(AnswerCacheTest, NamesGpusByIndexWhenAsked) {
  Delivery delivery;
  delivery.strategies = {DeviceListStrategy::kEnvvar};
  delivery.device_ids = config::DeviceIdStrategy::kIndex;
  const AnswerCache cache(Resource(1), TwoGpus(), nullptr, delivery);
  EXPECT_THAT(cache.For(kBoth)->envs, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "0,1")));
}

TEST(AnswerCacheTest, MountsNamesForNvidiasRuntime) {
  const auto answer = Cache({DeviceListStrategy::kVolumeMounts}).For(kBoth);
  ASSERT_OK(answer.status());
  EXPECT_THAT(answer->envs,
              ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "/var/run/nvidia-container-devices")));
  EXPECT_THAT(
      answer->mounts,
      ElementsAre(
          AnswerMount{fmt::format("/var/run/nvidia-container-devices/{}", kFirst), "/dev/null"},
          AnswerMount{fmt::format("/var/run/nvidia-container-devices/{}", kSecond), "/dev/null"}));
}

TEST(AnswerCacheTest, GivesNodesAndMountsThatNeedNothingOfTheRuntime) {
  const auto answer =
      Cache({DeviceListStrategy::kDeviceSpecs, DeviceListStrategy::kMounts}).For(kBoth);
  ASSERT_OK(answer.status());
  EXPECT_THAT(answer->devices,
              UnorderedElementsAre(AnswerDevice{"/dev/nvidiactl", "/dev/nvidiactl", "rw"},
                                   AnswerDevice{"/dev/nvidia0", "/host/dev/nvidia0", "rw"},
                                   AnswerDevice{"/dev/nvidia1", "/host/dev/nvidia1", "rw"}));
  EXPECT_THAT(answer->mounts,
              ElementsAre(AnswerMount{"/usr/lib/libcuda.so.1", "/host/libcuda.so.1", true},
                          AnswerMount{"/run/socket", "/run/socket", false}));
  EXPECT_THAT(answer->envs, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "void")));
}

TEST(AnswerCacheTest, GivesADeviceOnceForSeveralOfItsSlots) {
  const auto answer = Cache({DeviceListStrategy::kCdiCri}, 4)
                          .For(std::vector<std::string>{fmt::format("{}::3", kFirst),
                                                        fmt::format("{}::0", kFirst)});
  ASSERT_OK(answer.status());
  EXPECT_THAT(answer->cdi_devices, ElementsAre(fmt::format("kgpu.dev/gpu={}", kFirst)));
}

TEST(AnswerCacheTest, RefusesSeveralSlotsWhereThePoolSaysSo) {
  pools::Resource resource = Resource(2);
  resource.share = {
      .by = &sharing::kTime, .replicas = 2, .multiple = sharing::MultipleSlots::kRefuse};
  Delivery delivery;
  delivery.strategies = {DeviceListStrategy::kCdiCri};
  const AnswerCache cache(resource, TwoGpus(), Plan(), delivery);
  EXPECT_THAT(cache.For(std::vector<std::string>{fmt::format("{}::0", kFirst),
                                                 fmt::format("{}::1", kFirst)}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("share.multiple")));
  EXPECT_OK(cache.For(std::vector<std::string>{fmt::format("{}::0", kFirst)}).status());
}

pools::Resource MpsResource(sharing::MultipleSlots multiple) {
  pools::Resource resource = Resource(4);
  resource.share = {.by = &sharing::kMps, .replicas = 4, .multiple = multiple};
  for (pools::Slot& slot : resource.slots) {
    slot.memory = GibiBytes(4);
    slot.threads = 25;
  }
  return resource;
}

TEST(AnswerCacheTest, AnMpsSlotComesWithTheWayToItsDaemon) {
  Delivery delivery;
  delivery.strategies = {DeviceListStrategy::kCdiCri};
  const AnswerCache cache(MpsResource(sharing::MultipleSlots::kRefuse), TwoGpus(), Plan(), delivery,
                          {.slices = "/share", .mps = "/run/kgpu/mps"});
  const auto answer = cache.For(std::vector<std::string>{fmt::format("{}::2", kSecond)});
  ASSERT_OK(answer);
  EXPECT_THAT(answer->envs,
              UnorderedElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "void"),
                                   Pair("CUDA_MPS_PIPE_DIRECTORY", "/usr/lib/kgpu/mps"),
                                   Pair("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25"),
                                   Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=4096M")));
  const AnswerMount pipe{"/usr/lib/kgpu/mps", fmt::format("/run/kgpu/mps/{}/pipe", kSecond), false};
  EXPECT_THAT(answer->mounts, ::testing::Contains(pipe));
  EXPECT_THAT(answer->mounts, ::testing::Contains(AnswerMount{"/dev/shm", "/dev/shm", false}));
  EXPECT_THAT(answer->mounts, ::testing::Contains(::testing::Field(&AnswerMount::container_path,
                                                                   "/etc/ld.so.preload")))
      << "the limit of the whole container";
}

TEST(AnswerCacheTest, MpsSlotsOfOneDeviceAddUpAndOthersAreRefused) {
  Delivery delivery;
  delivery.strategies = {DeviceListStrategy::kCdiCri};
  const AnswerCache cache(MpsResource(sharing::MultipleSlots::kAllow), TwoGpus(), Plan(), delivery);
  const auto answer = cache.For(
      std::vector<std::string>{fmt::format("{}::0", kFirst), fmt::format("{}::1", kFirst)});
  ASSERT_OK(answer);
  EXPECT_EQ(answer->envs.at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "50");
  EXPECT_EQ(answer->envs.at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "0=8192M");
  EXPECT_THAT(cache.For(std::vector<std::string>{fmt::format("{}::0", kFirst),
                                                 fmt::format("{}::1", kSecond)}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the MPS daemon of one device")));
}

TEST(AnswerCacheTest, RefusesWhatItDoesNotHave) {
  const AnswerCache cache = Cache({DeviceListStrategy::kCdiCri});
  EXPECT_THAT(cache.For(std::vector<std::string>{"GPU-x"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"GPU-x\"")));
  EXPECT_THAT(cache.For(std::vector<std::string>{}), StatusIs(StatusCode::kInvalidArgument));
}

TEST(AnswerCacheTest, RefusesAnUnhealthyDeviceWithItsReason) {
  pools::Resource resource = Resource(1);
  resource.slots[0].health = {false, "Xid79", "The GPU has fallen off the bus."};
  Delivery delivery;
  delivery.strategies = {DeviceListStrategy::kCdiCri};
  const AnswerCache cache(resource, TwoGpus(), Plan(), delivery);
  EXPECT_THAT(cache.For(std::vector<std::string>{kFirst}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("Xid79")));
}

TEST(AnswerCacheTest, RefusesADeviceWithoutNodes) {
  auto plan = std::make_shared<inject::InjectionPlan>(*Plan());
  plan->devices.pop_back();
  Delivery delivery;
  delivery.strategies = {DeviceListStrategy::kCdiCri};
  const AnswerCache cache(Resource(1), TwoGpus(), plan, delivery);
  EXPECT_THAT(cache.For(std::vector<std::string>{kSecond}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("kgpu cdi generate")));
  EXPECT_OK(cache.For(std::vector<std::string>{kFirst}).status());
}

TEST(AnswerCacheTest, RefusesAWholeGpuInMigModeWithTheFix) {
  device::Snapshot snapshot = TwoGpus();
  snapshot.gpus[1].mig_mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
  auto plan = std::make_shared<inject::InjectionPlan>(*Plan());
  plan->devices.pop_back();
  Delivery delivery;
  delivery.strategies = {DeviceListStrategy::kDeviceSpecs};
  const AnswerCache cache(Resource(1), snapshot, plan, delivery);
  EXPECT_THAT(cache.For(std::vector<std::string>{kSecond}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("migStrategy: mixed")));
}

}  // namespace
}  // namespace kgpu::plugin
