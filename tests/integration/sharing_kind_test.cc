// A fifth way to share a device, which no product has: all that it takes is here. Configuration,
// assignment, the plugin's answers, its preference and the labels find it through the list of
// kinds.
#include "src/node/sharing/kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "src/node/config/node_config.h"
#include "src/node/labels/gpu_labels.h"
#include "src/node/plugin/answer_cache.h"
#include "src/node/plugin/preferred.h"
#include "src/node/pools/change_guard.h"
#include "src/node/sharing/memory/memory.h"
#include "src/node/sharing/mig/mig.h"
#include "src/node/sharing/mps/mps.h"
#include "src/node/sharing/time/time.h"
#include "testing/status_matchers.h"

namespace kgpu::sharing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Two halves of each GPU from Ampere on: containers read in a variable how many they have.
class HalfKind final : public Kind {
 public:
  constexpr HalfKind()
      : Kind({.name = "half",
              .foreign = {.label = "halves", .capability = "half"},
              .is_of_one_device = true}) {}

  void Check(const GivenFields& given, Share& share, const Refuse& refuse) const override {
    share.replicas = 2;
    if (given.replicas || given.size || given.layout || given.memory || given.threads) {
      refuse("by: half takes multiple alone: remove the other fields");
    }
  }
  Status CheckDevice(const Share& /*share*/, const Device& device) const override {
    return device.gpu->compute && device.gpu->compute->major >= 8
               ? OkStatus()
               : FailedPrecondition("halves need compute capability 8.0");
  }
  StatusOr<std::vector<Cut>> CutsOf(const Share& share,
                                    std::optional<Bytes> /*usable*/) const override {
    return std::vector<Cut>{{.share = share, .slots = 2}};
  }
  std::string ShapeOf(const Share& /*share*/, const Limits& /*limits*/) const override {
    return " half\n";
  }
  Status CheckRequest(std::span<const SlotPart> slots, const Share& /*share*/) const override {
    return slots.size() == 1 || slots.front().device_uuid == slots.back().device_uuid
               ? OkStatus()
               : InvalidArgument("halves of two GPUs are no GPU");
  }
  Access AccessTo(std::span<const SlotPart> slots, const Share& /*share*/,
                  const Places& /*places*/) const override {
    return {.envs = {{"HALVES", std::to_string(slots.size())}}, .mounts = {}};
  }
};

constinit const HalfKind kHalf;

}  // namespace

// In place of the product's list.
std::span<const Kind* const> Kinds() {
  static constexpr std::array<const Kind*, 5> kKinds = {&kTime, &kMemory, &kMps, &kMig, &kHalf};
  return kKinds;
}

