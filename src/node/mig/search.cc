#include "src/node/mig/search.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kgpu::mig {
namespace {

struct Node {
  Counts missing{};  // of the demand
  Cost cost{};
  uint32_t parent = 0;  // in the layer before
  uint32_t option = 0;
};

uint64_t Weigh(const Counts& counts, const std::vector<unsigned>& weight) {
  uint64_t sum = 0;
  for (size_t kind = 0; kind < weight.size(); ++kind) {
    sum += uint64_t{counts[kind]} * weight[kind];
  }
  return sum;
}

// The nodes of a layer, one for each state, the cheapest. A hash table with open addressing.
class Layer {
 public:
  explicit Layer(size_t states) : slots_(SlotsFor(states), kFree) {}

  // The node of this state, or null.
  Node* Find(const Counts& missing) {
    const uint32_t index = slots_[SlotOf(missing)];
    return index == kFree ? nullptr : &nodes_[index];
  }
  // There is no node of this state yet.
  void Insert(const Node& node) {
    slots_[SlotOf(node.missing)] = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(node);
  }
  size_t size() const { return nodes_.size(); }
  std::vector<Node> Release() { return std::move(nodes_); }

 private:
  static constexpr uint32_t kFree = std::numeric_limits<uint32_t>::max();

  // Where the state is, or is to be inserted. Some slots are always free.
  size_t SlotOf(const Counts& missing) const {
    size_t slot = (missing.Hash() >> 20) & (slots_.size() - 1);
    while (slots_[slot] != kFree && nodes_[slots_[slot]].missing != missing) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }
  static size_t SlotsFor(size_t states) {
    size_t slots = 64;
    while (slots < states * 2) {
      slots *= 2;
    }
    return slots;
  }

  std::vector<uint32_t> slots_;
  std::vector<Node> nodes_;
};

// What the GPUs that are still to come can provide at most.
struct Rest {
  Counts by_kind;
  std::vector<uint64_t> by_weight;

  bool CanComplete(const Counts& missing, const SearchInput& input) const {
    if (!missing.IsAtMost(by_kind)) {
      return false;
    }
    for (size_t i = 0; i < by_weight.size(); ++i) {
      if (Weigh(missing, input.weights[i]) > by_weight[i]) {
        return false;
      }
    }
    return true;
  }
};

Rest RestFrom(const SearchInput& input, size_t first) {
  Rest rest;
  const size_t kinds = input.weights.front().size();
  for (size_t kind = 0; kind < kinds; ++kind) {
    rest.by_kind.Set(kind, static_cast<unsigned>(
                               std::min<uint64_t>(CapacityOf(input, first, kind), Counts::kMost)));
  }
  for (const std::vector<unsigned>& weight : input.weights) {
    rest.by_weight.push_back(CapacityBy(input, first, weight));
  }
  return rest;
}

// Keeps the cheapest half, and of the others those that miss least.
void KeepBest(const SearchInput& input, size_t states, std::vector<Node>& nodes) {
  if (nodes.size() <= states) {
    return;
  }
  const auto half = nodes.begin() + static_cast<std::ptrdiff_t>(states / 2);
  const auto end = nodes.begin() + static_cast<std::ptrdiff_t>(states);
  std::ranges::stable_sort(nodes, {}, &Node::cost);
  std::ranges::stable_sort(half, nodes.end(), {}, [&](const Node& node) {
    return Weigh(node.missing, input.weights.front());
  });
  nodes.erase(end, nodes.end());
}

class LayeredSearch {
  // A layer may have so many times more states than are expanded: the best of them are.
  static constexpr size_t kSpare = 4;

 public:
  LayeredSearch(const SearchInput& input, const PlanLimits& limits)
      : input_(input), limits_(limits) {}

  SearchResult Run() {
    layers_.push_back({Node{.missing = input_.demand}});
    if (!RestFrom(input_, 0).CanComplete(input_.demand, input_)) {
      return result_;
    }
    for (size_t gpu = 0; gpu < input_.options.size(); ++gpu) {
      layers_.push_back(Expand(gpu));
      if (layers_.back().empty()) {
        return result_;
      }
    }
    TraceBack();
    return result_;
  }

 private:
  // At most so many states of this layer are expanded, so that all layers have their share.
  size_t StatesFor(size_t gpu) const {
    const size_t share = limits_.steps / input_.options.size();
    return std::clamp<size_t>(share / input_.options[gpu]->size(), 64, limits_.states);
  }

  std::vector<Node> Expand(size_t gpu) {
    std::vector<Node>& before = layers_.back();
    if (const size_t states = StatesFor(gpu); before.size() > states) {
      KeepBest(input_, states, before);
      result_.is_complete = false;
    }
    const Rest rest = RestFrom(input_, gpu + 1);
    Layer layer(limits_.states * kSpare);
    for (uint32_t parent = 0; parent < before.size(); ++parent) {
      Node node;
      node.parent = parent;
      for (const Option& option : *input_.options[gpu]) {
        node.missing = before[parent].missing.Without(option.provided);
        node.cost = before[parent].cost + option.cost;
        if (input_.ceiling && node.cost > *input_.ceiling) {
          break;  // later options cost more
        }
        Offer(node, rest, layer);
        ++node.option;
      }
    }
    return layer.Release();
  }

  void Offer(const Node& node, const Rest& rest, Layer& layer) {
    if (Node* known = layer.Find(node.missing)) {
      if (node.cost < known->cost) {
        *known = node;
      }
    } else if (rest.CanComplete(node.missing, input_)) {
      if (layer.size() < limits_.states * kSpare) {
        layer.Insert(node);
      } else {
        result_.is_complete = false;
      }
    }
  }

  void TraceBack() {
    const std::vector<Node>& last = layers_.back();
    const auto best = std::ranges::min_element(last, {}, &Node::cost);
    result_.cost = best->cost;
    result_.chosen.resize(input_.options.size());
    Node node = *best;
    for (size_t gpu = input_.options.size(); gpu > 0; --gpu) {
      result_.chosen[gpu - 1] = node.option;
      node = layers_[gpu - 1][node.parent];
    }
  }

  const SearchInput& input_;
  const PlanLimits& limits_;
  std::vector<std::vector<Node>> layers_;
  SearchResult result_;
};

}  // namespace

uint64_t CapacityOf(const SearchInput& input, size_t first, size_t kind) {
  uint64_t capacity = 0;
  for (size_t gpu = first; gpu < input.options.size(); ++gpu) {
    unsigned most = 0;
    for (const Option& option : *input.options[gpu]) {
      most = std::max(most, option.provided[kind]);
    }
    capacity += most;
  }
  return capacity;
}

uint64_t CapacityBy(const SearchInput& input, size_t first, const std::vector<unsigned>& weight) {
  uint64_t capacity = 0;
  for (size_t gpu = first; gpu < input.options.size(); ++gpu) {
    uint64_t most = 0;
    for (const Option& option : *input.options[gpu]) {
      most = std::max(most, Weigh(option.provided, weight));
    }
    capacity += most;
  }
  return capacity;
}

SearchResult Search(const SearchInput& input, const PlanLimits& limits) {
  return LayeredSearch(input, limits).Run();
}

}  // namespace kgpu::mig
