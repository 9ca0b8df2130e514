#include "testing/kubelet/topology.h"

#include <algorithm>
#include <bit>

namespace kgpu::kubelet {
namespace {

// The kubelet refuses to start with a topology policy on a machine with more.
constexpr int kMaxNodes = 8;

// Every set of nodes that carry devices, small numbers of nodes first.
std::vector<NodeMask> MasksOf(const std::map<std::string, Device>& devices) {
  NodeMask all = 0;
  for (const auto& [id, device] : devices) {
    all |= MaskOf(device);
  }
  std::vector<NodeMask> bits;
  for (; all != 0 && bits.size() < kMaxNodes; all &= all - 1) {
    bits.push_back(all & ~(all - 1));
  }
  std::vector<NodeMask> masks;
  for (uint32_t subset = 1; subset < 1U << bits.size(); ++subset) {
    NodeMask mask = 0;
    for (size_t i = 0; i < bits.size(); ++i) {
      mask |= (subset >> i & 1U) != 0 ? bits[i] : 0;
    }
    masks.push_back(mask);
  }
  std::ranges::stable_sort(masks, {}, [](NodeMask mask) { return std::popcount(mask); });
  return masks;
}

bool IsOn(const std::map<std::string, Device>& devices, const std::string& id, NodeMask mask) {
  const auto device = devices.find(id);
  return device != devices.end() && (MaskOf(device->second) & mask) != 0;
}

int64_t CountOn(const HintRequest& request, const DeviceIds& ids, NodeMask mask) {
  return std::ranges::count_if(
      ids, [&](const std::string& id) { return IsOn(request.devices, id, mask); });
}

// Whether the nodes of `mask` can give what is asked, with every reusable device among it.
bool CanSatisfy(const HintRequest& request, NodeMask mask) {
  int64_t reused = 0;
  for (const std::string& id : request.reusable) {
    const auto device = request.devices.find(id);
    if (device == request.devices.end() || device->second.numa_nodes.empty()) {
      continue;
    }
    if ((MaskOf(device->second) & mask) == 0) {
      return false;
    }
    ++reused;
  }
  return reused + CountOn(request, request.available, mask) >= request.required;
}

// How many nodes the request would take on an idle machine.
int LeastNodes(const HintRequest& request, const std::vector<NodeMask>& masks) {
  for (const NodeMask mask : masks) {
    if (std::ranges::count_if(request.devices, [mask](const auto& entry) {
          return (MaskOf(entry.second) & mask) != 0;
        }) >= request.required) {
      return std::popcount(mask);
    }
  }
  return masks.empty() ? 0 : std::popcount(masks.back());
}

bool IsBetter(const Hint& left, const Hint& right) {
  if (left.is_preferred != right.is_preferred) {
    return left.is_preferred;
  }
  const int left_size = left.affinity ? std::popcount(*left.affinity) : 64;
  const int right_size = right.affinity ? std::popcount(*right.affinity) : 64;
  return left_size != right_size ? left_size < right_size
                                 : left.affinity.value_or(0) < right.affinity.value_or(0);
}

// One hint of each resource at a time, merged by "and".
std::vector<Hint> Permute(const std::vector<std::vector<Hint>>& lists) {
  std::vector<Hint> merged = {Hint{.affinity = std::nullopt, .is_preferred = true}};
  for (const std::vector<Hint>& list : lists) {
    std::vector<Hint> next;
    for (const Hint& left : merged) {
      for (const Hint& right : list) {
        Hint both{.affinity = left.affinity,
                  .is_preferred = left.is_preferred && right.is_preferred};
        if (right.affinity) {
          both.affinity = both.affinity ? *both.affinity & *right.affinity : *right.affinity;
        }
        next.push_back(both);
      }
    }
    merged = std::move(next);
  }
  std::erase_if(merged, [](const Hint& hint) { return hint.affinity == NodeMask{0}; });
  return merged;
}

}  // namespace

std::optional<std::vector<Hint>> HintsOf(const HintRequest& request) {
  const std::vector<NodeMask> masks = MasksOf(request.devices);
  if (masks.empty()) {
    return std::nullopt;
  }
  std::vector<Hint> hints;
  const int least = LeastNodes(request, masks);
  for (const NodeMask mask : masks) {
    if (CanSatisfy(request, mask)) {
      hints.push_back({.affinity = mask, .is_preferred = std::popcount(mask) == least});
    }
  }
  return hints;
}

TopologyDecision Decide(TopologyPolicy policy,
                        const std::vector<std::optional<std::vector<Hint>>>& hints) {
  if (policy == TopologyPolicy::kNone) {
    return {};
  }
  std::vector<std::vector<Hint>> lists;
  for (const auto& list : hints) {
    if (!list) {
      lists.push_back({Hint{.affinity = std::nullopt, .is_preferred = true}});
    } else if (list->empty()) {
      lists.push_back({Hint{.affinity = std::nullopt, .is_preferred = false}});
    } else {
      lists.push_back(*list);
    }
    if (policy == TopologyPolicy::kSingleNumaNode) {
      std::erase_if(lists.back(), [](const Hint& hint) {
        return hint.affinity && std::popcount(*hint.affinity) > 1;
      });
    }
  }
  const std::vector<Hint> merged = Permute(lists);
  const auto best = std::ranges::min_element(merged, IsBetter);
  const Hint chosen = best == merged.end() ? Hint{} : *best;
  return {.is_admitted = policy == TopologyPolicy::kBestEffort || chosen.is_preferred,
          .affinity = chosen.affinity};
}

}  // namespace kgpu::kubelet
