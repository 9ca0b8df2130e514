#include "src/diagnose/claim/allocate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/diagnose/claim/supply.h"
#include "src/platform/base/strings.h"

namespace kgpu::claim {
namespace {

// Devices in an allocation. Source: resource.k8s.io, AllocationResultsMaxSize.
constexpr size_t kMaxDevices = 32;
// Combinations that are tried for one node.
constexpr size_t kMaxTries = 100'000;

// `{"int":0}` as "0".
std::string_view PlainValue(std::string_view attribute) {
  const size_t colon = attribute.find(':');
  return colon == std::string_view::npos
             ? attribute
             : attribute.substr(colon + 1, attribute.size() - colon - 2);
}

class Search {
 public:
  Search(const ClaimSpec& spec, Supply supply) : spec_(spec), supply_(std::move(supply)) {
    outcome_.incomplete = supply_.incomplete();
  }

  Outcome Run() {
    if (AllocateFrom(0)) {
      outcome_.grants = supply_.grants();
      return std::move(outcome_);
    }
    bool has_enough = true;  // for each request by itself
    for (const std::vector<Request>& alternatives : spec_.requests) {
      bool has_one = false;
      for (const Request& request : alternatives) {
        outcome_.requests.push_back(Judge(request));
        const RequestOutcome& judged = outcome_.requests.back();
        has_one = has_one || (judged.has_enough && judged.conflict.empty());
      }
      has_enough = has_enough && has_one;
    }
    if (has_enough && outcome_.stop.empty() && !outcome_.requests.empty()) {
      outcome_.requests.back().conflict =
          "each device fits, but not all of the claim's devices together";
    }
    return std::move(outcome_);
  }

 private:
  // Whether the requests from `at` on get their devices, too; then they are in grants_.
  bool AllocateFrom(size_t at) {
    if (at == spec_.requests.size()) {
      return true;
    }
    return std::ranges::any_of(spec_.requests[at], [&](const Request& request) {
      return MayTry() &&
             (request.wants_all ? FillAll(at, request) : Fill(at, request, request.count, 0));
    });
  }

  // `missing` more devices for `request`, from the candidate `first` on: the order of a request's
  // devices makes no difference.
  bool Fill(size_t at, const Request& request, int64_t missing, size_t first) {
    if (missing <= 0) {
      return AllocateFrom(at + 1);
    }
    if (!HasRoom(static_cast<uint64_t>(missing))) {
      return false;
    }
    for (size_t i = first; i < supply_.candidates().size() && MayTry(); ++i) {
      if (!Take(request, supply_.candidates()[i])) {
        continue;
      }
      if (Fill(at, request, missing - 1, i)) {
        return true;
      }
      supply_.TakeBack();
    }
    return false;
  }

  // False once the search has ended.
  bool MayTry() {
    if (outcome_.stop.empty() && ++tries_ > kMaxTries) {
      Stop("kgpu",
           {.why = Why::kUnknown, .text = fmt::format("stops after {} combinations", kMaxTries)});
    }
    return outcome_.stop.empty();
  }

  bool FillAll(size_t at, const Request& request) {
    if (!outcome_.incomplete.empty()) {
      Stop(request.name,
           {.why = Why::kPool,
            .text = fmt::format("all devices are requested, and {}", outcome_.incomplete.front())});
      return false;
    }
    const size_t before = supply_.grants().size();
    bool has_all = true;
    for (const Candidate& candidate : supply_.candidates()) {
      const bool is_one = candidate.device == nullptr || IsAmongAll(request, *candidate.device);
      has_all = has_all && (!is_one || (HasRoom(1) && Take(request, candidate)));
    }
    has_all = has_all && outcome_.stop.empty() && supply_.grants().size() > before;
    if (has_all && AllocateFrom(at + 1)) {
      return true;
    }
    while (supply_.grants().size() > before) {
      supply_.TakeBack();
    }
    return false;
  }

  bool IsAmongAll(const Request& request, const Device& device) {
    const std::optional<Refusal> refusal = supply_.RefuseAmongAll(request, device);
    if (refusal && refusal->ends_search) {
      Stop(device.name, *refusal);
    }
    return !refusal;
  }

  bool HasRoom(uint64_t more) {
    const bool has_room = supply_.grants().size() + more <= kMaxDevices;
    is_too_many_ = is_too_many_ || !has_room;
    return has_room;
  }

