// How well each two cards of a resource reach each other, as one number. Immutable: made once for a
// snapshot, so that no allocation walks the topology again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/gpu/device/gpu.h"

namespace kgpu::plugin {

// What containers get out of one NVLink outweighs every PCIe path; between equal links the nearer
// path wins. More links than any board has count as many as that board's.
inline constexpr uint16_t kNvLinkScore = 100;
inline constexpr unsigned kMaxNvLinks = 18;
// The table of more cards than any node has would cost memory for nothing: it says that all cards
// are alike.
inline constexpr size_t kMaxCards = 1024;

// Of a path without NVLink: 60 (same board) down to 10 (other NUMA node), 0 when nothing is known.
uint16_t PathScore(device::PciePath path);

class LinkTable {
 public:
  LinkTable() = default;
  // `cards` in the order of their numbers here; a null one is a card that the snapshot does not
  // have: it has no links. Where the driver does not report the path, the NUMA nodes do.
  explicit LinkTable(const std::vector<const device::Gpu*>& cards);

  size_t cards() const { return cards_; }
  // The same both ways, 0 for a card and itself.
  uint16_t score(size_t a, size_t b) const {
    return scores_.empty() ? uint16_t{0} : scores_[a * cards_ + b];
  }

 private:
  void Raise(size_t a, size_t b, uint16_t score);
  void AddNumaNodes(const std::vector<const device::Gpu*>& cards);

  size_t cards_ = 0;
  std::vector<uint16_t> scores_;  // cards_ rows of cards_; empty: all are alike
};

}  // namespace kgpu::plugin
