#include "src/node/dra/offer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/node/pools/test_node.h"

namespace kgpu::dra {
namespace {

namespace json = boost::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr uint16_t kA100 = 0x20b2;  // SXM4, 80 GB

class OfferTest : public ::testing::Test {
 protected:
  explicit OfferTest() : snapshot_(pools::TestNode(2)) {
    for (device::Gpu& gpu : snapshot_.gpus) {
      gpu.minor = gpu.index;
      gpu.pci_device_id = kA100;
      gpu.usable_memory = gpu.memory;
    }
  }
  std::vector<CardOffer> Offers(std::string_view config, const OfferOptions& options = {}) const {
    return OffersOf(snapshot_, pools::AssignDevices(snapshot_, pools::TestConfig(config)).resources,
                    options);
  }
  static std::vector<std::string> NamesOf(const CardOffer& card) {
    std::vector<std::string> names;
    names.reserve(card.offers.size());
    for (const Offer& offer : card.offers) {
      names.push_back(offer.name);
    }
    return names;
  }
  static const Offer& Find(const CardOffer& card, std::string_view name) {
    const auto found = std::ranges::find(card.offers, name, &Offer::name);
    EXPECT_NE(found, card.offers.end()) << name;
    return found == card.offers.end() ? card.offers.front() : *found;
  }

  device::Snapshot snapshot_;
};

TEST_F(OfferTest, AWholeGpuIsOneDevice) {
  const std::vector<CardOffer> cards = Offers("");
  ASSERT_THAT(cards, SizeIs(2));
  EXPECT_THAT(cards[0].counters, IsEmpty());
  ASSERT_THAT(NamesOf(cards[1]), ElementsAre("gpu-1"));
  const Offer& offer = cards[1].offers[0];
  EXPECT_EQ(offer.device_uuid, pools::TestGpuName(1));
  EXPECT_FALSE(offer.device.contains("allowMultipleAllocations"));
  EXPECT_FALSE(offer.device.contains("taints"));
  EXPECT_EQ(offer.device.at("capacity").at("memory").at("value"), json::value("80Gi"));
  EXPECT_EQ(offer.device.at("capacity").at("multiprocessors").at("value"), json::value("98"));
}

TEST_F(OfferTest, AClaimTakesOneOfTheSharesOfAGpu) {
  const std::vector<CardOffer> cards = Offers("pools: [{share: {by: time, replicas: 4}}]\n");
  const Offer& offer = Find(cards[0], "gpu-0");
  EXPECT_THAT(offer.slots, SizeIs(4));
  EXPECT_EQ(offer.device.at("allowMultipleAllocations"), json::value(true));
  EXPECT_EQ(offer.device.at("capacity").at("shares"),
            json::parse(R"({"value":"4","requestPolicy":{"default":"1",
                "validRange":{"min":"1","step":"1","max":"4"}}})"));
  EXPECT_EQ(offer.device.at("capacity").at("memory").at("requestPolicy").at("default"),
            json::value("0"));
}

TEST_F(OfferTest, MemoryIsTakenInSlices) {
  const std::vector<CardOffer> cards = Offers("pools: [{share: {by: memory, size: 20Gi}}]\n");
  ASSERT_THAT(NamesOf(cards[0]), ElementsAre("gpu-0-20gi"));
  const Offer& offer = cards[0].offers[0];
  EXPECT_THAT(offer.slots, SizeIs(4));
  EXPECT_EQ(offer.resource, "nvidia.com/gpu-20gi");
  EXPECT_EQ(offer.device.at("capacity").at("memory"),
            json::parse(R"({"value":"80Gi","requestPolicy":{"default":"20Gi",
                "validRange":{"min":"20Gi","step":"20Gi","max":"80Gi"}}})"));
  // Without a policy, a claim that does not ask for one of these would take all of it.
  for (const auto& capacity : offer.device.at("capacity").as_object()) {
    EXPECT_TRUE(capacity.value().as_object().contains("requestPolicy")) << capacity.key();
  }
}

TEST_F(OfferTest, SlicesOfSeveralSizesAreSeveralDevices) {
  const std::vector<CardOffer> cards =
      Offers("pools: [{share: {by: memory, layout: [40Gi, 20Gi, 20Gi]}}]\n");
  EXPECT_THAT(NamesOf(cards[0]), UnorderedElementsAre("gpu-0-40gi", "gpu-0-20gi"));
  EXPECT_THAT(Find(cards[0], "gpu-0-20gi").slots, SizeIs(2));
}

TEST_F(OfferTest, MigDevicesThatExistAreDevices) {
  pools::AddTestMig(snapshot_, 1, {"1g.10gb", "3g.40gb"});
  snapshot_.gpus[1].mig_devices[0].placement_start = 6;
  snapshot_.gpus[1].mig_devices[1].placement_start = 0;
  const std::vector<CardOffer> cards = Offers("migStrategy: mixed\n");
  EXPECT_THAT(NamesOf(cards[1]),
              UnorderedElementsAre("gpu-1-mig-1g10gb-19-6", "gpu-1-mig-3g40gb-9-0"));
  const Offer& offer = Find(cards[1], "gpu-1-mig-1g10gb-19-6");
  EXPECT_EQ(offer.device.at("attributes").at("profile").at("string"), json::value("1g.10gb"));
  EXPECT_EQ(offer.device.at("attributes").at("parentUUID").at("string"),
            json::value(pools::TestGpuName(1)));
  EXPECT_EQ(offer.device.at("capacity").at("memorySlice6").at("value"), json::value("1"));
}

