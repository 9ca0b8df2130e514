#include "src/node/mig/planner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/node/mig/options.h"
#include "src/node/mig/search.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::mig {
namespace {

constexpr size_t kMaxGpus = 128;
constexpr size_t kMaxInstances = 16;  // of a GPU; hardware has at most 7

StatusOr<Layout> LayoutOf(const GpuState& gpu) {
  if (gpu.instances.size() > kMaxInstances) {
    return InvalidArgument("GPU {}: {} instances are more than {}", gpu.id, gpu.instances.size(),
                           kMaxInstances);
  }
  Layout layout;
  for (const Instance& instance : gpu.instances) {
    const auto profile = gpu.geometry->Find(instance.kind.profile);
    if (!profile) {
      return InvalidArgument("GPU {}: has no profile {}", gpu.id, instance.kind.profile);
    }
    layout.push_back({.profile = *profile, .start = instance.start});
  }
  RETURN_IF_ERROR(Annotate(gpu.geometry->Check(layout), "GPU {}: its present layout", gpu.id));
  return layout;
}

struct Problem {
  std::span<const GpuState> gpus;
  Kinds kinds{};
  Counts demand{};                             // with what may have to move
  std::vector<std::vector<Option>> options{};  // of GPUs that are alike, once
  std::vector<size_t> options_of{};            // by GPU: index into options
  SearchInput input{};
};

StatusOr<std::map<Kind, unsigned>> TotalDemand(std::span<const GpuState> gpus,
                                               const std::vector<Demand>& demand) {
  std::map<Kind, unsigned> total;
  for (const Demand& wanted : demand) {
    if (wanted.count > 0) {
      total[wanted.kind] += wanted.count;
    }
  }
  for (const GpuState& gpu : gpus) {
    for (const Instance& instance : gpu.instances) {
      if (instance.use == Use::kMovable) {
        ++total[instance.kind];
      }
    }
  }
  if (total.size() > Counts::kKinds) {
    return OutOfRange("{} kinds of instances at a time: at most {} can be planned", total.size(),
                      Counts::kKinds);
  }
  for (const auto& [kind, count] : total) {
    if (count > Counts::kMost) {
      return OutOfRange("{} instances of {}: at most {} can be planned", count, KindText(kind),
                        Counts::kMost);
    }
  }
  return total;
}

// GPUs with the same key have the same options.
std::string KeyOf(const GpuState& gpu) {
  std::string key =
      fmt::format("{} {} {}", fmt::ptr(gpu.geometry.get()), gpu.is_mig_enabled, gpu.may_change);
  for (const Instance& instance : gpu.instances) {
    key += fmt::format(" {}@{}:{}", KindText(instance.kind), instance.start,
                       static_cast<int>(instance.use));
  }
  return key;
}

// What an instance takes of its GPU, by kind: memory slices, compute slices, halves and quarters.
std::vector<std::vector<unsigned>> WeightsOf(const Problem& problem) {
  std::vector<std::vector<unsigned>> weights(4, std::vector<unsigned>(problem.kinds.size()));
  for (size_t kind = 0; kind < problem.kinds.size(); ++kind) {
    unsigned memory = 0;
    unsigned total = 8;
    for (const GpuState& gpu : problem.gpus) {
      if (const auto profile = gpu.geometry->Find(problem.kinds[kind].profile)) {
        memory = gpu.geometry->profiles()[*profile].memory_slices;
        total = gpu.geometry->memory_slices();
        break;
      }
    }
    weights[0][kind] = std::max(memory, 1U);
    weights[1][kind] = SlicesOfName(problem.kinds[kind].profile);
    weights[2][kind] = memory * 2 / total;
    weights[3][kind] = memory * 4 / total;
  }
  return weights;
}

StatusOr<Problem> ProblemOf(std::span<const GpuState> gpus, const std::vector<Demand>& demand) {
  if (gpus.size() > kMaxGpus) {
    return OutOfRange("{} GPUs: at most {} can be planned together", gpus.size(), kMaxGpus);
  }
  for (const GpuState& gpu : gpus) {
    RETURN_IF_ERROR(LayoutOf(gpu).status());
  }
  ASSIGN_OR_RETURN(const auto total, TotalDemand(gpus, demand));
  Problem problem{.gpus = gpus};
  for (const auto& [kind, count] : total) {
    problem.demand.Set(problem.kinds.size(), count);
    problem.kinds.push_back(kind);
  }
  std::map<std::string, size_t> known;
  for (const GpuState& gpu : gpus) {
    const auto [entry, is_new] = known.try_emplace(KeyOf(gpu), problem.options.size());
    if (is_new) {
      problem.options.push_back(OptionsOf(gpu, problem.kinds, problem.demand));
    }
    problem.options_of.push_back(entry->second);
  }
  problem.input.demand = problem.demand;
  problem.input.weights = WeightsOf(problem);
  return problem;
}

// The options that no other one beats in what it provides and how much it disturbs.
std::vector<Option> LargestOptions(const std::vector<Option>& all) {
  std::vector<const Option*> sorted;
  sorted.reserve(all.size());
  for (const Option& option : all) {
    sorted.push_back(&option);
  }
  const auto total = [](const Option& option) {
    unsigned sum = 0;
    for (size_t kind = 0; kind < Counts::kKinds; ++kind) {
      sum += option.provided[kind];
    }
    return sum;
  };
  std::ranges::stable_sort(sorted, [&](const Option* a, const Option* b) {
    return a->cost.disturbance != b->cost.disturbance ? a->cost.disturbance < b->cost.disturbance
                                                      : total(*a) > total(*b);
  });
  std::vector<Option> largest;
  for (const Option* option : sorted) {
    if (std::ranges::none_of(largest, [&](const Option& better) {
          return option->provided.IsAtMost(better.provided);
        })) {
      largest.push_back(*option);
      largest.back().cost.rest = 0;
    }
  }
  std::ranges::stable_sort(largest, {}, &Option::cost);
  return largest;
}

// The same as `option`, with its whole cost.
const Option& FullOption(const std::vector<Option>& all, const Option& option) {
  return *std::ranges::find(all, option.provided, &Option::provided);
}

// Replaces each GPU's option by the cheapest one that still provides what the others do not.
void Trim(const Problem& problem, std::vector<const Option*>& chosen) {
  for (size_t gpu = 0; gpu < chosen.size(); ++gpu) {
    Counts missing = problem.demand;
    for (size_t other = 0; other < chosen.size(); ++other) {
      missing = other == gpu ? missing : missing.Without(chosen[other]->provided);
    }
    for (const Option& option : problem.options[problem.options_of[gpu]]) {
      if (option.cost >= chosen[gpu]->cost) {
        break;
      }
      if (missing.IsAtMost(option.provided)) {
        chosen[gpu] = &option;
        break;
      }
    }
  }
}

// Memory slices of instances that stay, which are counted in `instances`.
unsigned FixedSlices(const GpuState& gpu, unsigned* instances) {
  unsigned slices = 0;
  for (const Instance& instance : gpu.instances) {
    if (instance.use == Use::kFixed) {
      ++*instances;
      slices += gpu.geometry->profiles()[gpu.geometry->Find(instance.kind.profile).value_or(0)]
                    .memory_slices;
    }
  }
  return slices;
}

std::string ReasonOf(const Problem& problem) {
  SearchInput all = problem.input;
  all.options.clear();
  for (const size_t index : problem.options_of) {
    all.options.push_back(&problem.options[index]);
  }
  unsigned fixed = 0;
  uint64_t available = 0;
  for (const GpuState& gpu : problem.gpus) {
    available += gpu.geometry->memory_slices() - FixedSlices(gpu, &fixed);
  }
  const std::string stay = fixed == 0 ? ""
                                      : fmt::format("; {} {} in use and {}", fixed,
                                                    fixed == 1 ? "instance is" : "instances are",
                                                    fixed == 1 ? "stays" : "stay");
  const std::string gpus =
      fmt::format("{} {}", problem.gpus.size(), problem.gpus.size() == 1 ? "GPU" : "GPUs");
  for (size_t kind = 0; kind < problem.kinds.size(); ++kind) {
    const uint64_t most = CapacityOf(all, 0, kind);
    if (most < problem.demand[kind]) {
      return fmt::format("{} can hold {} x {}, not {}{}", gpus, most, KindText(problem.kinds[kind]),
                         problem.demand[kind], stay);
    }
  }
  uint64_t needed = 0;
  for (size_t kind = 0; kind < problem.kinds.size(); ++kind) {
    needed += uint64_t{problem.demand[kind]} * problem.input.weights[0][kind];
  }
  if (needed > available) {
    return fmt::format("the profiles need {} memory slices; {} can provide {}{}", needed, gpus,
                       available, stay);
  }
  return fmt::format("each profile fits, but no placement on {} holds them together{}", gpus, stay);
}

GpuChange ChangeOf(const Problem& problem, size_t index, const Option& option) {
  const GpuState& gpu = problem.gpus[index];
  GpuChange change{.gpu = index};
  for (size_t i = 0; i < gpu.instances.size(); ++i) {
    const bool is_kept = (option.kept >> i & 1) != 0;
    (is_kept ? change.layout : change.destroy).push_back(gpu.instances[i]);
  }
  for (const Addition& added : option.added) {
    const Instance instance{.kind = problem.kinds[added.kind], .start = added.start};
    change.create.push_back(instance);
    change.layout.push_back(instance);
  }
  std::ranges::sort(change.destroy, {}, &Instance::start);
  std::ranges::sort(change.create, {}, &Instance::start);
  std::ranges::sort(change.layout, {}, &Instance::start);
  change.enables_mig = !gpu.is_mig_enabled;
  change.keeps_mode = gpu.is_mig_enabled && gpu.is_mode_pending;
  return change;
}

Cost TotalCost(const std::vector<const Option*>& chosen) {
  Cost total;
  for (const Option* option : chosen) {
    total = total + option->cost;
  }
  return total;
}

// A quick search first: what costs more than its result need not be followed.
SearchResult SearchNarrowed(SearchInput input, const PlanLimits& limits) {
  constexpr PlanLimits kQuick{.states = 64, .steps = 20'000};
  const SearchResult guess = Search(input, kQuick);
  if (!guess.chosen.empty()) {
    input.ceiling = guess.cost;
  }
  SearchResult found = Search(input, limits);
  return found.chosen.empty() && !guess.chosen.empty() ? guess : found;
}

Plan Infeasible(const Problem& problem, bool is_proven, const PlanLimits& limits) {
  return {.is_feasible = false,
          .reason = is_proven ? ReasonOf(problem)
                              : fmt::format("none found among the {} best layouts of each step",
                                            limits.states),
          .is_proven = is_proven};
}

Plan PlanOf(const Problem& problem, const std::vector<const Option*>& chosen, bool is_proven) {
  Plan plan{.is_feasible = true, .reason = "", .is_proven = is_proven};
  for (size_t gpu = 0; gpu < chosen.size(); ++gpu) {
    plan.evicted += chosen[gpu]->cost.evicted();
    plan.destroyed += chosen[gpu]->cost.destroyed();
    if (chosen[gpu]->cost.disturbance != 0) {
      plan.changes.push_back(ChangeOf(problem, gpu, *chosen[gpu]));
    }
  }
  return plan;
}

}  // namespace

// First whether and with what disturbance it is possible, with few options for each GPU; then with
// all options whose disturbance is no higher, which leaves few states, for the most room.
StatusOr<Plan> PlanDemand(std::span<const GpuState> gpus, const std::vector<Demand>& demand,
                          const PlanLimits& limits) {
  ASSIGN_OR_RETURN(Problem problem, ProblemOf(gpus, demand));
  if (problem.demand.IsZero()) {
    return Plan{.is_feasible = true};
  }
  if (gpus.empty()) {
    return Plan{.is_feasible = false, .reason = "there is no GPU with MIG"};
  }
  std::vector<std::vector<Option>> largest;
  largest.reserve(problem.options.size());
  for (const std::vector<Option>& options : problem.options) {
    largest.push_back(LargestOptions(options));
  }
  // The last GPU first: of equal plans, the search finds the one that changes the first GPUs.
  const size_t last = gpus.size() - 1;
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    problem.input.options.push_back(&largest[problem.options_of[last - gpu]]);
  }
  const SearchResult first = SearchNarrowed(problem.input, limits);
  if (first.chosen.empty()) {
    return Infeasible(problem, first.is_complete, limits);
  }
  std::vector<const Option*> chosen;
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    const size_t index = problem.options_of[gpu];
    chosen.push_back(&FullOption(problem.options[index], largest[index][first.chosen[last - gpu]]));
    problem.input.options[last - gpu] = &problem.options[index];
  }
  Trim(problem, chosen);
  problem.input.ceiling = TotalCost(chosen);
  const SearchResult second = Search(problem.input, limits);
  for (size_t gpu = 0; gpu < gpus.size() && !second.chosen.empty(); ++gpu) {
    chosen[gpu] = &problem.options[problem.options_of[gpu]][second.chosen[last - gpu]];
  }
  return PlanOf(problem, chosen, first.is_complete && second.is_complete);
}

}  // namespace kgpu::mig
