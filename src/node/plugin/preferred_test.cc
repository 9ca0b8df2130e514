#include "src/node/plugin/preferred.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "src/node/plugin/test_topology.h"
#include "src/node/sharing/mps/mps.h"
#include "src/node/sharing/time/time.h"
#include "testing/status_matchers.h"

namespace kgpu::plugin {
namespace {

using config::SharedPolicy;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<std::string> Ids(const pools::Resource& resource) {
  std::vector<std::string> ids;
  ids.reserve(resource.slots.size());
  for (const pools::Slot& slot : resource.slots) {
    ids.push_back(slot.id);
  }
  return ids;
}

class PreferredPolicyTest : public ::testing::Test {
 protected:
  std::string Id(size_t slot) const { return ids_[slot]; }

  // Two pairs below a PCIe switch each, on a NUMA node of their own.
  const device::Snapshot node_ = PcieTree(4, 0);
  const pools::Resource resource_ = TestResource(node_);
  const std::vector<std::string> ids_ = Ids(resource_);
  const PreferredPolicy policy_{resource_, node_, SharedPolicy::kDistributed};
};

TEST_F(PreferredPolicyTest, GivesWholeGpusByTheirLinks) {
  EXPECT_THAT(policy_.Choose(ids_, {Id(2)}, 2), IsOkAndHolds(ElementsAre(Id(2), Id(3))));
}

TEST_F(PreferredPolicyTest, AnswersAlikeWhateverTheOrder) {
  EXPECT_THAT(policy_.Choose({Id(3), Id(1), Id(0), Id(3)}, {}, 2),
              IsOkAndHolds(ElementsAre(Id(0), Id(1))));
}

TEST_F(PreferredPolicyTest, AnswersAlikeWhenAskedAgain) {
  const auto first = policy_.Choose(ids_, {}, 3);
  ASSERT_OK(first);
  EXPECT_THAT(policy_.Choose(ids_, {}, 3), IsOkAndHolds(ElementsAreArray(*first)));
}

TEST_F(PreferredPolicyTest, GivesAllThatMustBeIncludedAndNoMore) {
  EXPECT_THAT(policy_.Choose(ids_, {Id(0), Id(3)}, 2), IsOkAndHolds(ElementsAre(Id(0), Id(3))));
}

TEST_F(PreferredPolicyTest, GivesAllThatIsAvailable) {
  EXPECT_THAT(policy_.Choose({Id(0), Id(2), Id(3)}, {}, 3),
              IsOkAndHolds(ElementsAre(Id(0), Id(2), Id(3))));
}

TEST_F(PreferredPolicyTest, NamesAnUnknownDevice) {
  EXPECT_THAT(
      policy_.Choose({Id(0), "GPU-\n"}, {}, 1),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("available_deviceIDs: \"GPU-\\x0a\""),
                                                   HasSubstr("nvidia.com/gpu"))));
  EXPECT_THAT(
      policy_.Choose(ids_, {"GPU-1"}, 1),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("must_include_deviceIDs: \"GPU-1\"")));
}

TEST_F(PreferredPolicyTest, RefusesADeviceThatMustBeIncludedAndIsNotAvailable) {
  EXPECT_THAT(policy_.Choose({Id(0), Id(1)}, {Id(2)}, 2),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr(Id(2) + "\" is not in available")));
}

