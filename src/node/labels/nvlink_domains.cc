#include "src/node/labels/nvlink_domains.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace kgpu::labels {
namespace {

constexpr unsigned kNone = std::numeric_limits<unsigned>::max();

bool IsConnected(const device::Gpu& a, const device::Gpu& b) {
  return std::ranges::any_of(a.peers, [&](const device::PeerPath& peer) {
    return peer.peer_index == b.index && peer.nvlinks > 0;
  });
}

}  // namespace

std::vector<unsigned> NvLinkDomains(const std::vector<device::Gpu>& gpus) {
  std::vector<unsigned> domains(gpus.size(), kNone);
  unsigned next = 0;
  std::vector<size_t> reached;
  for (size_t first = 0; first < gpus.size(); ++first) {
    if (domains[first] != kNone) {
      continue;
    }
    domains[first] = next;
    reached.assign(1, first);
    while (!reached.empty()) {
      const size_t at = reached.back();
      reached.pop_back();
      for (size_t other = 0; other < gpus.size(); ++other) {
        if (domains[other] == kNone && IsConnected(gpus[at], gpus[other])) {
          domains[other] = next;
          reached.push_back(other);
        }
      }
    }
    ++next;
  }
  return domains;
}

}  // namespace kgpu::labels
