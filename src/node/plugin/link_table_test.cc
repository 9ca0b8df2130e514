#include "src/node/plugin/link_table.h"

#include <gtest/gtest.h>

#include "src/node/plugin/test_topology.h"

namespace kgpu::plugin {
namespace {

using device::PciePath;

TEST(LinkTableTest, AddsNvLinksToThePath) {
  device::Snapshot node = TestNode(2);
  Connect(node, 0, 1, PciePath::kSingleSwitch, 4);
  EXPECT_EQ(TestLinks(node).score(0, 1), 450);
  EXPECT_EQ(TestLinks(node).score(1, 0), 450);
  EXPECT_EQ(TestLinks(node).score(0, 0), 0);
}

TEST(LinkTableTest, RanksPathsFromNearToFar) {
  uint16_t last = kNvLinkScore;
  for (const PciePath path :
       {PciePath::kSameBoard, PciePath::kSingleSwitch, PciePath::kMultipleSwitches,
        PciePath::kHostBridge, PciePath::kSameNuma, PciePath::kCrossNuma, PciePath::kUnknown}) {
    EXPECT_LT(PathScore(path), last);
    last = PathScore(path);
  }
  EXPECT_EQ(last, 0);
}

TEST(LinkTableTest, CountsNoMoreLinksThanABoardHas) {
  device::Snapshot node = TestNode(2);
  Connect(node, 0, 1, PciePath::kUnknown, 4'000'000'000);
  EXPECT_EQ(TestLinks(node).score(0, 1), 18 * 100 + 10);
}

TEST(LinkTableTest, FallsBackToNumaNodesWhereNoPathIsKnown) {
  device::Snapshot node = TestNode(4);
  node.gpus[3].numa_node.reset();
  const LinkTable links = TestLinks(node);
  EXPECT_EQ(links.score(0, 1), PathScore(PciePath::kSameNuma));
  EXPECT_EQ(links.score(0, 2), PathScore(PciePath::kCrossNuma));
  EXPECT_EQ(links.score(2, 3), 0);
}

TEST(LinkTableTest, TakesTheWordOfEitherEnd) {
  device::Snapshot node = TestNode(2);
  Connect(node, 0, 1, PciePath::kSameNuma, 2);
  node.gpus[0].peers.clear();
  EXPECT_EQ(TestLinks(node).score(0, 1), 220);
}

TEST(LinkTableTest, GivesACardThatTheSnapshotLacksNoLinks) {
  const device::Snapshot node = AllToAll(2, 12);
  const LinkTable links({&node.gpus[0], nullptr, &node.gpus[1]});
  EXPECT_EQ(links.score(0, 1), 0);
  EXPECT_GT(links.score(0, 2), 1200);
}

TEST(LinkTableTest, TakesTooManyCardsForAlike) {
  const device::Snapshot node = TestNode(kMaxCards + 1);
  const LinkTable links = TestLinks(node);
  EXPECT_EQ(links.cards(), kMaxCards + 1);
  EXPECT_EQ(links.score(0, kMaxCards), 0);
}

}  // namespace
}  // namespace kgpu::plugin
