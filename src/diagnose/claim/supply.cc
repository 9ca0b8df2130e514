#include "src/diagnose/claim/supply.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/diagnose/claim/capacity.h"
#include "src/diagnose/explain/placing.h"
#include "src/platform/base/strings.h"

namespace kgpu::claim {
namespace {

// The request's name without that of an alternative.
std::string_view BaseOf(std::string_view request) {
  return request.substr(0, request.find('/'));
}

std::string QuantityText(Amount amount) {
  return AmountText("memory", amount);
}

std::optional<Refusal> RunSelectors(const std::vector<Selector>& selectors, Why why,
                                    const Device& device) {
  for (const Selector& selector : selectors) {
    const StatusOr<bool> holds = selector.program.Matches(device.value);
    const std::string text = Printable(selector.program.text(), 300);
    if (!holds.ok()) {
      const bool is_error = holds.status().code() == StatusCode::kInvalidArgument;
      return Refusal{.why = is_error ? Why::kError : Why::kUnknown,
                     .text = fmt::format("the selector of {} fails: {}: {}", selector.owner, text,
                                         Message(holds.status())),
                     .ends_search = true};
    }
    if (!*holds) {
      return Refusal{.why = why,
                     .text = fmt::format("the selector of {} is false: {}", selector.owner, text),
                     .notes = selector.program.Readings(device.value)};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> RefuseTaint(const Request& request, const Device& device) {
  for (const explain::Taint& taint : device.taints) {
    if (!explain::Tolerates(request.tolerations, taint)) {
      return Refusal{.why = Why::kTaint,
                     .text = fmt::format("taint {}", explain::TaintText(taint))};
    }
  }
  return std::nullopt;
}

}  // namespace

bool Applies(const Constraint& constraint, const Request& request) {
  return constraint.requests.empty() ||
         std::ranges::any_of(constraint.requests, [&](const std::string& name) {
           return name == request.name || name == BaseOf(request.name);
         });
}

std::string_view NameOf(const Constraint& constraint) {
  return constraint.is_distinct ? "distinctAttribute" : "matchAttribute";
}

Supply::Supply(const ClaimSpec& spec, const std::vector<Pool>& pools, const Holdings& holdings,
               const explain::Node& node)
    : spec_(spec), holdings_(holdings) {
  for (const Pool& pool : pools) {
    if (!pool.incomplete.empty()) {
      incomplete_.push_back(
          fmt::format("pool {} of {}: {}", pool.name, pool.driver, pool.incomplete));
      continue;
    }
    if (!pool.invalid.empty()) {
      candidates_.push_back({.pool = &pool});
      continue;
    }
    for (const Device& device : pool.devices) {
      if (Reaches(device.nodes, node)) {
        candidates_.push_back({.pool = &pool, .device = &device});
      }
    }
    CountHeld(pool);
  }
}

void Supply::CountHeld(const Pool& pool) {
  for (const Device& device : pool.devices) {
    const auto holding = holdings_.find(device.Key());
    if (holding == holdings_.end()) {
      continue;
    }
    const std::string& claim = holding->second.front().claim;
    for (const auto& [set, counters] : device.consumes) {
      for (const auto& [counter, amount] : counters) {
        Held& held = held_[{&pool, set, counter}];
        held.amount = held.amount + amount;
        held.holders.insert(fmt::format("{} ({})", device.name, claim));
        held.claims.insert(claim);
      }
    }
  }
}

std::optional<Refusal> Supply::Refuse(const Request& request, const Candidate& candidate) {
  if (candidate.device == nullptr) {
    return Refusal{.why = Why::kPool,
                   .text = fmt::format("pool {} of {} is invalid: {}", candidate.pool->name,
                                       candidate.pool->driver, candidate.pool->invalid),
                   .ends_search = true};
  }
  const Device& device = *candidate.device;
  std::optional<Refusal> held = RefuseHeld(request, device);
  std::optional<Refusal> refusal = CheckSelectors(request, device);
  if (refusal && refusal->ends_search && held && !request.wants_all) {
    return held;  // the scheduler does not run selectors for devices that are in use
  }
  refusal = refusal ? refusal : RefuseTaint(request, device);
  refusal = refusal ? refusal : held;
  refusal = refusal ? refusal : RefuseCapacity(request, device);
  refusal = refusal ? refusal : RefuseCounter(candidate);
  return refusal ? refusal : RefuseConstraint(request, device);
}

std::optional<Refusal> Supply::RefuseAmongAll(const Request& request, const Device& device) {
  const std::optional<Refusal>& refusal = CheckSelectors(request, device);
  return refusal ? refusal : RefuseCapacity(request, device);
}

void Supply::Give(const Request& request, const Candidate& candidate) {
  const Device& device = *candidate.device;
  Grant grant{.request = &request, .device = device.Key(), .is_share = device.is_shared};
  if (device.is_shared) {
    grant.consumed = Consume(device, request.capacity, ConsumedOf(device)).amounts;
  }
  granted_.push_back(candidate);
  grants_.push_back(std::move(grant));
}

void Supply::TakeBack() {
  granted_.pop_back();
  grants_.pop_back();
}

const std::optional<Refusal>& Supply::CheckSelectors(const Request& request, const Device& device) {
  const auto [found, is_new] = matches_.try_emplace({&request, &device});
  if (is_new) {
    found->second = RunSelectors(request.class_selectors, Why::kClass, device);
    found->second =
        found->second ? found->second : RunSelectors(request.selectors, Why::kSelector, device);
  }
  return found->second;
}

std::optional<Refusal> Supply::RefuseHeld(const Request& request, const Device& device) const {
  const bool is_granted = std::ranges::any_of(
      granted_, [&](const Candidate& granted) { return granted.device == &device; });
  if (is_granted && !device.is_shared) {
    return Refusal{.why = Why::kHeld, .text = "the claim has it already"};
  }
  const auto found = holdings_.find(device.Key());
  if (request.is_admin || found == holdings_.end()) {
    return std::nullopt;
  }
  const auto whole = std::ranges::find(found->second, false, &Holding::is_share);
  if (whole == found->second.end()) {
    return std::nullopt;
  }
  return Refusal{.why = Why::kHeld,
                 .text = "another claim has it",
                 .notes = {fmt::format("{}: {}", device.name, whole->claim)},
                 .claims = {whole->claim}};
}

// The shares of a device that others and the claim itself have.
Amounts Supply::ConsumedOf(const Device& device) const {
  Amounts consumed;
  if (const auto found = holdings_.find(device.Key()); found != holdings_.end()) {
    for (const Holding& holding : found->second) {
      AddTo(consumed, holding.consumed);
    }
  }
  for (const Grant& grant : grants_) {
    if (grant.device == device.Key()) {
      AddTo(consumed, grant.consumed);
    }
  }
  return consumed;
}

std::optional<Refusal> Supply::RefuseCapacity(const Request& request, const Device& device) const {
  const std::string problem = Consume(device, request.capacity, ConsumedOf(device)).problem;
  if (problem.empty()) {
    return std::nullopt;
  }
  Refusal refusal{.why = Why::kCapacity, .text = problem};
  if (const auto found = holdings_.find(device.Key()); found != holdings_.end()) {
    for (const Holding& holding : found->second) {
      refusal.notes.push_back(fmt::format("{}: {}", device.name, holding.claim));
      refusal.claims.push_back(holding.claim);
    }
  }
  return refusal;
}

Amount Supply::LeftOf(const Pool& pool, const std::string& set, const std::string& counter,
                      const Held& held) const {
  Amount left = AmountOf(pool.counters.at(set), counter) - held.amount;
  for (const Candidate& granted : granted_) {
    const auto found = granted.device->consumes.find(set);
    if (granted.pool == &pool && found != granted.device->consumes.end()) {
      left = left - AmountOf(found->second, counter);
    }
  }
  return std::max(left, Amount());
}

std::optional<Refusal> Supply::RefuseCounter(const Candidate& candidate) const {
  for (const auto& [set, counters] : candidate.device->consumes) {
    for (const auto& [counter, wanted] : counters) {
      const auto found = held_.find({candidate.pool, set, counter});
      const Held held = found == held_.end() ? Held() : found->second;
      const Amount left = LeftOf(*candidate.pool, set, counter, held);
      if (wanted > left) {
        const std::string used = Join({held.holders.begin(), held.holders.end()}, ", ");
        return Refusal{
            .why = Why::kCounter,
            .text = "others use what it is made of",
            .notes = {fmt::format("{} of {}: {} of {} left{}{}", counter, set, QuantityText(left),
                                  QuantityText(wanted), used.empty() ? "" : ", used by ", used)},
            .claims = {held.claims.begin(), held.claims.end()}};
      }
    }
  }
  return std::nullopt;
}

std::optional<Refusal> Supply::RefuseConstraint(const Request& request,
                                                const Device& device) const {
  for (const Constraint& constraint : spec_.constraints) {
    if (!Applies(constraint, request)) {
      continue;
    }
    const auto own = device.attributes.find(constraint.attribute);
    if (own == device.attributes.end()) {
      return Refusal{.why = Why::kConstraint,
                     .text = fmt::format("it has no attribute {}, which {} compares",
                                         constraint.attribute, NameOf(constraint))};
    }
    for (size_t i = 0; i < granted_.size(); ++i) {
      const bool is_equal =
          granted_[i].device->attributes.find(constraint.attribute)->second == own->second;
      if (Applies(constraint, *grants_[i].request) && is_equal == constraint.is_distinct) {
        return Refusal{.why = Why::kConstraint,
                       .text = fmt::format("{} {}", NameOf(constraint), constraint.attribute)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace kgpu::claim
