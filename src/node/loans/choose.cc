#include "src/node/loans/choose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/node/config/selector.h"
#include "src/node/plugin/preferred.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::loans {
namespace {

// The GPUs of one model in all local pools.
struct ModelStock {
  const device::Gpu* sample = nullptr;
  pools::Resource gpus{};                // all
  std::vector<std::string> free{};       // ids of those that can be lent now
  std::vector<std::string> obstacles{};  // of the others
};

class Chooser {
 public:
  Chooser(const LoanRequest& request, const Ledger& ledger, const Stock& stock)
      : request_(request), ledger_(ledger), stock_(stock) {
    for (const pools::Resource& resource : stock.assignment.local) {
      for (const pools::Slot& slot : resource.slots) {
        Sort(slot);
      }
    }
  }

  StatusOr<Choice> Choose() const {
    bool could_later = false;
    std::vector<std::string> reasons;
    for (const ModelStock* model : Candidates()) {
      if (model->free.size() >= request_.count) {
        return Pick(*model);
      }
      could_later = could_later || model->gpus.slots.size() + gone_ >= request_.count;
      reasons.push_back(ReasonOf(*model));
    }
    could_later = could_later || gone_ >= request_.count;
    if (gone_ > 0) {
      reasons.push_back(fmt::format("{} that the driver no longer reports", gone_));
    }
    const std::string wanted = fmt::format(
        "{} × {}{}", request_.count,
        request_.models.empty() ? "any GPU"
                                : Printable(fmt::format("{}", fmt::join(request_.models, " or "))),
        request_.count > 1 ? " of one model" : "");
    if (could_later) {
      return Unavailable("no free GPU for {} now: {}", wanted, fmt::join(reasons, "; "));
    }
    return FailedPrecondition(
        "{} cannot be lent here: the pools with provider: local have {}: request what they have, "
        "or extend a pool",
        wanted, Everything());
  }

 private:
  void Sort(const pools::Slot& slot) {
    const device::Gpu* gpu = stock_.snapshot->FindGpu(slot.gpu);
    if (gpu == nullptr) {
      ++gone_;
      return;
    }
    auto place = std::ranges::find_if(
        models_, [gpu](const ModelStock& model) { return model.sample->model == gpu->model; });
    if (place == models_.end()) {
      place = models_.insert(place, ModelStock{.sample = gpu});
      place->gpus.name = gpu->model;
    }
    place->gpus.slots.push_back(slot);
    if (std::string obstacle = ObstacleTo(slot); !obstacle.empty()) {
      place->obstacles.push_back(std::move(obstacle));
    } else {
      place->free.push_back(slot.id);
    }
  }

  std::string ObstacleTo(const pools::Slot& slot) const {
    if (const Loan* loan = ledger_.FindByGpu(slot.gpu)) {
      return fmt::format("{} is lent to {}", slot.gpu.str(), loan->holder);
    }
    if (!slot.health.is_healthy) {
      return fmt::format("{} is unhealthy ({})", slot.gpu.str(), slot.health.reason);
    }
    const std::string obstacle = stock_.obstacle(slot.gpu);
    return obstacle.empty() ? "" : fmt::format("{}: {}", slot.gpu.str(), obstacle);
  }

  // Those that the request names, in its order.
  std::vector<const ModelStock*> Candidates() const {
    std::vector<const ModelStock*> candidates;
    const auto add = [&](const config::Selector& selector) {
      for (const ModelStock& model : models_) {
        if (config::Matches(selector, *model.sample) &&
            std::ranges::find(candidates, &model) == candidates.end()) {
          candidates.push_back(&model);
        }
      }
    };
    for (const std::string& name : request_.models) {
      config::Selector selector;
      selector.models = {name};
      add(selector);
    }
    if (request_.models.empty()) {
      add(config::Selector());
    }
    return candidates;
  }

  StatusOr<Choice> Pick(const ModelStock& model) const {
    const plugin::PreferredPolicy policy(model.gpus, *stock_.snapshot,
                                         config::SharedPolicy::kDistributed);
    ASSIGN_OR_RETURN(const std::vector<std::string> ids,
                     policy.Choose(model.free, {}, request_.count));
    Choice choice{.model = model.sample->model, .gpus = {}};
    for (const pools::Slot& slot : model.gpus.slots) {
      if (std::ranges::find(ids, slot.id) != ids.end()) {
        choice.gpus.push_back(slot.gpu);
      }
    }
    return choice;
  }

  static std::string ReasonOf(const ModelStock& model) {
    constexpr size_t kShown = 8;
    std::vector<std::string> shown = model.obstacles;
    if (shown.size() > kShown) {
      shown.resize(kShown);
      shown.push_back(fmt::format("{} more", model.obstacles.size() - kShown));
    }
    return fmt::format("{} of {} {} are free ({})", model.free.size(), model.gpus.slots.size(),
                       model.sample->model, fmt::join(shown, ", "));
  }

  std::string Everything() const {
    std::vector<std::string> counts;
    counts.reserve(models_.size());
    for (const ModelStock& model : models_) {
      counts.push_back(fmt::format("{} × {}", model.gpus.slots.size(), model.sample->model));
    }
    return counts.empty() ? "no GPU" : fmt::format("{}", fmt::join(counts, ", "));
  }

  const LoanRequest& request_;
  const Ledger& ledger_;
  const Stock& stock_;
  std::vector<ModelStock> models_;  // in the order of the pools
  size_t gone_ = 0;                 // GPUs without a model: the driver no longer reports them
};

Status CheckPossible(const LoanRequest& request, const Stock& stock) {
  if (stock.config == nullptr) {
    return Unavailable("there is no valid configuration yet: see kgpu status");
  }
  if (std::ranges::find(stock.config->pools, config::Provider::kLocal, &config::Pool::provider) ==
      stock.config->pools.end()) {
    return FailedPrecondition(
        "no pool of this host lends GPUs: set provider: local in a pool of its configuration");
  }
  if (request.memory) {
    return FailedPrecondition(
        "memory: no pool of this host lends parts of a GPU by memory: remove memory from the "
        "request to get whole GPUs");
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
  RETURN_IF_ERROR(CheckPossible(request, stock));
  return Chooser(request, ledger, stock).Choose();
}

}  // namespace kgpu::loans
