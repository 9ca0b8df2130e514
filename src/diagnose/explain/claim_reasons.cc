// Resource claims (DRA): what a pod's claims wait for, and which nodes have devices for them.
// Of devices only drivers and numbers are judged; `kgpu explain claim` does the rest.
#include <algorithm>

#include <fmt/format.h>

#include "src/diagnose/explain/judge.h"
#include "src/diagnose/explain/placing.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/strings.h"

namespace kgpu::explain {
namespace {

const DeviceClass* FindClass(const Facts& facts, const std::string& name) {
  const auto found = std::ranges::find(facts.device_classes, name, &DeviceClass::name);
  return found == facts.device_classes.end() ? nullptr : &*found;
}

void Unmade(const Case& c, const ClaimUse& use, Reasons& out) {
  const bool has_template =
      use.made_from.empty() || c.facts.claim_templates.contains(use.made_from);
  if (!has_template && c.facts.Has("ResourceClaimTemplate")) {
    out.push_back(
        Found("claim-missing",
              fmt::format("claim {}: ResourceClaimTemplate {} not found", use.name, use.made_from),
              {fmt::format("kubectl get resourceclaimtemplates -n {}", ShellWord(c.pod.space))}));
  } else if (use.claim.empty()) {
    out.push_back(Found(
        "claim-pending",
        fmt::format("claim {}: not created from its template {} yet", use.name, use.made_from),
        {fmt::format("kubectl get resourceclaims -n {}", ShellWord(c.pod.space))}));
  } else {
    out.push_back(Found("claim-missing",
                        fmt::format("claim {}: ResourceClaim {} not found", use.name, use.claim),
                        {fmt::format("kubectl get resourceclaims -n {}", ShellWord(c.pod.space))}));
  }
}

void Unallocated(const Case& c, const Claim& claim, Reasons& out) {
  bool lacks_class = false;
  std::vector<std::string> asks;
  for (const ClaimRequest& request : claim.requests) {
    asks.push_back(fmt::format("{} of {}",
                               request.wants_all ? "all" : fmt::format("{}", request.count),
                               Join(request.classes, " or ")));
    const bool has_one = std::ranges::any_of(request.classes, [&](const std::string& name) {
      return FindClass(c.facts, name) != nullptr;
    });
    if (!has_one && c.facts.Has("DeviceClass")) {
      lacks_class = true;
      out.push_back(Found("claim-missing",
                          fmt::format("claim {}: DeviceClass {} not found", claim.name,
                                      Join(request.classes, " or ")),
                          {"kubectl get deviceclasses"}));
    }
  }
  if (!lacks_class) {
    out.push_back(Found(
        "claim-pending",
        fmt::format("claim {} requests {} but is not allocated", claim.name, Join(asks, ", ")),
        {fmt::format("kgpu explain claim -n {} {}   # shows which devices are refused, and why",
                     ShellWord(claim.space), ShellWord(claim.name))}));
  }
}

struct Supply {
  size_t all = 0;
  size_t free = 0;
};

bool IsKept(const Slice& slice, const std::string& device, const ClaimRequest& request) {
  const auto taints = slice.taints.find(device);
  return taints != slice.taints.end() &&
         !std::ranges::all_of(taints->second, [&request](const Taint& taint) {
           return Tolerates(request.tolerations, taint);
         });
}

// Devices of one driver on one node, and those of them that no claim has for itself.
Supply SupplyOf(const Case& c, const std::string& driver, const Node& node,
                const ClaimRequest& request) {
  Supply supply;
  for (const std::string_view where : {std::string_view(node.name), std::string_view()}) {
    const auto slices = c.slices.find(where);
    if (slices == c.slices.end()) {
      continue;
    }
    for (const Slice* slice : slices->second) {
      if (slice->driver != driver) {
        continue;
      }
      for (const std::string& device : slice->devices) {
        const bool is_taken =
            !slice->shared.contains(device) && c.taken.contains({driver, slice->pool, device});
        supply.all += 1;
        supply.free += is_taken || IsKept(*slice, device, request) ? 0 : 1;
      }
    }
  }
  return supply;
}

void RequestOn(const Case& c, const Claim& claim, const ClaimRequest& request, const Node& node,
               Reasons& out) {
  // Any of several classes will do. The driver is unknown if its class does not name it.
  const DeviceClass* found =
      request.classes.size() == 1 ? FindClass(c.facts, request.classes.front()) : nullptr;
  if (found == nullptr || found->driver.empty() || request.is_admin ||
      !c.facts.Has("ResourceSlice")) {
    return;
  }
  const Supply supply = SupplyOf(c, found->driver, node, request);
  size_t want = static_cast<size_t>(std::max<int64_t>(request.count, 0));
  if (request.wants_all) {
    // Which ones selectors take is not known: one at least.
    const bool takes_each = found->is_of_driver && !request.has_selectors;
    want = takes_each ? std::max<size_t>(supply.all, 1) : 1;
  }
  if (supply.free >= want) {
    return;
  }
  out.push_back(Found(
      "claim-no-device",
      fmt::format("claim {} requests {} of {} (driver {}), {} free of {}", claim.name,
                  request.wants_all ? "all" : fmt::format("{}", want), found->name, found->driver,
                  supply.free, supply.all),
      {supply.all == 0 ? fmt::format("kubectl get resourceslices --field-selector spec.nodeName={} "
                                     "  # none: check that the driver runs there",
                                     ShellWord(node.name))
                       : "kubectl get resourceclaims -A   # shows who uses them"}));
}

}  // namespace

Reasons ClaimReasons(const Case& c) {
  Reasons out;
  if (!c.facts.Has("ResourceClaim")) {
    return out;
  }
  for (const ClaimUse& use : c.pod.claims) {
    const auto found = std::ranges::find_if(
        c.claims, [&](const Claim* claim) { return claim->name == use.claim; });
    if (found == c.claims.end()) {
      Unmade(c, use, out);
    } else if (!(*found)->is_allocated) {
      Unallocated(c, **found, out);
    }
  }
  return out;
}

Reasons NodeClaimReasons(const Case& c, const Node& node) {
  Reasons out;
  for (const Claim* claim : c.claims) {
    if (claim->is_allocated) {
      if (claim->nodes && !MatchesAny(*claim->nodes, node)) {
        out.push_back(Found("claim-elsewhere",
                            fmt::format("claim {} has devices on another node", claim->name),
                            {fmt::format("kubectl get resourceclaim -n {} {} -o yaml",
                                         ShellWord(claim->space), ShellWord(claim->name))}));
      }
      continue;
    }
    for (const ClaimRequest& request : claim->requests) {
      RequestOn(c, *claim, request, node, out);
    }
  }
  return out;
}

}  // namespace kgpu::explain
