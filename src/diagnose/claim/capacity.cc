#include "src/diagnose/claim/capacity.h"

#include <fmt/format.h>

#include <algorithm>

namespace kgpu::claim {
namespace {

std::string ShortOf(std::string_view name, Amount left, Amount all, Amount wanted) {
  const auto text = [](Amount amount) { return AmountText("memory", amount); };
  return fmt::format("{}: {} of {} left, {} requested", name, text(std::max(left, Amount())),
                     text(all), text(wanted));
}

}  // namespace

// Source: k8s.io/dynamic-resource-allocation/structured, consumable capacity.
std::optional<Amount> ConsumptionOf(const Capacity& capacity, std::optional<Amount> asked) {
  if (!asked) {
    return capacity.preset.value_or(capacity.value);
  }
  Amount amount = *asked;
  if (capacity.least) {
    amount = std::max(amount, *capacity.least);
    if (capacity.step && capacity.step->milli > 0) {
      const int64_t above = amount.milli - capacity.least->milli;
      const int64_t rest = above % capacity.step->milli;
      amount = rest == 0 ? amount : amount + Amount{capacity.step->milli - rest};
    }
    const bool is_valid = !capacity.most || amount <= *capacity.most;
    return is_valid ? std::optional(amount) : std::nullopt;
  }
  if (capacity.values.empty()) {
    return amount;
  }
  const auto found =
      std::ranges::find_if(capacity.values, [&](const Amount& value) { return value >= amount; });
  return found == capacity.values.end() ? std::nullopt : std::optional(*found);
}

Consumption Consume(const Device& device, const Amounts& asked, const Amounts& consumed) {
  Consumption result;
  for (const auto& [name, amount] : asked) {
    if (!device.capacity.contains(name)) {
      result.problem = fmt::format("it has no capacity {}", name);
    }
  }
  for (const auto& [name, capacity] : device.capacity) {
    const auto wanted = asked.find(name);
    const auto amount = ConsumptionOf(
        capacity, wanted == asked.end() ? std::nullopt : std::optional(wanted->second));
    const Amount left = capacity.value - AmountOf(consumed, name);
    if (!amount) {
      result.problem =
          fmt::format("{}: at most {} for one request", name,
                      AmountText("memory", capacity.most.value_or(capacity.values.empty()
                                                                      ? capacity.value
                                                                      : capacity.values.back())));
    } else if (*amount > left && result.problem.empty()) {
      result.problem = ShortOf(name, left, capacity.value, *amount);
    }
    result.amounts[name] = amount.value_or(Amount());
  }
  return result;
}

}  // namespace kgpu::claim
