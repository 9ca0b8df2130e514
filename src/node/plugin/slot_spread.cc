#include "src/node/plugin/slot_spread.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <tuple>

namespace kgpu::plugin {
namespace {

struct Unit {
  size_t card = 0;
  size_t numa = 0;
  std::vector<size_t> free;  // slots, the first to give at the back
  size_t used = 0;
  size_t picked = 0;  // by this request
};

class Spreader {
 public:
  Spreader(const std::vector<SlotPlace>& places, const SlotRequest& request, Spread spread)
      : places_(places), spread_(spread), left_(request.size) {
    for (const SlotPlace& place : places) {
      Unit& unit = At(units_, place.unit);
      unit.card = place.card;
      unit.numa = place.numa;
      Use(place);
    }
    for (size_t i = request.available.size(); i > 0; --i) {
      const size_t slot = request.available[i - 1];
      const SlotPlace& place = places[slot];
      --units_[place.unit].used;
      --card_used_[place.card];
      --numa_used_[place.numa];
      units_[place.unit].free.push_back(slot);
    }
    turn_ = (places.size() - request.available.size()) % units_.size();
    for (const size_t slot : request.must_include) {
      std::erase(units_[places[slot].unit].free, slot);
      Take(slot);
    }
  }

  std::vector<size_t> Run() {
    while (left_ > 0) {
      std::vector<size_t>& free = units_[BestUnit()].free;
      const size_t slot = free.back();
      free.pop_back();
      Take(slot);
    }
    std::ranges::sort(taken_);
    return taken_;
  }

 private:
  // The smaller is the better.
  using Rank = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t>;

  template <typename T>
  static T& At(std::vector<T>& items, size_t index) {
    if (index >= items.size()) {
      items.resize(index + 1);
    }
    return items[index];
  }

  void Use(const SlotPlace& place) {
    ++units_[place.unit].used;
    ++At(card_used_, place.card);
    ++At(numa_used_, place.numa);
    At(numa_picked_, place.numa);
  }

  void Take(size_t slot) {
    const SlotPlace& place = places_[slot];
    Use(place);
    ++units_[place.unit].picked;
    ++numa_picked_[place.numa];
    taken_.push_back(slot);
    --left_;
  }

  Rank RankOf(size_t index) const {
    const Unit& unit = units_[index];
    const auto turn = static_cast<int64_t>((index + units_.size() - turn_) % units_.size());
    const auto used = static_cast<int64_t>(unit.used);
    const auto card_used = static_cast<int64_t>(card_used_[unit.card]);
    if (spread_ == Spread::kApart) {
      return {static_cast<int64_t>(unit.picked), used, card_used, turn, 0, 0};
    }
    // Equal units in order, not in turn: which one is filled up first is to stay the same.
    const bool keeps_together = spread_ == Spread::kFill || unit.free.size() >= left_;
    return {unit.picked > 0 ? 0 : 1,
            keeps_together ? 0 : 1,
            numa_picked_[unit.numa] > 0 ? 0 : 1,
            -used,
            -card_used,
            -static_cast<int64_t>(numa_used_[unit.numa])};
  }

  // Some unit has a free slot: the request is no larger than what is available.
  size_t BestUnit() const {
    size_t best = units_.size();
    for (size_t i = 0; i < units_.size(); ++i) {
      if (!units_[i].free.empty() && (best == units_.size() || RankOf(i) < RankOf(best))) {
        best = i;
      }
    }
    return best;
  }

  const std::vector<SlotPlace>& places_;
  const Spread spread_;
  size_t left_;
  std::vector<Unit> units_;
  std::vector<size_t> card_used_;
  std::vector<size_t> numa_used_;
  std::vector<size_t> numa_picked_;  // by this request
  size_t turn_ = 0;
  std::vector<size_t> taken_;
};

}  // namespace

std::vector<size_t> SpreadSlots(const std::vector<SlotPlace>& places, const SlotRequest& request,
                                Spread spread) {
  if (request.size == 0) {
    return {};
  }
  return Spreader(places, request, spread).Run();
}

}  // namespace kgpu::plugin
