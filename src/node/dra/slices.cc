#include "src/node/dra/slices.h"

#include <boost/json.hpp>

#include <utility>

namespace kgpu::dra {
namespace {

namespace json = boost::json;

constexpr size_t kMaxDevices = 64;
constexpr size_t kMaxCounterSets = 8;

json::object NewSpec(const NodeIdentity& node) {
  return {{"driver", kDriverName}, {"nodeName", node.name}, {"pool", {{"name", node.name}}}};
}

// Lists of at most `most` items, in which the items of one card stay together.
std::vector<json::array> Pack(std::vector<json::array> cards, size_t most) {
  std::vector<json::array> lists;
  for (json::array& card : cards) {
    if (lists.empty() || lists.back().size() + card.size() > most) {
      lists.emplace_back();
    }
    for (json::value& item : card) {
      // More than fit, of one card alone.
      if (lists.back().size() == most) {
        lists.emplace_back();
      }
      lists.back().push_back(std::move(item));
    }
  }
  return lists;
}

}  // namespace

std::vector<json::object> SliceSpecs(const NodeIdentity& node, std::span<const CardOffer> cards) {
  std::vector<json::array> counters;
  std::vector<json::array> devices;
  for (const CardOffer& card : cards) {
    if (!card.counters.empty()) {
      counters.push_back({card.counters});
    }
    json::array& of_card = devices.emplace_back();
    for (const Offer& offer : card.offers) {
      of_card.push_back(offer.device);
    }
  }
  std::vector<json::object> specs;
  const auto add = [&](const char* field, std::vector<json::array> lists) {
    for (json::array& list : lists) {
      specs.push_back(NewSpec(node));
      specs.back()[field] = std::move(list);
    }
  };
  add("devices", Pack(std::move(devices), kMaxDevices));
  add("sharedCounters", Pack(std::move(counters), kMaxCounterSets));
  if (specs.empty()) {
    specs.push_back(NewSpec(node));
  }
  return specs;
}

}  // namespace kgpu::dra
