#include "src/node/pools/claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/gpu/device/mig_mode.h"
#include "src/node/config/selector.h"

namespace kgpu::pools {
namespace {

using config::MigStrategy;
using device::IsInMigMode;

// Goes through the pools for one GPU.
class CardClaims {
 public:
  CardClaims(const config::NodeConfig& config, const device::Gpu& gpu, Claims& out)
      : config_(config), gpu_(gpu), out_(out), is_settled_(gpu.mig_devices.size()) {}

  void Run() {
    if (Exclude()) {
      return;
    }
    for (size_t pool = 0; pool < config_.pools.size() && !IsDone(); ++pool) {
      ClaimNamed(pool);
      ClaimByStrategy(pool);
    }
    RefuseRest(
        "no pool's selector matches it: run kgpu config assign to see all; extend a pool, or add "
        "one");
  }

 private:
  bool IsDone() const {
    return is_whole_settled_ ||
           (!is_settled_.empty() && std::ranges::find(is_settled_, false) == is_settled_.end());
  }
  // Some MIG device is settled, so that the GPU cannot be handed out whole.
  bool IsCut() const { return std::ranges::find(is_settled_, true) != is_settled_.end(); }

  template <typename Act>
  void ForEachOpenMig(Act act) {
    for (size_t i = 0; i < is_settled_.size(); ++i) {
      if (!is_settled_[i]) {
        is_settled_[i] = act(gpu_.mig_devices[i]);
      }
    }
  }

  // True when the whole GPU is.
  bool Exclude() {
    for (size_t i = 0; i < config_.exclude.size(); ++i) {
      const config::Selector& selector = config_.exclude[i];
      const std::string reason = fmt::format("excluded by exclude[{}] ({})", i, ToString(selector));
      if (Matches(selector, gpu_)) {
        is_whole_settled_ = true;
        out_.refusals.push_back({{&gpu_, nullptr}, reason});
        return true;
      }
      ForEachOpenMig([&](const device::MigDevice& mig) {
        const bool is_excluded = Matches(selector, gpu_, mig);
        if (is_excluded) {
          out_.refusals.push_back({{&gpu_, &mig}, reason});
        }
        return is_excluded;
      });
    }
    return false;
  }

  void ClaimNamed(size_t pool) {
    ForEachOpenMig([&](const device::MigDevice& mig) {
      const bool is_named = NamesMigDevice(config_.pools[pool].devices, gpu_, mig);
      if (is_named) {
        out_.claims.push_back({.device = {&gpu_, &mig}, .pool = pool, .is_by_strategy = false});
      }
      return is_named;
    });
  }

  void ClaimByStrategy(size_t pool) {
    const config::Selector& selector = config_.pools[pool].devices;
    if (config_.pools[pool].provider == config::Provider::kLocal) {
      ClaimToLend(pool);
      return;
    }
    if (sharing::MakesDevices(config_.pools[pool].share) && RefuseUnpartitioned(pool)) {
      return;
    }
    const MigStrategy strategy = StrategyOf(config_, pool);
    const bool is_whole = strategy == MigStrategy::kNone || strategy == MigStrategy::kDynamic;
    if (is_whole || !IsInMigMode(gpu_)) {
      if (Matches(selector, gpu_)) {
        ClaimWhole(pool);
      }
      return;
    }
    if (gpu_.mig_devices.empty() && Matches(selector, gpu_)) {
      RefuseWithoutMigDevices(pool);
      return;
    }
    ForEachOpenMig([&](const device::MigDevice& mig) {
      // The agent partitions whole GPUs: what they become is the same pool's.
      const bool is_meant = sharing::MakesDevices(config_.pools[pool].share)
                                ? Matches(selector, gpu_)
                                : Matches(selector, gpu_, mig);
      if (is_meant) {
        out_.claims.push_back({.device = {&gpu_, &mig}, .pool = pool, .is_by_strategy = true});
      }
      return is_meant;
    });
  }

