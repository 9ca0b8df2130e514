#include "src/node/plugin/best_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "src/node/plugin/test_topology.h"

namespace kgpu::plugin {
namespace {

using ::testing::ElementsAre;

std::vector<size_t> FirstCards(size_t count) {
  std::vector<size_t> cards(count);
  std::iota(cards.begin(), cards.end(), 0);
  return cards;
}

std::vector<size_t> Without(const std::vector<size_t>& all, const std::vector<size_t>& some) {
  std::vector<size_t> rest;
  std::ranges::set_difference(all, some, std::back_inserter(rest));
  return rest;
}

int64_t Linkage(const LinkTable& links, const std::vector<size_t>& cards) {
  int64_t sum = 0;
  for (const size_t a : cards) {
    for (const size_t b : cards) {
      sum += a < b ? links.score(a, b) : 0;
    }
  }
  return sum;
}

// What the two requests say of a set, the larger the better.
using Worth = std::pair<int64_t, int64_t>;

Worth WorthOf(const LinkTable& links, const SlotRequest& request, const std::vector<size_t>& set) {
  return {Linkage(links, set), Linkage(links, Without(request.available, set))};
}

// By definition: every subset, each summed from scratch.
Worth BestWorth(const LinkTable& links, const SlotRequest& request) {
  Worth best{-1, -1};
  for (uint32_t bits = 0; bits < (1U << request.available.size()); ++bits) {
    if (static_cast<size_t>(std::popcount(bits)) != request.size) {
      continue;
    }
    std::vector<size_t> set;
    for (size_t i = 0; i < request.available.size(); ++i) {
      if ((bits >> i & 1U) != 0) {
        set.push_back(request.available[i]);
      }
    }
    if (std::ranges::includes(set, request.must_include)) {
      best = std::max(best, WorthOf(links, request, set));
    }
  }
  return best;
}

// A part of the cards and of those some that must be in the set; any size that is allowed.
SlotRequest RandomRequest(size_t cards, std::mt19937& random) {
  SlotRequest request;
  for (size_t card = 0; card < cards; ++card) {
    if (random() % 4 != 0) {
      request.available.push_back(card);
      if (random() % 5 == 0) {
        request.must_include.push_back(card);
      }
    }
  }
  const size_t fewest = request.must_include.size();
  request.size = fewest + random() % (request.available.size() - fewest + 1);
  return request;
}

std::vector<std::pair<std::string, device::Snapshot>> NodesThatAreSold(size_t count) {
  std::vector<std::pair<std::string, device::Snapshot>> nodes = {
      {"NVSwitch", AllToAll(count, 12)},
      {"PCIe", PcieTree(count, 0)},
      {"PCIe, pairs bridged", PcieTree(count, 4)},
      {"mixed", Mixed(count)},
      {"without topology", TestNode(count)}};
  if (count == 8) {
    nodes.emplace_back("partial mesh", PartialMesh());
  }
  return nodes;
}

// How often and how far a search misses the best set.
struct Misses {
  int requests = 0;
  int missed = 0;
  double worst_share_lost = 0;  // of the best linkage

