#include "src/node/loans/choose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "src/node/config/selector.h"
#include "src/node/plugin/preferred.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::loans {
namespace {

// Devices that are lent alike: the GPUs of one model in all local pools, or the slices that a pool
// makes of them.
struct Kind {
  const device::Gpu* sample = nullptr;
  std::string_view pool{};               // of slices; empty: whole GPUs
  std::optional<Bytes> memory{};         // of each slice
  pools::Resource slots{};               // all
  std::vector<pools::Slot> free{};       // those that can be lent now
  std::vector<std::string> obstacles{};  // of the others
};

// How many of `slots` one loan can have: its container gets them all.
size_t MostOf(const Kind& kind, const std::vector<pools::Slot>& slots) {
  if (!kind.memory) {
    return slots.size();
  }
  switch (kind.slots.share.multiple) {
    case sharing::MultipleSlots::kAllow:
      return std::min(slots.size(), sharing::kMostSlices);
    case sharing::MultipleSlots::kRefuse:
      return std::min<size_t>(slots.size(), 1);
    case sharing::MultipleSlots::kSpread:
      break;
  }
  std::set<std::string_view> devices;
  for (const pools::Slot& slot : slots) {
    devices.insert(slot.device_uuid);
  }
  return devices.size();
}

// Whether its pool says how many slices a loan may have.
bool IsLimited(const Kind& kind) {
  return kind.memory && kind.slots.share.multiple != sharing::MultipleSlots::kAllow;
}

config::Selector OfModel(const std::string& name) {
  config::Selector selector;
  selector.models = {name};
  return selector;
}

std::string NameOfKind(const Kind& kind) {
  return kind.memory
             ? fmt::format("slices of {} of {}", FormatQuantity(*kind.memory), kind.sample->model)
             : kind.sample->model;
}

class Chooser {
 public:
  Chooser(const LoanRequest& request, const Ledger& ledger, const Stock& stock)
      : request_(request), ledger_(ledger), stock_(stock) {
    for (const pools::Resource& resource : stock.assignment.local) {
      for (const pools::Slot& slot : resource.slots) {
        Sort(resource, slot);
      }
    }
    CountChanging();
    // Within a model, the smallest first.
    std::ranges::stable_sort(kinds_, {}, [](const Kind& kind) {
      return std::pair(kind.memory.has_value(), kind.memory.value_or(Bytes{}));
    });
  }

  StatusOr<Choice> Choose() const {
    bool could_later = gone_ >= request_.count || changing_ > 0;
    std::vector<std::string> reasons;
    for (const Kind* kind : Candidates()) {
      if (MostOf(*kind, kind->free) >= request_.count) {
        return Pick(*kind);
      }
      could_later = could_later || MostOf(*kind, kind->slots.slots) + gone_ >= request_.count;
      reasons.push_back(ReasonOf(*kind));
    }
    if (gone_ > 0) {
      reasons.push_back(fmt::format("{} that the driver no longer reports", gone_));
    }
    if (changing_ > 0) {
      reasons.push_back(
          fmt::format("{} whose pool has changed, once their loans have ended", changing_));
    }
    if (could_later) {
      return Unavailable("no free GPU for {} now: {}", Wanted(), fmt::join(reasons, "; "));
    }
    return FailedPrecondition(
        "{} cannot be lent here: the pools with provider: local have {}: {}, or extend a pool",
        Wanted(), Everything(), Fix());
  }

 private:
  void Sort(const pools::Resource& resource, const pools::Slot& slot) {
    const device::Gpu* gpu = stock_.snapshot->FindGpu(slot.gpu);
    if (gpu == nullptr) {
      gone_ += MaySuffice(slot.memory) ? 1 : 0;
      return;
    }
    const std::string_view pool = slot.memory ? std::string_view(resource.name) : "";
    auto place = std::ranges::find_if(kinds_, [&](const Kind& kind) {
      return kind.sample->model == gpu->model && kind.pool == pool && kind.memory == slot.memory;
    });
    if (place == kinds_.end()) {
      place = kinds_.insert(place, Kind{.sample = gpu, .pool = pool, .memory = slot.memory});
      place->slots.name = slot.memory ? resource.name : gpu->model;
      place->slots.share = resource.share;
    }
    place->slots.slots.push_back(slot);
    if (std::string obstacle = ObstacleTo(slot); !obstacle.empty()) {
      place->obstacles.push_back(std::move(obstacle));
    } else {
      place->free.push_back(slot);
    }
  }