  void RefuseWithoutMigDevices(size_t pool) {
    is_whole_settled_ = true;
    out_.refusals.push_back(
        {{&gpu_, nullptr},
         fmt::format("{}: {}", PoolName(config_, pool), device::WithoutMigDevicesText(gpu_)),
         true});
  }

  // True where the GPU has no MIG devices yet, and the agent makes them.
  bool RefuseUnpartitioned(size_t pool) {
    if (!Matches(config_.pools[pool].devices, gpu_) ||
        (IsInMigMode(gpu_) && !gpu_.mig_devices.empty())) {
      return false;
    }
    is_whole_settled_ = true;
    const std::string layout = sharing::ProfilesText(config_.pools[pool].share);
    out_.refusals.push_back(
        {{&gpu_, nullptr},
         gpu_.mig_mode ? fmt::format("{} gives it the MIG layout {}, which it does not have yet",
                                     PoolName(config_, pool), layout)
                       : fmt::format("{} gives its GPUs the MIG layout {}, but this model has no "
                                     "MIG: use another pool for it",
                                     PoolName(config_, pool), layout)});
    return true;
  }

  // A program could use nothing of a whole GPU that is in MIG mode.
  void ClaimToLend(size_t pool) {
    if (!Matches(config_.pools[pool].devices, gpu_)) {
      return;
    }
    if (!IsInMigMode(gpu_)) {
      ClaimWhole(pool);
      return;
    }
    RefuseRest(
        fmt::format("{} lends whole GPUs, but it is in MIG mode: turn MIG off (kgpu mig apply "
                    "--gpu {} --select "
                    "all-disabled), or add it to a pool without provider: local",
                    PoolName(config_, pool), gpu_.index),
        true);
    is_whole_settled_ = true;
  }

  void ClaimWhole(size_t pool) {
    if (IsCut()) {
      RefuseRest(
          fmt::format("{} takes whole GPUs, but other MIG devices of this GPU are taken or "
                      "excluded: set mig: single or mixed in the pool",
                      PoolName(config_, pool)));
    } else if (StrategyOf(config_, pool) == MigStrategy::kDynamic) {
      out_.claims.push_back({.device = {&gpu_, nullptr}, .pool = pool, .is_by_strategy = false});
    } else if (device::IsWithoutMigDevices(gpu_)) {
      RefuseWithoutMigDevices(pool);
    } else if (IsInMigMode(gpu_)) {
      RefuseRest(
          fmt::format(
              "{} takes whole GPUs, but it is in MIG mode, where programs see only its MIG "
              "devices: "
              "set migStrategy: mixed or single, or turn MIG off (kgpu mig apply --gpu {} --select "
              "all-disabled)",
              PoolName(config_, pool), gpu_.index),
          true);
    } else {
      out_.claims.push_back({.device = {&gpu_, nullptr}, .pool = pool, .is_by_strategy = false});
    }
    is_whole_settled_ = true;
  }

  void RefuseRest(const std::string& reason, bool is_withdrawn = false) {
    if (is_whole_settled_) {
      return;
    }
    if (!IsCut()) {
      out_.refusals.push_back({{&gpu_, nullptr}, reason, is_withdrawn});
      return;
    }
    ForEachOpenMig([&](const device::MigDevice& mig) {
      out_.refusals.push_back({{&gpu_, &mig}, reason, is_withdrawn});
      return true;
    });
  }

