#include "src/node/plugin/slot_spread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace kgpu::plugin {
namespace {

using ::testing::ElementsAre;

// `cards` cards with `slots` of each; the first half of the cards is on NUMA node 0.
std::vector<SlotPlace> Places(size_t cards, size_t slots) {
  std::vector<SlotPlace> places;
  for (size_t card = 0; card < cards; ++card) {
    places.insert(places.end(), slots,
                  {.unit = card, .card = card, .numa = card < cards / 2 ? size_t{0} : 1});
  }
  return places;
}

// All of `count` slots but those in use.
std::vector<size_t> AllBut(size_t count, const std::vector<size_t>& used) {
  std::vector<size_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  std::vector<size_t> rest;
  std::ranges::set_difference(all, used, std::back_inserter(rest));
  return rest;
}

TEST(SpreadSlotsTest, ApartTakesTheCardWithTheFewestInUse) {
  const SlotRequest request{
      .available = AllBut(12, {0, 1, 4, 8, 9, 10}), .must_include = {}, .size = 1};
  EXPECT_THAT(SpreadSlots(Places(3, 4), request, Spread::kApart), ElementsAre(5));
}

TEST(SpreadSlotsTest, ApartGivesOneRequestDifferentCards) {
  const SlotRequest request{.available = AllBut(12, {0, 1, 4}), .must_include = {}, .size = 3};
  EXPECT_THAT(SpreadSlots(Places(3, 4), request, Spread::kApart), ElementsAre(2, 5, 8));
}

TEST(SpreadSlotsTest, ApartCountsWhatMustBeIncluded) {
  const SlotRequest request{.available = AllBut(8, {4, 5}), .must_include = {1}, .size = 2};
  EXPECT_THAT(SpreadSlots(Places(2, 4), request, Spread::kApart), ElementsAre(1, 6));
}

TEST(SpreadSlotsTest, ApartTakesEqualCardsInTurn) {
  // Each card has lost one slot: the fifth request starts over with the first card; after a pod
  // has gone and left the counts equal again, another one begins.
  const std::vector<SlotPlace> places = Places(4, 8);
  std::vector<size_t> used;
  std::vector<size_t> cards;
  for (int i = 0; i < 8; ++i) {
    const SlotRequest request{.available = AllBut(32, used), .must_include = {}, .size = 1};
    const size_t slot = SpreadSlots(places, request, Spread::kApart).front();
    cards.push_back(slot / 8);
    used.insert(std::ranges::upper_bound(used, slot), slot);
  }
  EXPECT_THAT(cards, ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
}

TEST(SpreadSlotsTest, TogetherTakesTheCardWithTheMostInUse) {
  const SlotRequest request{.available = AllBut(12, {0, 4, 5, 8}), .must_include = {}, .size = 1};
  EXPECT_THAT(SpreadSlots(Places(3, 4), request, Spread::kTogether), ElementsAre(6));
}

TEST(SpreadSlotsTest, TogetherKeepsARequestOnOneCardWhereOneHoldsIt) {
  const SlotRequest request{.available = AllBut(12, {0, 4, 5, 6}), .must_include = {}, .size = 3};
  EXPECT_THAT(SpreadSlots(Places(3, 4), request, Spread::kTogether), ElementsAre(1, 2, 3));
}

TEST(SpreadSlotsTest, TogetherStaysWhereARequestHasItsFirst) {
  const SlotRequest request{.available = AllBut(12, {0, 1}), .must_include = {9}, .size = 3};
  EXPECT_THAT(SpreadSlots(Places(3, 4), request, Spread::kTogether), ElementsAre(8, 9, 10));
}

TEST(SpreadSlotsTest, TogetherGoesOnOnTheSameNumaNode) {
  const SlotRequest request{.available = AllBut(8, {0, 1, 2}), .must_include = {7}, .size = 3};
  EXPECT_THAT(SpreadSlots(Places(4, 2), request, Spread::kTogether), ElementsAre(4, 6, 7));
}

TEST(SpreadSlotsTest, FillTakesTheLastSlotsOfCardsInUse) {
  const SlotRequest request{.available = AllBut(12, {4, 5, 6}), .must_include = {}, .size = 3};
  // The first and the last card would hold all three; the one in use is filled all the same.
  EXPECT_THAT(SpreadSlots(Places(3, 4), request, Spread::kFill), ElementsAre(7, 8, 9));
}

TEST(SpreadSlotsTest, FillPrefersTheNumaNodeInUseAmongFreshCards) {
  const SlotRequest request{.available = AllBut(8, {4, 5}), .must_include = {}, .size = 1};
  EXPECT_THAT(SpreadSlots(Places(4, 2), request, Spread::kFill), ElementsAre(6));
}

TEST(SpreadSlotsTest, AnswersEverySizeWithSlotsThatAreAvailable) {
  for (const Spread spread : {Spread::kApart, Spread::kTogether, Spread::kFill}) {
    const std::vector<size_t> available = AllBut(15, {0, 1, 2, 7, 9});
    for (size_t size = 2; size <= available.size(); ++size) {
      const SlotRequest request{.available = available, .must_include = {4, 14}, .size = size};
      const std::vector<size_t> slots = SpreadSlots(Places(3, 5), request, spread);
      EXPECT_EQ(slots.size(), size);
      EXPECT_TRUE(std::ranges::includes(available, slots));
      EXPECT_TRUE(std::ranges::includes(slots, request.must_include));
    }
  }
}

}  // namespace
}  // namespace kgpu::plugin
