#include "src/node/slices/compute_control.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace kgpu::slices {
namespace {

using preload::GateTurn;
using preload::kGateParts;

constexpr double kAll = 100;  // percent
// Rounds without any use until a container counts as idle: programs pause between batches.
constexpr unsigned kQuietRounds = 3;
// Rounds without a sample of the driver until what it has said before is no longer known.
constexpr unsigned kUnknownRounds = 10;
// Who has neither used the device nor waited for it does not want more. What it leaves goes to the
// others; it keeps so much room to want more in the next round.
constexpr double kRoom = 1.25;
constexpr double kLeastRoom = 2;  // percent
// How fast a demand that was higher is forgotten, per round.
constexpr double kForget = 0.7;
// How much of an error is corrected in a round, and how far corrections go, in parts of a target.
constexpr double kGain = 0.4;
constexpr double kMostLess = 0.95;
constexpr double kMostMore = 2;
// A window is no shorter than this part of its target: then it comes less often.
constexpr double kLeastWindow = 0.25;

// Percent that a container would use without its gate: what it has used in the part of the time in
// which it did not wait.
double WantedBy(const ComputeUse& use) {
  if (!use.used || !use.waited) {
    return kAll;
  }
  const double waited = std::clamp(*use.waited, 0.0, kAll - 1);
  if (*use.used <= 0) {
    return waited > 0 ? kAll : 0;
  }
  return *use.used * kAll / (kAll - waited);
}

uint32_t PartsOf(double percent) {
  return static_cast<uint32_t>(
      std::clamp(percent * kGateParts / kAll, 0.0, static_cast<double>(kGateParts)));
}

// A window from `start` on that is open for `duty` percent of the time.
GateTurn WindowOf(double start, double target, double duty) {
  const double every = std::clamp(std::ceil(target * kLeastWindow / duty), 1.0,
                                  static_cast<double>(preload::kMaxGateEvery));
  // Less than all: a gate that is fully open is one that does not wait for anybody.
  GateTurn turn{.open = std::clamp(PartsOf(duty * every), 1U, kGateParts - 1),
                .start = PartsOf(start),
                .every = static_cast<uint32_t>(every)};
  turn.start = std::min(turn.start, kGateParts - turn.open);
  return turn;
}

}  // namespace

// Those that need least beside their weight come first: what they leave is there for the others.
std::vector<double> DivideByWeight(double total, const std::vector<Demand>& demands) {
  std::vector<size_t> order(demands.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {},
                    [&](size_t i) { return std::pair(demands[i].most / demands[i].weight, i); });
  double weights = 0;
  for (const Demand& demand : demands) {
    weights += demand.weight;
  }
  std::vector<double> parts(demands.size(), 0);
  for (const size_t i : order) {
    parts[i] = std::min(demands[i].most, total * demands[i].weight / weights);
    total -= parts[i];
    weights -= demands[i].weight;
  }
  return parts;
}

// Where the driver does not say, whoever has programs may be.
bool ComputeController::IsBusy(const ComputeUse& use, const Memory& memory) {
  return use.has_programs && memory.quiet_rounds < kQuietRounds;
}

void ComputeController::Learn(const ComputeUse& use, Memory& memory, ComputeTurn& turn) {
  const bool waits = use.waited.value_or(0) > 0;
  memory.unknown_rounds = use.used ? 0 : std::min(memory.unknown_rounds + 1, kUnknownRounds);
  if (!use.used && memory.unknown_rounds < kUnknownRounds) {
    // Samples may come less often than rounds: what is known stays so.
    memory.quiet_rounds = waits ? 0 : memory.quiet_rounds;
    return;
  }
  const bool is_quiet = use.used && *use.used <= 0 && !waits;
  memory.quiet_rounds = is_quiet ? std::min(memory.quiet_rounds + 1, kQuietRounds) : 0;
  const double wanted = WantedBy(use);
  memory.demand = std::min(std::max(wanted * kRoom + kLeastRoom, memory.demand * kForget), kAll);
  if (!use.used || !memory.target) {
    return;
  }
  const double target = *memory.target;
  // Who cannot use its whole window, as its kernels come one by one, needs a larger one even for
  // less than its target.
  const double error = *use.used - std::min(target, wanted);
  memory.correction =
      std::clamp(memory.correction - kGain * error, -kMostLess * target, kMostMore * target);
  if (*use.used >= target || wanted >= target) {
    turn.error = *use.used - target;
  }
}

void ComputeController::Share(const std::vector<ComputeUse>& uses,
                              std::vector<ComputeTurn>& turns) {
  std::vector<Demand> demands(uses.size());
  for (size_t i = 0; i < uses.size(); ++i) {
    const Memory& memory = memory_[uses[i].id];
    demands[i].weight = std::max(uses[i].share, 1U);
    demands[i].most = IsBusy(uses[i], memory) ? memory.demand : 0;
  }
  const std::vector<double> targets = DivideByWeight(kAll, demands);
  double start = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    Memory& memory = memory_[uses[i].id];
    if (demands[i].most <= 0) {
      // Idle: it can begin at once, with its own share, and has more from the next round on.
      turns[i].turn = WindowOf(0, demands[i].weight, demands[i].weight);
      turns[i].target.reset();
      memory.target.reset();
      memory.correction = 0;
      continue;
    }
    // The target may be less than the one that it was found at.
    const double correction =
        std::clamp(memory.correction, -kMostLess * targets[i], kMostMore * targets[i]);
    const double duty = std::clamp(targets[i] + correction, 0.01, kAll);
    turns[i].turn = WindowOf(start, targets[i], duty);
    turns[i].target = targets[i];
    memory.target = targets[i];
    start += targets[i];
  }
}

std::vector<ComputeTurn> ComputeController::Update(const std::vector<ComputeUse>& uses) {
  std::vector<ComputeTurn> turns(uses.size());
  std::map<std::string, Memory, std::less<>> kept;
  size_t busy = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    Memory& memory = kept[uses[i].id];
    const auto known = memory_.find(uses[i].id);
    // Of a newcomer nothing is known: it counts as idle until it has used the device.
    memory = known != memory_.end()
                 ? known->second
                 : Memory{.quiet_rounds = kQuietRounds, .unknown_rounds = kUnknownRounds};
    Learn(uses[i], memory, turns[i]);
    busy += IsBusy(uses[i], memory) ? 1 : 0;
  }
  memory_ = std::move(kept);
  epoch_ += busy > 1 && !is_contended_ ? 1 : 0;
  is_contended_ = busy > 1;
  if (is_contended_) {
    Share(uses, turns);
  } else {
    for (auto& [id, memory] : memory_) {
      memory.target.reset();
      memory.correction = 0;
    }
  }
  ++beat_;
  for (ComputeTurn& turn : turns) {
    turn.turn.beat = beat_ & 0xffff;
    turn.turn.epoch = epoch_ % 255 + 1;  // never 0
  }
  return turns;
}

}  // namespace kgpu::slices
