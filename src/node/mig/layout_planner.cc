// PlanLayout: exact layouts of one GPU.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "src/node/mig/planner.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::mig {
namespace {

using Numbers = std::map<Kind, unsigned>;

// Tries every set of instances that may stay, and every place for the others.
class LayoutSearch {
 public:
  LayoutSearch(const GpuState& gpu, const Numbers& target) : gpu_(gpu), geometry_(*gpu.geometry) {
    for (const auto& [kind, count] : target) {
      items_.insert(items_.end(), count, kind);
    }
    // The largest first: they have the fewest places.
    std::ranges::stable_sort(items_, [&](const Kind& a, const Kind& b) {
      return ProfileOf(a).memory_slices > ProfileOf(b).memory_slices;
    });
  }

  std::optional<GpuChange> Run() {
    const size_t count = gpu_.instances.size();
    for (uint32_t kept = 0; kept < uint32_t{1} << count; ++kept) {
      Try(kept);
    }
    return best_;
  }

 private:
  // Few destroyed ones in use, few destroyed, much room.
  using Score = std::tuple<unsigned, unsigned, uint64_t>;

  const device::MigProfile& ProfileOf(const Kind& kind) const {
    return geometry_.profiles()[geometry_.Find(kind.profile).value_or(0)];
  }
  Placement PlacementOf(const Instance& instance) const {
    return {.profile = geometry_.Find(instance.kind.profile).value_or(0), .start = instance.start};
  }

  void Try(uint32_t kept) {
    change_ = {};
    taken_ = {};
    evicted_ = 0;
    std::vector<Kind> missing = items_;
    for (size_t i = 0; i < gpu_.instances.size(); ++i) {
      const Instance& instance = gpu_.instances[i];
      if ((kept >> i & 1) == 0) {
        if (instance.use == Use::kFixed) {
          return;
        }
        evicted_ += instance.use == Use::kMovable ? 1 : 0;
        change_.destroy.push_back(instance);
        continue;
      }
      const auto item = std::ranges::find(missing, instance.kind);
      if (item == missing.end()) {
        return;
      }
      missing.erase(item);
      geometry_.Take(taken_, PlacementOf(instance));
      change_.layout.push_back(instance);
    }
    Fill(missing, 0);
  }

  // Places missing[next] and those behind it. Equal ones go from the last start to the first.
  void Fill(const std::vector<Kind>& missing, size_t next) {
    if (next == missing.size()) {
      return Note();
    }
    const Kind& kind = missing[next];
    const size_t profile = geometry_.Find(kind.profile).value_or(0);
    std::vector<unsigned> starts = geometry_.FreeStarts(taken_, profile);
    std::ranges::reverse(starts);
    for (const unsigned start : starts) {
      if (next > 0 && missing[next - 1] == kind && start > change_.create.back().start) {
        continue;
      }
      const Placement placement{.profile = profile, .start = start};
      geometry_.Take(taken_, placement);
      change_.create.push_back({.kind = kind, .start = start});
      Fill(missing, next + 1);
      change_.create.pop_back();
      geometry_.Free(taken_, placement);
    }
  }

  void Note() {
    const Score score{evicted_, static_cast<unsigned>(change_.destroy.size()),
                      ~geometry_.Room(taken_)};
    if (!best_ || score < best_score_) {
      best_ = change_;
      best_score_ = score;
    }
  }

  const GpuState& gpu_;
  const Geometry& geometry_;
  std::vector<Kind> items_;
  Taken taken_;
  unsigned evicted_ = 0;
  GpuChange change_;
  Score best_score_;
  std::optional<GpuChange> best_;
};

// Why a GPU cannot have these instances, or nothing.
std::string Obstacle(const GpuState& gpu, const Numbers& target) {
  const Geometry& geometry = *gpu.geometry;
  unsigned memory = 0;
  for (const auto& [kind, count] : target) {
    const auto profile = geometry.Find(kind.profile);
    if (!profile) {
      std::vector<std::string> names;
      for (const device::MigProfile& known : geometry.profiles()) {
        names.push_back(known.name);
      }
      return fmt::format("has no profile {}; its profiles are {}", kind.profile,
                         fmt::join(names, ", "));
    }
    const device::MigProfile& found = geometry.profiles()[*profile];
    if (count > found.max_instances) {
      return fmt::format("can hold {} x {}, not {}", found.max_instances, kind.profile, count);
    }
    memory += count * found.memory_slices;
  }
  if (memory > geometry.memory_slices()) {
    return fmt::format("has {} memory slices; the layout needs {}", geometry.memory_slices(),
                       memory);
  }
  Numbers left = target;
  for (const Instance& instance : gpu.instances) {
    if (instance.use != Use::kFixed) {
      continue;
    }
    if (left[instance.kind] == 0) {
      return fmt::format("{} at memory slice {} is in use", KindText(instance.kind),
                         instance.start);
    }
    --left[instance.kind];
  }
  return "";
}

Plan NoPlan(const GpuState& gpu, const std::string& why) {
  return {.is_feasible = false, .reason = fmt::format("GPU {}: {}", gpu.id, why)};
}

}  // namespace

StatusOr<Plan> PlanLayout(const GpuState& gpu, const std::vector<Demand>& layout) {
  Layout present;
  for (const Instance& instance : gpu.instances) {
    const auto profile = gpu.geometry->Find(instance.kind.profile);
    if (!profile) {
      return InvalidArgument("GPU {}: has no profile {}", gpu.id, instance.kind.profile);
    }
    present.push_back({.profile = *profile, .start = instance.start});
  }
  RETURN_IF_ERROR(Annotate(gpu.geometry->Check(present), "GPU {}: its present layout", gpu.id));
  Numbers target;
  for (const Demand& demand : layout) {
    if (demand.count > 0) {
      target[demand.kind] += demand.count;
    }
  }
  if (const std::string why = Obstacle(gpu, target); !why.empty()) {
    return NoPlan(gpu, why);
  }
  std::optional<GpuChange> change = LayoutSearch(gpu, target).Run();
  if (!change) {
    const bool has_fixed =
        std::ranges::find(gpu.instances, Use::kFixed, &Instance::use) != gpu.instances.end();
    return NoPlan(gpu, fmt::format("no placement holds {}{}", DemandText(layout),
                                   has_fixed ? " beside the instances in use" : ""));
  }
  Plan plan{.is_feasible = true};
  plan.destroyed = static_cast<unsigned>(change->destroy.size());
  plan.evicted =
      static_cast<unsigned>(std::ranges::count(change->destroy, Use::kMovable, &Instance::use));
  change->enables_mig = !gpu.is_mig_enabled;
  change->keeps_mode = gpu.is_mig_enabled && gpu.is_mode_pending;
  change->layout.insert(change->layout.end(), change->create.begin(), change->create.end());
  std::ranges::sort(change->destroy, {}, &Instance::start);
  std::ranges::sort(change->create, {}, &Instance::start);
  std::ranges::sort(change->layout, {}, &Instance::start);
  if (!change->destroy.empty() || !change->create.empty() || change->enables_mig ||
      change->keeps_mode) {
    if (!gpu.may_change) {
      return NoPlan(gpu, "it is in use");
    }
    plan.changes.push_back(*std::move(change));
  }
  return plan;
}

}  // namespace kgpu::mig