  void Count(const Worth& got, const Worth& best) {
    ++requests;
    missed += got == best ? 0 : 1;
    if (best.first > 0) {
      const double share = static_cast<double>(got.first) / static_cast<double>(best.first);
      worst_share_lost = std::max(worst_share_lost, 1 - share);
    }
  }
  std::string Text() const {
    return fmt::format("{} of {} missed, at worst {:.1f} % of the linkage lost", missed, requests,
                       100 * worst_share_lost);
  }
};

using Search = std::vector<size_t> (*)(const LinkTable&, const SlotRequest&);

// Requests of every kind for `cards` cards: of all of them in every size, and `random_requests` of
// parts of them on each node that is sold and on random ones.
Misses MissesOf(Search search, size_t cards, int random_requests,
                const std::function<Worth(const LinkTable&, const SlotRequest&)>& best) {
  std::mt19937 random(cards);  // the same requests in every run
  Misses misses;
  const auto ask = [&](const LinkTable& links, const SlotRequest& request) {
    misses.Count(WorthOf(links, request, search(links, request)), best(links, request));
  };
  for (const auto& [name, node] : NodesThatAreSold(cards)) {
    const LinkTable links = TestLinks(node);
    for (size_t size = 1; size <= cards; ++size) {
      ask(links, {.available = FirstCards(cards), .must_include = {}, .size = size});
    }
    for (int i = 0; i < random_requests; ++i) {
      ask(links, RandomRequest(cards, random));
    }
  }
  for (int i = 0; i < 5 * random_requests; ++i) {
    ask(TestLinks(RandomNode(cards, random)), RandomRequest(cards, random));
  }
  return misses;
}

Worth WorthOfExactSet(const LinkTable& links, const SlotRequest& request) {
  return WorthOf(links, request, ExactSet(links, request));
}

TEST(BestSetTest, IsTheBestOfAllSetsOfEightCards) {
  const Misses misses = MissesOf(&BestSet, 8, 200, &BestWorth);
  EXPECT_EQ(misses.missed, 0) << misses.Text();
}

TEST(BestSetTest, IsTheBestOfAllSetsOfSixteenCards) {
  const Misses misses = MissesOf(&BestSet, 16, 0, &BestWorth);
  EXPECT_EQ(misses.missed, 0) << misses.Text();
}

// One in a thousand and less, in ten times as many requests.
TEST(BestSetTest, BoundedSearchMissesFewRequests) {
  for (const size_t cards : {8U, 12U, 16U, 20U}) {
    const Misses misses = MissesOf(&GreedySet, cards, 50, &WorthOfExactSet);
    EXPECT_LE(misses.missed, misses.requests / 100) << cards << " cards: " << misses.Text();
    EXPECT_LT(misses.worst_share_lost, 0.2) << cards << " cards: " << misses.Text();
  }
}

TEST(BestSetTest, TakesTheFirstOfEqualSets) {
  device::Snapshot node = TestNode(6);
  for (device::Gpu& gpu : node.gpus) {
    gpu.numa_node.reset();
  }
  const SlotRequest request{.available = {1, 2, 4, 5}, .must_include = {4}, .size = 2};
  EXPECT_THAT(BestSet(TestLinks(node), request), ElementsAre(1, 4));
}

TEST(BestSetTest, LeavesPairsWholeForOneCard) {
  // Of the pair 2, 3 the first is in use: its other half is of least use to anybody else.
  const SlotRequest request{.available = {0, 1, 3, 4, 5, 6, 7}, .must_include = {}, .size = 1};
  EXPECT_THAT(BestSet(TestLinks(PcieTree(8, 4)), request), ElementsAre(3));
}

TEST(BestSetTest, FillsANumaNodeThatIsInUse) {
  const SlotRequest request{.available = {0, 1, 2, 3, 4, 6, 7}, .must_include = {}, .size = 2};
  const std::vector<size_t> set = BestSet(TestLinks(AllToAll(8, 12)), request);
  EXPECT_THAT(set, ElementsAre(4, 6));
}

TEST(BestSetTest, TakesSetsOfOneNumaNode) {
  const SlotRequest request{.available = FirstCards(16), .must_include = {9}, .size = 8};
  EXPECT_THAT(BestSet(TestLinks(AllToAll(16, 12)), request),
              ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
}

TEST(BestSetTest, TakesTheDoubleLinksOfAMesh) {
  const SlotRequest request{.available = FirstCards(8), .must_include = {5}, .size = 2};
  EXPECT_THAT(BestSet(TestLinks(PartialMesh()), request), ElementsAre(5, 6));
}

TEST(BestSetTest, TakesAllWhereAllAreWanted) {
  const SlotRequest request{.available = {0, 3}, .must_include = {3}, .size = 2};
  EXPECT_THAT(BestSet(TestLinks(PartialMesh()), request), ElementsAre(0, 3));
  const SlotRequest must{.available = {0, 3}, .must_include = {3}, .size = 1};
  EXPECT_THAT(BestSet(TestLinks(PartialMesh()), must), ElementsAre(3));
}

TEST(BestSetTest, AnswersForAThousandCards) {
  const LinkTable links = TestLinks(PcieTree(kMaxCards, 4));
  for (const size_t size : {1U, 2U, 3U, 512U, 1023U, 1024U}) {
    const SlotRequest request{
        .available = FirstCards(kMaxCards), .must_include = {7}, .size = size};
    EXPECT_EQ(BestSet(links, request).size(), size);
  }
}

}  // namespace
}  // namespace kgpu::plugin
