#include "src/node/labels/nvlink_domains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace kgpu::labels {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// GPUs with NVLinks between the pairs given.
std::vector<device::Gpu> Wired(unsigned count,
                               const std::vector<std::pair<unsigned, unsigned>>& pairs) {
  std::vector<device::Gpu> gpus(count);
  for (unsigned i = 0; i < count; ++i) {
    gpus[i].index = i;
  }
  for (const auto& [a, b] : pairs) {
    gpus[a].peers.push_back({.peer_index = b, .nvlinks = 4});
    gpus[b].peers.push_back({.peer_index = a, .nvlinks = 4});
  }
  return gpus;
}

TEST(NvLinkDomainsTest, OfNoGpusAreNone) {
  EXPECT_THAT(NvLinkDomains({}), IsEmpty());
}

TEST(NvLinkDomainsTest, EachGpuWithoutLinksIsItsOwn) {
  EXPECT_THAT(NvLinkDomains(Wired(3, {})), ElementsAre(0, 1, 2));
}

TEST(NvLinkDomainsTest, PairsAreDomains) {
  EXPECT_THAT(NvLinkDomains(Wired(4, {{0, 2}, {1, 3}})), ElementsAre(0, 1, 0, 1));
}

TEST(NvLinkDomainsTest, LinksByWayOfOthersCount) {
  EXPECT_THAT(NvLinkDomains(Wired(5, {{0, 3}, {3, 4}, {1, 2}})), ElementsAre(0, 1, 1, 0, 0));
}

}  // namespace
}  // namespace kgpu::labels
