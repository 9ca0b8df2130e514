// How well each pair of a resource's cards is connected, as one number. Immutable: computed once
// per snapshot, so that no allocation walks the topology again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/gpu/device/gpu.h"

namespace kgpu::plugin {

// One NVLink outweighs every PCIe path; between equal links the closer path wins. A count above any
// real board's is capped at that board's.
inline constexpr uint16_t kNvLinkScore = 100;
inline constexpr unsigned kMaxNvLinks = 18;
// A larger table would only cost memory, since no node has more cards: it treats all cards as
// equal.
inline constexpr size_t kMaxCards = 1024;

// For a path without NVLink: 60 (same board) down to 10 (other NUMA node), 0 if unknown.
uint16_t PathScore(device::PciePath path);

class LinkTable {
 public:
  LinkTable() = default;
  // `cards` in the order of their numbers here; null is a card that the snapshot does not have: it
  // has no links. If the driver does not report the path, uses the NUMA nodes.
  explicit LinkTable(const std::vector<const device::Gpu*>& cards);

  size_t cards() const { return cards_; }
  // Symmetric; 0 for a card and itself.
  uint16_t score(size_t a, size_t b) const {
    return scores_.empty() ? uint16_t{0} : scores_[a * cards_ + b];
  }

 private:
  void Raise(size_t a, size_t b, uint16_t score);
  void AddNumaNodes(const std::vector<const device::Gpu*>& cards);

  size_t cards_ = 0;
  std::vector<uint16_t> scores_;  // cards_ rows of cards_; empty: all are equal
};

}  // namespace kgpu::plugin
