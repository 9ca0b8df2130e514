// Which name sets a page has: ours, NVIDIA's DCGM exporter's, GKE's.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "src/node/config/node_config.h"
#include "src/platform/base/status.h"

namespace kgpu::telemetry {

using config::NameSet;

class NameSets {
 public:
  constexpr NameSets() = default;
  constexpr NameSets(std::initializer_list<NameSet> sets) {
    for (const NameSet set : sets) {
      Add(set);
    }
  }
  static constexpr NameSets All() { return {NameSet::kKgpu, NameSet::kDcgm, NameSet::kGke}; }

  constexpr void Add(NameSet set) { bits_ |= BitOf(set); }
  constexpr bool Has(NameSet set) const { return (bits_ & BitOf(set)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr auto operator<=>(const NameSets&) const = default;

 private:
  static constexpr uint8_t BitOf(NameSet set) {
    return static_cast<uint8_t>(1U << static_cast<unsigned>(set));
  }

  uint8_t bits_ = 0;
};

// "kgpu", "dcgm", "gke".
std::string_view ToString(NameSet set);

// "kgpu,dcgm,gke": comma-separated. Errors: InvalidArgument naming `what` and the words.
StatusOr<NameSets> ParseNames(std::string_view what, std::string_view text);

}  // namespace kgpu::telemetry