TEST_F(PreferredPolicyTest, RefusesSizesThatCannotBe) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{5}, SIZE_MAX}) {
    EXPECT_THAT(policy_.Choose(ids_, {Id(0), Id(1)}, size),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("allocation_size")))
        << size;
  }
  EXPECT_THAT(policy_.Choose({}, {}, 0), StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(PreferredPolicyTest, KnowsNoDeviceOfAnEmptyResource) {
  const PreferredPolicy policy(pools::Resource{}, node_, SharedPolicy::kPacked);
  EXPECT_THAT(policy.Choose({}, {}, 1), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(policy.Choose({Id(0)}, {}, 1), StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(PreferredPolicyTest, GivesCardsThatTheSnapshotLacks) {
  const PreferredPolicy policy(resource_, device::Snapshot{}, SharedPolicy::kPacked);
  EXPECT_THAT(policy.Choose(ids_, {}, 3), IsOkAndHolds(SizeIs(3)));
}

TEST_F(PreferredPolicyTest, SpreadsSharedSlotsOverCards) {
  const pools::Resource shared = TestResource(node_, 2);
  const PreferredPolicy policy(shared, node_, SharedPolicy::kDistributed);
  EXPECT_THAT(policy.Choose(Ids(shared), {}, 3),
              IsOkAndHolds(ElementsAre(Id(0) + "::0", Id(1) + "::0", Id(2) + "::0")));
}

TEST_F(PreferredPolicyTest, PacksSharedSlotsOnFewCards) {
  const pools::Resource shared = TestResource(node_, 3);
  const PreferredPolicy policy(shared, node_, SharedPolicy::kPacked);
  std::vector<std::string> available = Ids(shared);
  std::erase(available, Id(1) + "::0");
  EXPECT_THAT(policy.Choose(available, {}, 2),
              IsOkAndHolds(ElementsAre(Id(1) + "::1", Id(1) + "::2")));
}

TEST_F(PreferredPolicyTest, SlotsOfARequestByMpsAreOfOneCard) {
  pools::Resource shared = TestResource(node_, 3);
  shared.share.by = &sharing::kMps;
  const PreferredPolicy policy(shared, node_, SharedPolicy::kDistributed);
  EXPECT_THAT(policy.Choose(Ids(shared), {}, 2),
              IsOkAndHolds(ElementsAre(Id(0) + "::0", Id(0) + "::1")));
  std::vector<std::string> available = Ids(shared);
  std::erase(available, Id(0) + "::0");
  EXPECT_THAT(policy.Choose(available, {}, 3),
              IsOkAndHolds(ElementsAre(Id(1) + "::0", Id(1) + "::1", Id(1) + "::2")));
  EXPECT_THAT(policy.Choose(available, {}, 1), IsOkAndHolds(ElementsAre(Id(1) + "::0")))
      << "requests of one are spread as ever";
}

// Two MIG devices of each card.
pools::Resource MigResource(const device::Snapshot& node, unsigned replicas) {
  pools::Resource resource = TestResource(node, 2 * replicas);
  resource.share.by = replicas > 1 ? &sharing::kTime : &sharing::kWhole;
  for (size_t i = 0; i < resource.slots.size(); ++i) {
    pools::Slot& slot = resource.slots[i];
    slot.device_uuid = fmt::format("MIG-{}", i / replicas);
    slot.id = fmt::format("MIG-{}::{}", i / replicas, i % replicas);
  }
  return resource;
}

TEST_F(PreferredPolicyTest, PacksMigDevicesOnCardsInUse) {
  const pools::Resource mig = MigResource(node_, 1);
  const PreferredPolicy policy(mig, node_, SharedPolicy::kDistributed);
  std::vector<std::string> available = Ids(mig);
  available.erase(available.begin() + 4);
  // The card of MIG-4 is in use; then the one of the same NUMA node.
  EXPECT_THAT(policy.Choose(available, {}, 2), IsOkAndHolds(ElementsAre("MIG-5::0", "MIG-6::0")));
}

TEST_F(PreferredPolicyTest, SpreadsSharesOfMigDevicesOverDevicesThenCards) {
  const pools::Resource mig = MigResource(node_, 2);
  const PreferredPolicy policy(mig, node_, SharedPolicy::kDistributed);
  std::vector<std::string> available = Ids(mig);
  std::erase(available, "MIG-0::0");
  // MIG-1 is as free as the others, but its card is not.
  EXPECT_THAT(policy.Choose(available, {}, 3),
              IsOkAndHolds(ElementsAre("MIG-2::0", "MIG-4::0", "MIG-6::0")));
}

TEST_F(PreferredPolicyTest, AnswersForAThousandSlots) {
  const pools::Resource shared = TestResource(node_, 256);
  const std::vector<std::string> ids = Ids(shared);
  for (const SharedPolicy shared_policy : {SharedPolicy::kDistributed, SharedPolicy::kPacked}) {
    const PreferredPolicy policy(shared, node_, shared_policy);
    EXPECT_THAT(policy.Choose(ids, {ids.back()}, 700), IsOkAndHolds(SizeIs(700)));
  }
}

}  // namespace
}  // namespace kgpu::plugin