  const config::NodeConfig& config_;
  const device::Gpu& gpu_;
  Claims& out_;
  std::vector<bool> is_settled_;  // of each MIG device
  bool is_whole_settled_ = false;
};

// Strategy single promises that all devices of the pool are alike: drops those that break it.
// `claims` are those of one pool.
std::string ReasonAgainst(const Claim& claim, const std::set<std::string_view>& profiles,
                          const std::string& pool) {
  if (claim.device.mig == nullptr && !profiles.empty()) {
    return fmt::format(
        "{} has MIG strategy single and MIG devices on other GPUs: enable MIG mode on this GPU "
        "too, or give it its own pool",
        pool);
  }
  if (profiles.size() > 1) {
    return fmt::format(
        "{} has MIG strategy single, but its MIG devices differ ({}): make them equal, or set mig: "
        "mixed",
        pool, fmt::join(profiles, ", "));
  }
  return "";
}

void CheckSingle(const config::NodeConfig& config, Claims& out) {
  for (size_t pool = 0; pool < config.pools.size(); ++pool) {
    if (StrategyOf(config, pool) != MigStrategy::kSingle) {
      continue;
    }
    const auto is_concerned = [pool](const Claim& claim) {
      return claim.pool == pool && (claim.is_by_strategy || claim.device.mig == nullptr);
    };
    std::set<std::string_view> profiles;
    for (const Claim& claim : out.claims) {
      if (is_concerned(claim) && claim.device.mig != nullptr) {
        profiles.insert(claim.device.mig->profile);
      }
    }
    std::erase_if(out.claims, [&](const Claim& claim) {
      std::string reason =
          is_concerned(claim) ? ReasonAgainst(claim, profiles, PoolName(config, pool)) : "";
      const bool is_refused = !reason.empty();
      if (is_refused) {
        out.refusals.push_back({claim.device, std::move(reason)});
      }
      return is_refused;
    });
  }
}

// GPUs are in one list of the snapshot, and so are the MIG devices of a GPU: the order of their
// addresses is that of the lists.
auto OrderOf(const sharing::Device& device) {
  return std::tuple(device.gpu, device.mig);
}

}  // namespace

bool IsSomeWithdrawn(const Claims& claims) {
  return std::ranges::any_of(claims.refusals, &Refusal::is_withdrawn);
}

config::MigStrategy StrategyOf(const config::NodeConfig& config, size_t pool) {
  const config::Pool& asked = config.pools.at(pool);
  return sharing::MakesDevices(asked.share) ? MigStrategy::kMixed : asked.mig.value_or(config.mig);
}

std::optional<size_t> PoolOfGpu(const config::NodeConfig& config, const device::Gpu& gpu) {
  for (size_t pool = 0; pool < config.pools.size(); ++pool) {
    if (config::Matches(config.pools[pool].devices, gpu)) {
      return pool;
    }
  }
  return std::nullopt;
}

bool MakesMigDevices(const config::NodeConfig& config, const device::Gpu& gpu) {
  const auto pool = PoolOfGpu(config, gpu);
  return pool && StrategyOf(config, *pool) == MigStrategy::kDynamic && gpu.mig_mode &&
         (IsInMigMode(gpu) || !device::MigModeNeedsReset(gpu));
}

bool RemovesUnclaimed(const config::NodeConfig& config, const device::Gpu& gpu) {
  const auto pool = PoolOfGpu(config, gpu);
  return pool && config.pools.at(*pool).removes_unclaimed && MakesMigDevices(config, gpu);
}

std::string PoolName(const config::NodeConfig& config, size_t pool) {
  return fmt::format("pools[{}] ({})", pool, ToString(config.pools.at(pool).devices));
}

Claims ClaimDevices(const device::Snapshot& snapshot, const config::NodeConfig& config) {
  Claims out;
  for (const device::Gpu& gpu : snapshot.gpus) {
    CardClaims(config, gpu, out).Run();
  }
  CheckSingle(config, out);
  std::ranges::stable_sort(out.claims, {}, [](const Claim& c) { return OrderOf(c.device); });
  SortByCard(out.refusals);
  return out;
}

void SortByCard(std::vector<Refusal>& refusals) {
  std::ranges::stable_sort(refusals, {}, [](const Refusal& r) { return OrderOf(r.device); });
}

}  // namespace kgpu::pools