  bool Take(const Request& request, const Candidate& candidate) {
    const std::optional<Refusal> refusal = supply_.Refuse(request, candidate);
    if (refusal && refusal->ends_search) {
      Stop(candidate.device == nullptr ? candidate.pool->name : candidate.device->name, *refusal);
    }
    if (!refusal) {
      supply_.Give(request, candidate);
    }
    return !refusal;
  }

  void Stop(std::string_view where, const Refusal& refusal) {
    outcome_.stop = fmt::format("{}: {}", where, refusal.text);
    outcome_.stop_why = refusal.why;
  }

  RequestOutcome Judge(const Request& request) {
    RequestOutcome outcome{.request = &request};
    std::map<std::pair<Why, std::string>, size_t> known;
    std::vector<const Device*> passing;
    for (const Candidate& candidate : supply_.candidates()) {
      if (candidate.device == nullptr) {
        continue;
      }
      const std::optional<Refusal> refusal = supply_.Refuse(request, candidate);
      outcome.of_class += refusal && refusal->why == Why::kClass ? 0 : 1;
      outcome.suitable += refusal && refusal->why <= Why::kUnknown ? 0 : 1;
      if (!refusal) {
        passing.push_back(candidate.device);
        continue;
      }
      const auto [at, is_new] =
          known.try_emplace({refusal->why, refusal->text}, outcome.refused.size());
      if (is_new) {
        outcome.refused.push_back({.why = refusal->why, .text = refusal->text});
      }
      AddDevice(candidate.device->name, *refusal, outcome.refused[at->second]);
    }
    outcome.passing = passing.size();
    outcome.has_enough = request.wants_all ? !passing.empty() && outcome.passing == outcome.suitable
                                           : static_cast<int64_t>(outcome.passing) >= request.count;
    outcome.conflict = ConflictOf(request, outcome, passing);
    return outcome;
  }

  static void AddDevice(const std::string& device, const Refusal& refusal, Refused& refused) {
    const auto add = [](const std::vector<std::string>& from, std::vector<std::string>& to) {
      for (const std::string& text : from) {
        if (std::ranges::find(to, text) == to.end()) {
          to.push_back(text);
        }
      }
    };
    refused.devices.push_back(device);
    add(refusal.notes, refused.notes);
    add(refusal.claims, refused.claims);
  }

  std::string ConflictOf(const Request& request, const RequestOutcome& outcome,
                         const std::vector<const Device*>& passing) const {
    if (is_too_many_) {
      return fmt::format("an allocation has at most {} devices", kMaxDevices);
    }
    const size_t wanted = request.wants_all
                              ? passing.size()
                              : static_cast<size_t>(std::max<int64_t>(request.count, 0));
    for (const Constraint& constraint : spec_.constraints) {
      std::string text = outcome.has_enough && Applies(constraint, request)
                             ? UnmetConstraint(constraint, wanted, passing)
                             : std::string();
      if (!text.empty()) {
        return text;
      }
    }
    return "";
  }

  // Empty: the constraint can be met.
  static std::string UnmetConstraint(const Constraint& constraint, size_t wanted,
                                     const std::vector<const Device*>& passing) {
    std::map<std::string_view, size_t> counts;
    size_t most = 0;
    for (const Device* device : passing) {
      most = std::max(most, ++counts[device->attributes.find(constraint.attribute)->second]);
    }
    if ((constraint.is_distinct ? counts.size() : most) >= wanted) {
      return "";
    }
    std::vector<std::string> parts;
    parts.reserve(counts.size());
    for (const auto& [value, count] : counts) {
      parts.push_back(fmt::format("{} of {}", count, PlainValue(value)));
    }
    return fmt::format("{} {}: {} {} requested, but there are {}", NameOf(constraint),
                       constraint.attribute, wanted,
                       constraint.is_distinct ? "different ones are" : "of one value are",
                       Join(parts, ", "));
  }

  const ClaimSpec& spec_;
  Supply supply_;
  size_t tries_ = 0;
  bool is_too_many_ = false;
  Outcome outcome_;
};

}  // namespace

Outcome Allocate(const ClaimSpec& spec, const std::vector<Pool>& pools, const Holdings& holdings,
                 const explain::Node& node) {
  return Search(spec, Supply(spec, pools, holdings, node)).Run();
}

}  // namespace kgpu::claim
