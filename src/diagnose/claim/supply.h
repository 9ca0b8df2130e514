// The devices of a node while the scheduler gives them to one claim.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/diagnose/claim/allocate.h"
#include "src/diagnose/claim/claim_spec.h"
#include "src/diagnose/claim/pools.h"

namespace kgpu::claim {

struct Candidate {
  const Pool* pool = nullptr;
  const Device* device = nullptr;  // null: the pool is invalid
};

// Why a request cannot have a device.
struct Refusal {
  Why why = Why::kSelector;
  std::string text{};
  std::vector<std::string> notes{};
  std::vector<std::string> claims{};
  bool ends_search = false;  // the scheduler gives the claim nothing on this node
};

bool Applies(const Constraint& constraint, const Request& request);
// "matchAttribute".
std::string_view NameOf(const Constraint& constraint);

// Borrows everything.
class Supply {
 public:
  Supply(const ClaimSpec& spec, const std::vector<Pool>& pools, const Holdings& holdings,
         const explain::Node& node);

  // In the scheduler's order.
  const std::vector<Candidate>& candidates() const { return candidates_; }
  // Pools that have no devices for now, and why.
  const std::vector<std::string>& incomplete() const { return incomplete_; }
  const std::vector<Grant>& grants() const { return grants_; }

  // Empty: `request` can have the device, beside what the claim has been given.
  std::optional<Refusal> Refuse(const Request& request, const Candidate& candidate);
  // Empty: the device is one of those that a request for all devices is for.
  std::optional<Refusal> RefuseAmongAll(const Request& request, const Device& device);
  // The device must not be refused.
  void Give(const Request& request, const Candidate& candidate);
  void TakeBack();

 private:
  // The part of a counter that other claims have.
  struct Held {
    Amount amount{};
    std::set<std::string> holders{};  // "gpu-0-mig-… (team-a/one)"
    std::set<std::string> claims{};
  };

  void CountHeld(const Pool& pool);
  const std::optional<Refusal>& CheckSelectors(const Request& request, const Device& device);
  Amounts ConsumedOf(const Device& device) const;
  std::optional<Refusal> RefuseHeld(const Request& request, const Device& device) const;
  std::optional<Refusal> RefuseCapacity(const Request& request, const Device& device) const;
  // The part of a counter that neither others nor the claim itself have.
  Amount LeftOf(const Pool& pool, const std::string& set, const std::string& counter,
                const Held& held) const;
  std::optional<Refusal> RefuseCounter(const Candidate& candidate) const;
  std::optional<Refusal> RefuseConstraint(const Request& request, const Device& device) const;

  const ClaimSpec& spec_;
  const Holdings& holdings_;
  std::vector<Candidate> candidates_;
  std::vector<std::string> incomplete_;
  std::map<std::tuple<const Pool*, std::string, std::string>, Held> held_;
  std::map<std::pair<const Request*, const Device*>, std::optional<Refusal>> matches_;
  std::vector<Candidate> granted_;  // of grants_
  std::vector<Grant> grants_;
};

}  // namespace kgpu::claim