TEST_F(OfferTest, AGpuThatIsPartitionedForClaimsOffersEveryPlacement) {
  const std::vector<CardOffer> cards = Offers("", {.partitioned = {snapshot_.gpus[0].uuid.str()}});
  EXPECT_THAT(cards[1].offers, SizeIs(1));
  // 7 × 1g, 7 × 1g+me, 4 × 1g.20gb, 3 × 2g, 2 × 3g, 4g, 7g, and the whole.
  EXPECT_THAT(cards[0].offers, SizeIs(26));
  const Offer& half = Find(cards[0], "gpu-0-mig-3g40gb-9-4");
  EXPECT_EQ(half.device_uuid, "");
  ASSERT_TRUE(half.placement);
  EXPECT_EQ(half.placement->start, 4U);
  const json::object& used = half.device.at("consumesCounters").at(0).at("counters").as_object();
  EXPECT_EQ(used.at("memory-slice-4"), json::parse(R"({"value":"1"})"));
  EXPECT_FALSE(used.contains("memory-slice-3"));
  EXPECT_EQ(used.at("compute-slices"), json::parse(R"({"value":"3"})"));
  // The whole GPU takes all that there is.
  EXPECT_EQ(Find(cards[0], "gpu-0").device.at("consumesCounters").at(0).at("counters"),
            cards[0].counters.at("counters"));
}

// Somebody else has made it, and may use it: it stays, and so does what it takes.
TEST_F(OfferTest, AMigDeviceOfNobodysClaimIsOfferedWithWhatItLeaves) {
  pools::AddTestMig(snapshot_, 0, {"3g.40gb"});
  snapshot_.gpus[0].mig_devices[0].placement_start = 0;
  const std::string config = "serve: {by: dra}\npools: [{mig: dynamic}]\n";
  const OfferOptions options = {.partitioned = {snapshot_.gpus[0].uuid.str()}};
  const CardOffer card = Offers(config, options)[0];
  const Offer& there = Find(card, "gpu-0-mig-3g40gb-9-0");
  EXPECT_EQ(there.device_uuid, snapshot_.gpus[0].mig_devices[0].uuid.str());
  EXPECT_FALSE(there.placement);
  ASSERT_TRUE(there.unclaimed);
  EXPECT_EQ(there.unclaimed->profile, "3g.40gb");
  const std::vector<std::string> names = NamesOf(card);
  EXPECT_THAT(names, Not(Contains("gpu-0"))) << "no longer whole";
  EXPECT_THAT(names, Contains("gpu-0-mig-3g40gb-9-4"));
  EXPECT_THAT(names, Not(Contains("gpu-0-mig-1g10gb-19-2"))) << "its memory is taken";
  const json::object& left = card.counters.at("counters").as_object();
  EXPECT_EQ(left.at("memory-slice-3"), json::parse(R"({"value":"0"})"));
  EXPECT_EQ(left.at("compute-slices"), json::parse(R"({"value":"4"})"));
  // The same, made for a claim: the scheduler counts it.
  OfferOptions claimed = options;
  claimed.made = {"gpu-0-mig-3g40gb-9-0"};
  const CardOffer all = Offers(config, claimed)[0];
  EXPECT_THAT(NamesOf(all), Contains("gpu-0-mig-1g10gb-19-2"));
  EXPECT_EQ(Find(all, "gpu-0-mig-3g40gb-9-0").device_uuid, "");
  EXPECT_TRUE(Find(all, "gpu-0").is_mig_on);
}

TEST_F(OfferTest, AGpuThatOnlyAResetTakesOutOfMigModeIsNotOfferedWhole) {
  snapshot_.gpus[0].architecture = "ampere";
  snapshot_.gpus[0].mig_mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
  const std::string config = "serve: {by: dra}\npools: [{mig: dynamic}]\n";
  const CardOffer card = Offers(config, {.partitioned = {snapshot_.gpus[0].uuid.str()}})[0];
  EXPECT_THAT(NamesOf(card), Not(Contains("gpu-0")));
  EXPECT_THAT(NamesOf(card), SizeIs(25));
}

// The scheduler takes the first that is free.
TEST_F(OfferTest, TheFirstPlacementLeavesMostRoom) {
  const std::vector<CardOffer> cards = Offers("", {.partitioned = {snapshot_.gpus[0].uuid.str()}});
  const std::vector<std::string> names = NamesOf(cards[0]);
  const auto first = std::ranges::find_if(
      names, [](const std::string& name) { return name.starts_with("gpu-0-mig-1g10gb-19-"); });
  EXPECT_EQ(*first, "gpu-0-mig-1g10gb-19-6") << "0 would leave no room for 4g.40gb";
}

TEST_F(OfferTest, AnUnhealthyGpuTaintsAllThatIsOnIt) {
  snapshot_.gpus[0].health = {.is_healthy = false, .reason = "Xid79", .message = ""};
  const std::vector<CardOffer> cards = Offers("", {.partitioned = {snapshot_.gpus[0].uuid.str()}});
  for (const Offer& offer : cards[0].offers) {
    EXPECT_TRUE(offer.device.contains("taints")) << offer.name;
  }
  EXPECT_FALSE(cards[1].offers[0].device.contains("taints"));
}

TEST(MigDeviceNameTest, IsADnsLabel) {
  EXPECT_EQ(MigDeviceName(3, "1g.10gb+me", 20, 2), "gpu-3-mig-1g10gb-me-20-2");
}

}  // namespace
}  // namespace kgpu::dra
