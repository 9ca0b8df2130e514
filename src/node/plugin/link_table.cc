#include "src/node/plugin/link_table.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace kgpu::plugin {
namespace {

using device::Gpu;
using device::PciePath;

PciePath PathByNuma(const Gpu& a, const Gpu& b) {
  if (!a.numa_node || !b.numa_node) {
    return PciePath::kUnknown;
  }
  return *a.numa_node == *b.numa_node ? PciePath::kSameNuma : PciePath::kCrossNuma;
}

uint16_t ScoreOf(const device::PeerPath& peer) {
  const unsigned links = std::min(peer.nvlinks, kMaxNvLinks);
  return static_cast<uint16_t>(links * kNvLinkScore + PathScore(peer.path));
}

}  // namespace

uint16_t PathScore(PciePath path) {
  // By enumerator: from the same board to unknown.
  static constexpr std::array<uint16_t, 7> kScores = {60, 50, 40, 30, 20, 10, 0};
  return kScores.at(static_cast<size_t>(path));
}

LinkTable::LinkTable(const std::vector<const Gpu*>& cards) : cards_(cards.size()) {
  if (cards_ > kMaxCards) {
    return;
  }
  scores_.resize(cards_ * cards_);
  std::unordered_map<unsigned, size_t> numbers;  // by Gpu::index
  for (size_t i = 0; i < cards_; ++i) {
    if (cards[i] != nullptr) {
      numbers.emplace(cards[i]->index, i);
    }
  }
  for (const auto& [index, from] : numbers) {
    for (const device::PeerPath& peer : cards[from]->peers) {
      // A GPU that was lost early does not report its peers; they still report it.
      const auto to = numbers.find(peer.peer_index);
      if (to != numbers.end() && to->second != from) {
        Raise(from, to->second, ScoreOf(peer));
      }
    }
  }
  AddNumaNodes(cards);
}

void LinkTable::Raise(size_t a, size_t b, uint16_t score) {
  scores_[a * cards_ + b] = std::max(scores_[a * cards_ + b], score);
  scores_[b * cards_ + a] = scores_[a * cards_ + b];
}

void LinkTable::AddNumaNodes(const std::vector<const Gpu*>& cards) {
  for (size_t a = 0; a < cards_; ++a) {
    for (size_t b = a + 1; b < cards_; ++b) {
      const bool is_path_known = score(a, b) % kNvLinkScore != 0;
      if (!is_path_known && cards[a] != nullptr && cards[b] != nullptr) {
        Raise(a, b, score(a, b) + PathScore(PathByNuma(*cards[a], *cards[b])));
      }
    }
  }
}

}  // namespace kgpu::plugin
