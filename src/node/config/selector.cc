#include "src/node/config/selector.h"

#include <algorithm>

#include "src/gpu/device/model.h"
#include "src/node/config/selector_text.h"
#include "src/platform/base/strings.h"

namespace kgpu::config {
namespace {

template <typename T>
bool Holds(Comparison comparison, const T& value, const T& bound) {
  switch (comparison) {
    case Comparison::kLess:
      return value < bound;
    case Comparison::kLessOrEqual:
      return value <= bound;
    case Comparison::kEqual:
      return value == bound;
    case Comparison::kGreaterOrEqual:
      return value >= bound;
    case Comparison::kGreater:
      return value > bound;
  }
  return false;
}

template <typename T>
bool IsOneOf(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
}

bool MatchesOne(const std::vector<std::string>& patterns, std::string_view text) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return MatchesPattern(pattern, text);
         });
}

bool BeginsWithOne(const std::vector<std::string>& prefixes, const std::string& uuid) {
  return std::ranges::any_of(prefixes, [&](const std::string& prefix) {
    // "MIG-GPU-…/1/1" is whole: it must not mean "…/1/10" too.
    return prefix.starts_with("MIG-GPU-") ? uuid == prefix : uuid.starts_with(prefix);
  });
}

bool MemoryHolds(const Selector& selector, const std::optional<Bytes>& memory) {
  return std::ranges::all_of(selector.memory, [&](const MemoryBound& bound) {
    return memory && Holds(bound.comparison, *memory, bound.bytes);
  });
}

// By the canonical id, or by what the driver's own name gives: that is how other tools' labels and
// files call it.
bool MatchesModel(const Selector& selector, const device::Gpu& gpu) {
  return MatchesOne(selector.models, gpu.model) ||
         MatchesOne(selector.models, device::ModelId(gpu.name, 0));
}

// The fields that a GPU and its MIG devices have in common.
bool MatchesCard(const Selector& selector, const device::Gpu& gpu) {
  return MatchesModel(selector, gpu) && IsOneOf(selector.indices, gpu.index) &&
         IsOneOf(selector.pci, gpu.pci) &&
         (selector.numa_nodes.empty() ||
          (gpu.numa_node && IsOneOf(selector.numa_nodes, *gpu.numa_node))) &&
         std::ranges::all_of(selector.compute, [&](const ComputeBound& bound) {
           return gpu.compute && Holds(bound.comparison, *gpu.compute, bound.compute);
         });
}

}  // namespace

bool Matches(const Selector& selector, const device::Gpu& gpu) {
  return selector.mig_profiles.empty() && MatchesCard(selector, gpu) &&
         (selector.uuids.empty() || BeginsWithOne(selector.uuids, gpu.uuid.str())) &&
         MemoryHolds(selector, gpu.memory);
}

bool Matches(const Selector& selector, const device::Gpu& gpu, const device::MigDevice& mig) {
  return MatchesOne(selector.mig_profiles, mig.profile) && MatchesCard(selector, gpu) &&
         (selector.uuids.empty() || BeginsWithOne(selector.uuids, mig.uuid.str()) ||
          BeginsWithOne(selector.uuids, gpu.uuid.str())) &&
         MemoryHolds(selector, mig.memory);
}

bool NamesMigDevice(const Selector& selector, const device::Gpu& gpu,
                    const device::MigDevice& mig) {
  return (!selector.mig_profiles.empty() || BeginsWithOne(selector.uuids, mig.uuid.str())) &&
         Matches(selector, gpu, mig);
}

std::string ToString(const Selector& selector) {
  std::vector<std::string> words;
  const auto add = [&words](std::string_view name, const std::vector<std::string>& values) {
    if (!values.empty()) {
      words.push_back(fmt::format("{}={}", name, fmt::join(values, ",")));
    }
  };
  const auto add_bounds = [&words](std::string_view name, const auto& bounds) {
    for (const auto& bound : bounds) {
      std::string text = ToString(bound);
      std::erase(text, ' ');
      words.push_back(fmt::format("{}{}", name, text));
    }
  };
  std::vector<std::string> addresses;
  addresses.reserve(selector.pci.size());
  for (const device::PciBusId& pci : selector.pci) {
    addresses.push_back(pci.str());
  }
  add("model", selector.models);
  add("uuid", selector.uuids);
  add("index", NumberWords(selector.indices));
  add("pci", addresses);
  add("numa", NumberWords(selector.numa_nodes));
  add("mig", selector.mig_profiles);
  add_bounds("memory", selector.memory);
  add_bounds("compute", selector.compute);
  return words.empty() ? "all" : Join(words, " ");
}

}  // namespace kgpu::config
