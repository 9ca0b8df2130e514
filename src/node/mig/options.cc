#include "src/node/mig/options.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>

namespace kgpu::mig {
namespace {

constexpr int kEvictedShift = 48;
constexpr int kDestroyedShift = 32;
constexpr int kModeShift = 16;
constexpr int kRoomShift = 16;

// Where instances of a kind can be created.
struct Place {
  Addition addition;
  Placement placement;
};

class Enumerator {
 public:
  Enumerator(const GpuState& gpu, const Kinds& kinds, const Counts& demand)
      : gpu_(gpu), geometry_(*gpu.geometry), demand_(demand), whole_room_(geometry_.Room({})) {
    for (const Instance& instance : gpu.instances) {
      kind_of_.push_back(IndexOf(kinds, instance.kind));
      placement_of_.push_back(
          {.profile = geometry_.Find(instance.kind.profile).value_or(0), .start = instance.start});
    }
    for (size_t kind = 0; kind < kinds.size(); ++kind) {
      const auto profile = geometry_.Find(kinds[kind].profile);
      if (!profile || demand[kind] == 0) {
        continue;
      }
      for (const unsigned start : geometry_.profiles()[*profile].starts) {
        places_.push_back({.addition = {.kind = kind, .start = start},
                           .placement = {.profile = *profile, .start = start}});
      }
    }
    // Last starts first, as the driver does: of equal layouts, the first one stays.
    std::ranges::stable_sort(places_, [](const Place& a, const Place& b) {
      return a.addition.start > b.addition.start;
    });
  }

  std::vector<Option> Run() {
    const auto all = static_cast<uint32_t>((uint64_t{1} << gpu_.instances.size()) - 1);
    Begin(all);
    Record();
    if (gpu_.may_change) {
      // Every set of instances that may go, the empty one first: the cheapest.
      const uint32_t loose = LooseInstances();
      for (uint32_t gone = 0;; gone = (gone - loose) & loose) {
        Begin(all & ~gone);
        Add(0);
        if (gone == loose) {
          break;
        }
      }
    }
    std::vector<Option> options;
    options.reserve(best_.size());
    for (auto& [provided, option] : best_) {
      options.push_back(std::move(option));
    }
    std::ranges::stable_sort(options, {}, &Option::cost);
    return options;
  }

 private:
  static std::optional<size_t> IndexOf(const Kinds& kinds, const Kind& kind) {
    const auto found = std::ranges::find(kinds, kind);
    return found == kinds.end() ? std::nullopt : std::optional<size_t>(found - kinds.begin());
  }

  uint32_t LooseInstances() const {
    uint32_t loose = 0;
    for (size_t i = 0; i < gpu_.instances.size(); ++i) {
      loose |= gpu_.instances[i].use == Use::kFixed ? 0 : 1U << i;
    }
    return loose;
  }

  // Starts with the instances that stay.
  void Begin(uint32_t kept) {
    option_ = {.provided = {}, .cost = {}, .kept = kept, .added = {}};
    taken_ = {};
    counts_ = {};
    uint64_t evicted = 0;
    uint64_t destroyed = 0;
    for (size_t i = 0; i < gpu_.instances.size(); ++i) {
      const Use use = gpu_.instances[i].use;
      if ((kept >> i & 1) == 0) {
        ++destroyed;
        evicted += use == Use::kMovable ? 1 : 0;
        continue;
      }
      geometry_.Take(taken_, placement_of_[i]);
      if (use != Use::kFixed && kind_of_[i]) {
        Provide(*kind_of_[i], 1);
      }
    }
    disturbance_ = evicted << kEvictedShift | destroyed << kDestroyedShift;
    changes_ = destroyed > 0;
  }

  void Provide(size_t kind, int change) {
    counts_.at(kind) = static_cast<unsigned>(static_cast<int>(counts_.at(kind)) + change);
  }

  // Adds every set of new instances from the place `next` on.
  void Add(size_t next) {
    Record();
    for (size_t i = next; i < places_.size(); ++i) {
      const Place& place = places_[i];
      if (counts_.at(place.addition.kind) >= demand_[place.addition.kind] ||
          !geometry_.Fits(taken_, place.placement)) {
        continue;
      }
      geometry_.Take(taken_, place.placement);
      option_.added.push_back(place.addition);
      Provide(place.addition.kind, 1);
      Add(i + 1);
      Provide(place.addition.kind, -1);
      option_.added.pop_back();
      geometry_.Free(taken_, place.placement);
    }
  }

  void Record() {
    Counts provided;
    for (size_t kind = 0; kind < counts_.size(); ++kind) {
      provided.Set(kind, std::min(counts_.at(kind), demand_[kind]));
    }
    const bool is_change = changes_ || !option_.added.empty();
    const bool turns_on = !gpu_.is_mig_enabled && is_change;
    Cost cost;
    cost.disturbance =
        disturbance_ + (turns_on ? uint64_t{1} << kModeShift : 0) + (is_change ? 1 : 0);
    cost.rest = (whole_room_ - geometry_.Room(taken_)) << kRoomShift | option_.added.size();
    const auto [known, is_new] = best_.try_emplace(provided);
    if (is_new || cost < known->second.cost) {
      known->second = option_;
      known->second.provided = provided;
      known->second.cost = cost;
    }
  }

  const GpuState& gpu_;
  const Geometry& geometry_;
  const Counts& demand_;
  const uint64_t whole_room_;
  std::vector<std::optional<size_t>> kind_of_;  // of each instance
  std::vector<Placement> placement_of_;
  std::vector<Place> places_;
  std::array<unsigned, Counts::kKinds> counts_{};
  Taken taken_;
  uint64_t disturbance_ = 0;
  bool changes_ = false;
  Option option_;
  std::map<Counts, Option> best_;
};

}  // namespace

std::vector<Option> OptionsOf(const GpuState& gpu, const Kinds& kinds, const Counts& demand) {
  return Enumerator(gpu, kinds, demand).Run();
}

}  // namespace kgpu::mig