  // Lent GPUs that no pool lends now may be what the request needs once they are returned.
  void CountChanging() {
    std::set<std::string> others;
    for (const Loan& loan : ledger_.loans()) {
      for (const device::GpuUuid& uuid : loan.gpus) {
        const device::Gpu* gpu = stock_.snapshot->FindGpu(uuid);
        if (gpu != nullptr && IsNamed(*gpu)) {
          others.insert(uuid.str());
        }
      }
    }
    for (const pools::Resource& resource : stock_.assignment.local) {
      for (const pools::Slot& slot : resource.slots) {
        others.erase(slot.gpu.str());
      }
    }
    changing_ = others.size();
  }

  // Whether the request allows its model.
  bool IsNamed(const device::Gpu& gpu) const {
    return request_.models.empty() ||
           std::ranges::any_of(request_.models, [&gpu](const std::string& name) {
             return config::Matches(OfModel(name), gpu);
           });
  }

  // Whether a slot with this limit, or without one, is what the request may get.
  bool MaySuffice(const std::optional<Bytes>& limit) const {
    return request_.memory ? !limit || *limit >= *request_.memory : !limit;
  }

  std::string ObstacleTo(const pools::Slot& slot) const {
    const Loan* loan = slot.memory ? ledger_.FindBySlot(slot.id) : ledger_.FindByGpu(slot.gpu);
    if (loan != nullptr) {
      return fmt::format("{} is lent to {}", slot.id, loan->holder);
    }
    if (!slot.health.is_healthy) {
      return fmt::format("{} is unhealthy ({})", slot.gpu.str(), slot.health.reason);
    }
    const std::string obstacle = stock_.obstacle(slot.gpu);
    return obstacle.empty() ? "" : fmt::format("{}: {}", slot.gpu.str(), obstacle);
  }

  // The kinds that the request names, in its order. For memory, whole GPUs count only if no slice
  // of this host is large enough: a slice that is merely lent is waited for.
  std::vector<const Kind*> Candidates() const {
    if (!request_.memory) {
      return KindsIf([](const Kind& kind) { return !kind.memory; });
    }
    std::vector<const Kind*> slices = KindsIf(
        [this](const Kind& kind) { return kind.memory && *kind.memory >= *request_.memory; });
    return !slices.empty() ? slices : KindsIf([this](const Kind& kind) {
      const std::optional<Bytes>& usable = kind.sample->usable_memory;
      return !kind.memory && usable && *usable >= *request_.memory;
    });
  }

  template <typename Predicate>
  std::vector<const Kind*> KindsIf(Predicate suits) const {
    std::vector<const Kind*> kinds;
    const auto add = [&](const config::Selector& selector) {
      for (const Kind& kind : kinds_) {
        if (suits(kind) && config::Matches(selector, *kind.sample) &&
            std::ranges::find(kinds, &kind) == kinds.end()) {
          kinds.push_back(&kind);
        }
      }
    };
    for (const std::string& name : request_.models) {
      add(OfModel(name));
    }
    if (request_.models.empty()) {
      add(config::Selector());
    }
    return kinds;
  }

  // Of the free slots, those that a loan may have together.
  static std::vector<std::string> OffersOf(const Kind& kind) {
    const bool is_spread =
        kind.memory && kind.slots.share.multiple == sharing::MultipleSlots::kSpread;
    std::set<std::string_view> devices;
    std::vector<std::string> ids;
    for (const pools::Slot& slot : kind.free) {
      if (devices.insert(slot.device_uuid).second || !is_spread) {
        ids.push_back(slot.id);
      }
    }
    return ids;
  }

  StatusOr<Choice> Pick(const Kind& kind) const {
    const plugin::PreferredPolicy policy(kind.slots, *stock_.snapshot,
                                         stock_.config->plugin.shared_policy);
    ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                     policy.Choose(OffersOf(kind), {}, request_.count));
    Choice choice{.model = kind.sample->model, .gpus = {}};
    for (const pools::Slot& slot : kind.slots.slots) {
      if (std::ranges::find(ids, slot.id) == ids.end()) {
        continue;
      }
      if (std::ranges::find(choice.gpus, slot.gpu) == choice.gpus.end()) {
        choice.gpus.push_back(slot.gpu);
      }
      if (slot.memory) {
        choice.slices.push_back({.id = slot.id,
                                 .device_uuid = slot.device_uuid,
                                 .memory = *slot.memory,
                                 .share = kind.slots.share});
      }
    }
    return choice;
  }

