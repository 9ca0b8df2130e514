#include "src/diagnose/claim/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "src/diagnose/explain/reason.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/strings.h"

namespace kgpu::claim {
namespace {

using explain::Found;
using Commands = std::vector<std::string>;

std::string_view IdOf(Why why) {
  static constexpr std::array<std::string_view, 10> kIds = {
      "device-differs",       "device-differs",   "device-selector-fails", "device-unknown",
      "device-pool-unusable", "device-tainted",   "device-in-use",         "device-capacity-short",
      "device-counter-short", "device-constraint"};
  return kIds.at(static_cast<size_t>(why));
}

// At most `most` of them: "a, b, and 3 more".
std::string FirstOf(std::span<const std::string> texts, size_t most, std::string_view separator) {
  const size_t shown = std::min(texts.size(), most);
  std::string text =
      Join({texts.begin(), texts.begin() + static_cast<ptrdiff_t>(shown)}, separator);
  return shown == texts.size()
             ? text
             : fmt::format("{}{}and {} more", text, separator, texts.size() - shown);
}

std::string EvidenceOf(const Request& request, const Refused& refused) {
  const size_t count = refused.devices.size();
  return fmt::format("{}: {} device{} ({}): {}{}{}", request.name, count, count == 1 ? "" : "s",
                     FirstOf(refused.devices, 3, ", "), refused.text,
                     refused.notes.empty() ? "" : "; ", FirstOf(refused.notes, 4, "; "));
}

std::string SlicesCommand(const explain::Node& node) {
  return fmt::format("kubectl get resourceslices -o yaml --field-selector spec.nodeName={}",
                     ShellWord(node.name));
}

Commands FixOf(const explain::Node& node, const Refused& refused) {
  switch (refused.why) {
    case Why::kTaint:
      return {SlicesCommand(node), "# fix the devices, or add a toleration to the request"};
    case Why::kConstraint:
      return {SlicesCommand(node),
              "# a claim cannot be changed: create it again with other "
              "constraints"};
    case Why::kError:
      return {
          "# a claim cannot be changed: create it again, and read only attributes that devices "
          "have: has(device.attributes[\"DOMAIN\"].NAME) && …"};
    case Why::kPool:
      return {SlicesCommand(node), "# the driver is writing them; if it stays so, see its log"};
    case Why::kUnknown:
      return {SlicesCommand(node), "# compare the devices with the claim"};
    case Why::kHeld:
    case Why::kCapacity:
    case Why::kCounter: {
      Commands commands;
      for (const std::string& claim : refused.claims) {
        const size_t slash = claim.find('/');
        if (commands.size() < 3) {
          commands.push_back(fmt::format("kubectl describe resourceclaim -n {} {}",
                                         ShellWord(claim.substr(0, slash)),
                                         ShellWord(claim.substr(slash + 1))));
        }
      }
      return commands.empty() ? Commands{SlicesCommand(node)} : commands;
    }
    default:
      return {SlicesCommand(node),
              "# a claim cannot be changed: create it again with selectors that match"};
  }
}

// Devices that are missing although none is refused.
void AddShortage(const explain::Node& node, const RequestOutcome& outcome,
                 explain::Reasons& reasons) {
  const Request& request = *outcome.request;
  if (!outcome.conflict.empty()) {
    reasons.push_back(Found("device-constraint",
                            fmt::format("{}: {}", request.name, outcome.conflict),
                            FixOf(node, {.why = Why::kConstraint})));
  } else if (!outcome.has_enough &&
             (outcome.refused.empty() ||
              (outcome.suitable > 0 && outcome.passing == outcome.suitable))) {
    reasons.push_back(
        Found("device-too-few",
              fmt::format("{}: {} device{}, {} requested", request.name, outcome.suitable,
                          outcome.suitable == 1 ? "" : "s", request.Title()),
              {"# a claim cannot be changed: create it again with a smaller count"}));
  }
}

// Devices that are refused for one kind of reason are one finding.
void AddRefused(const explain::Node& node, const RequestOutcome& outcome,
                explain::Reasons& reasons) {
  const size_t before = reasons.size();
  for (const Refused& refused : outcome.refused) {
    if (refused.why == Why::kUnknown) {
      continue;  // has ended the search
    }
    const auto known =
        std::find_if(reasons.begin() + static_cast<ptrdiff_t>(before), reasons.end(),
                     [&](const report::Finding& reason) { return reason.id == IdOf(refused.why); });
    std::string evidence = EvidenceOf(*outcome.request, refused);
    if (known != reasons.end()) {
      known->evidence.push_back(std::move(evidence));
    } else {
      reasons.push_back(Found(IdOf(refused.why), std::move(evidence), FixOf(node, refused)));
    }
  }
}

std::string DevicesOf(const std::vector<Grant>& grants) {
  std::vector<std::string> texts;
  texts.reserve(grants.size());
  for (const Grant& grant : grants) {
    texts.push_back(fmt::format("{}: {}", grant.request->name, std::get<2>(grant.device)));
  }
  return Join(texts, ", ");
}

void AddStocks(const Outcome& outcome, explain::NodeVerdict& verdict) {
  const auto amount = [](size_t count) { return Amount{static_cast<int64_t>(count) * 1000}; };
  for (const RequestOutcome& request : outcome.requests) {
    const std::string& name = request.request->device_class;
    if (std::ranges::find(verdict.stocks, name, &explain::Stock::resource) ==
        verdict.stocks.end()) {
      verdict.stocks.push_back({.resource = name,
                                .capacity = amount(request.of_class),
                                .allocatable = amount(request.suitable),
                                .free = amount(request.passing)});
    }
  }
}

}  // namespace

bool HasDevicesOfClass(const Outcome& outcome) {
  return outcome.grants || !outcome.stop.empty() || !outcome.incomplete.empty() ||
         std::ranges::any_of(outcome.requests,
                             [](const RequestOutcome& request) { return request.of_class > 0; });
}

explain::NodeVerdict VerdictOn(const explain::Node& node, const Outcome& outcome) {
  explain::NodeVerdict verdict{.name = node.name};
  if (outcome.grants) {
    verdict.reasons.push_back(Found("device-fits", DevicesOf(*outcome.grants), {}));
    return verdict;
  }
  AddStocks(outcome, verdict);
  for (const std::string& incomplete : outcome.incomplete) {
    verdict.reasons.push_back(
        Found(IdOf(Why::kPool), incomplete, FixOf(node, {.why = Why::kPool})));
  }
  if (!outcome.stop.empty()) {
    verdict.reasons.push_back(
        Found(IdOf(outcome.stop_why), outcome.stop, FixOf(node, {.why = outcome.stop_why})));
  }
  if (!outcome.stop.empty() && outcome.stop_why != Why::kUnknown) {
    return verdict;
  }
  for (const RequestOutcome& request : outcome.requests) {
    AddRefused(node, request, verdict.reasons);
    if (outcome.incomplete.empty() || !request.conflict.empty()) {
      AddShortage(node, request, verdict.reasons);
    }
  }
  return verdict;
}

}  // namespace kgpu::claim