namespace {

constexpr char kFirst[] = "GPU-00000000-0000-0000-0000-000000000000";
constexpr char kSecond[] = "GPU-11111111-1111-1111-1111-111111111111";
constexpr char kOld[] = "GPU-22222222-2222-2222-2222-222222222222";

device::Snapshot Gpus() {
  device::Snapshot snapshot;
  snapshot.driver.state = device::DriverState::kReady;
  for (const char* uuid : {kFirst, kSecond, kOld}) {
    device::Gpu& gpu = snapshot.gpus.emplace_back();
    gpu.uuid = *device::GpuUuid::Parse(uuid);
    gpu.model = "A100";
    gpu.name = "NVIDIA A100";
    gpu.compute = device::ComputeCapability{.major = uuid == kOld ? 7 : 8, .minor = 0};
  }
  return snapshot;
}

StatusOr<config::NodeConfig> Config(std::string_view share) {
  return config::ParseNodeConfig(
      fmt::format("apiVersion: kgpu.dev/v1\nkind: NodeConfig\npools:\n- devices: all\n"
                  "  share: {}\n",
                  share),
      "n.yaml");
}

pools::Assignment Halves() {
  return pools::AssignDevices(Gpus(), *Config("{by: half, multiple: allow}"));
}

std::string Slot(const char* gpu, unsigned replica) {
  return fmt::format("{}::{}", gpu, replica);
}

TEST(SharingKindTest, ItsSettingsAreReadCheckedAndPrinted) {
  const auto config = Config("{by: half}");
  ASSERT_OK(config);
  EXPECT_EQ(config->pools.front().share.by, &kHalf);
  EXPECT_THAT(config::PrintNodeConfig(*config), HasSubstr("by: half"));
  EXPECT_THAT(Config("{by: half, size: 1/2}"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("by: half takes multiple alone")));
  EXPECT_THAT(Config("{by: third}"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("time, memory, mps, mig or half")));
}

TEST(SharingKindTest, ItsPoolsCannotBeLentUnlessItAllowsThat) {
  EXPECT_THAT(
      Config("{by: half}\n  provider: local"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("lends whole GPUs or memory slices")));
}

TEST(SharingKindTest, DevicesAreDividedAndThoseThatCannotBeAreUnassigned) {
  const pools::Assignment assignment = Halves();
  const pools::Resource* resource = assignment.Find("nvidia.com/gpu");
  ASSERT_NE(resource, nullptr);
  EXPECT_THAT(resource->slots, SizeIs(4));
  ASSERT_THAT(assignment.unassigned, SizeIs(1));
  EXPECT_THAT(assignment.unassigned.front().reason, HasSubstr("halves need compute capability"));
}

TEST(SharingKindTest, AContainerGetsWhatTheKindGives) {
  const pools::Assignment assignment = Halves();
  const pools::Resource& resource = *assignment.Find("nvidia.com/gpu");
  plugin::Delivery delivery;
  delivery.strategies = {config::DeviceListStrategy::kEnvvar};
  const plugin::AnswerCache cache(resource, Gpus(), nullptr, delivery);
  const auto answer = cache.For(std::vector{Slot(kFirst, 0), Slot(kFirst, 1)});
  ASSERT_OK(answer);
  EXPECT_EQ(answer->envs.at("HALVES"), "2");
  EXPECT_THAT(cache.For(std::vector{Slot(kFirst, 0), Slot(kSecond, 1)}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("halves of two GPUs are no GPU")));
}

TEST(SharingKindTest, ThePreferenceKeepsItsRules) {
  const pools::Assignment assignment = Halves();
  const plugin::PreferredPolicy policy(*assignment.Find("nvidia.com/gpu"), Gpus(),
                                       config::SharedPolicy::kDistributed);
  const auto chosen = policy.Choose({Slot(kFirst, 0), Slot(kSecond, 0), Slot(kSecond, 1)}, {}, 2);
  ASSERT_OK(chosen);
  EXPECT_THAT(*chosen, ::testing::UnorderedElementsAre(Slot(kSecond, 0), Slot(kSecond, 1)));
}

TEST(SharingKindTest, ADeviceThatIsInUseDoesNotBecomeOneOfItsKind) {
  pools::ChangeGuard guard;
  const auto is_free = [](const std::string& /*device*/, SteadyTime /*since*/) {
    return std::string();
  };
  const auto is_used = [](const std::string& /*device*/, SteadyTime /*since*/) {
    return std::string("a pod uses it");
  };
  const pools::Assignment before =
      pools::AssignDevices(Gpus(), *Config("{by: time, replicas: 2, multiple: allow}"));
  pools::Assignment shown = before;
  guard.Apply(shown, {}, SteadyTime(), is_free);
  pools::Assignment after = Halves();
  guard.Apply(after, before, SteadyTime(), is_used);
  EXPECT_THAT(after.Find("nvidia.com/gpu")->slots, SizeIs(0));
}

TEST(SharingKindTest, TheLabelsNameIt) {
  const auto claims = labels::GpuClaims(Gpus(), *Config("{by: half}"), {});
  EXPECT_EQ(claims.labels.at("nvidia.com/gpu.sharing-strategy"), "halves");
  EXPECT_EQ(claims.labels.at("nvidia.com/gpu.replicas"), "2");
  EXPECT_EQ(claims.labels.at("nvidia.com/half.capable"), "true");
  EXPECT_EQ(claims.labels.at("nvidia.com/mps.capable"), "false");
}

}  // namespace
}  // namespace kgpu::sharing