  std::string Wanted() const {
    const std::string models =
        request_.models.empty() ? "any GPU"
                                : Printable(fmt::format("{}", fmt::join(request_.models, " or ")));
    return fmt::format("{} × {}{}{}", request_.count,
                       request_.memory ? FormatQuantity(*request_.memory) + " of " : "", models,
                       request_.count > 1 ? " of one model" : "");
  }

  static std::string ReasonOf(const Kind& kind) {
    constexpr size_t kShown = 8;
    std::vector<std::pair<std::string, size_t>> counted;  // slices of a GPU share its reason
    for (const std::string& obstacle : kind.obstacles) {
      const auto same = std::ranges::find(counted, obstacle, &decltype(counted)::value_type::first);
      if (same == counted.end()) {
        counted.emplace_back(obstacle, 1);
      } else {
        ++same->second;
      }
    }
    std::vector<std::string> shown;
    for (size_t i = 0; i < std::min(counted.size(), kShown); ++i) {
      const auto& [obstacle, count] = counted[i];
      shown.push_back(count == 1 ? obstacle : fmt::format("{} × {}", count, obstacle));
    }
    if (counted.size() > kShown) {
      shown.push_back(fmt::format("{} more", counted.size() - kShown));
    }
    if (IsLimited(kind)) {
      shown.push_back(fmt::format("a loan can have {}", MostOf(kind, kind.slots.slots)));
    }
    return fmt::format("{} of {} {} are free ({})", kind.free.size(), kind.slots.slots.size(),
                       NameOfKind(kind), fmt::join(shown, ", "));
  }

  std::string Everything() const {
    std::vector<std::string> counts;
    counts.reserve(kinds_.size());
    for (const Kind& kind : kinds_) {
      counts.push_back(fmt::format("{} × {}", kind.slots.slots.size(), NameOfKind(kind)));
    }
    return counts.empty() ? "no GPU" : fmt::format("{}", fmt::join(counts, ", "));
  }

  std::string Fix() const {
    if (std::ranges::any_of(Candidates(), [](const Kind* kind) { return IsLimited(*kind); })) {
      return "request fewer, set share.multiple: allow in the pool";
    }
    const bool has_slices =
        std::ranges::any_of(kinds_, [](const Kind& kind) { return kind.memory.has_value(); });
    return !request_.memory && has_slices ? "request what they have (memory for slices)"
                                          : "request what they have";
  }

  const LoanRequest& request_;
  const Ledger& ledger_;
  const Stock& stock_;
  std::vector<Kind> kinds_;  // whole GPUs in the order of the pools, then slices by size
  size_t changing_ = 0;      // GPUs that are lent as what they no longer are
  size_t gone_ = 0;          // that may suffice, of GPUs that the driver no longer reports
};

Status CheckPossible(const Stock& stock) {
  if (stock.config == nullptr) {
    return Unavailable("there is no valid configuration yet: see kgpu status");
  }
  if (std::ranges::find(stock.config->pools, config::Provider::kLocal, &config::Pool::provider) ==
      stock.config->pools.end()) {
    return FailedPrecondition(
        "no pool of this host lends GPUs: set provider: local in a pool of its configuration");
  }
  if (stock.snapshot == nullptr || stock.snapshot->driver.state == device::DriverState::kStarting) {
    return Unavailable("the driver has not answered yet");
  }
  if (stock.snapshot->driver.state != device::DriverState::kReady) {
    return Unavailable("the driver does not answer: {}", stock.snapshot->driver.reason);
  }
  return OkStatus();
}

}  // namespace

StatusOr<Choice> ChooseGpus(const LoanRequest& request, const Ledger& ledger, const Stock& stock) {
  RETURN_IF_ERROR(CheckPossible(stock));
  return Chooser(request, ledger, stock).Choose();
}

}  // namespace kgpu::loans
