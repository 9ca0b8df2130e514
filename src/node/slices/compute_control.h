// Decides when the containers of one device may launch kernels: each gets at least its part of the
// time while several are busy, and nobody waits while one is busy alone. What the driver measures
// corrects it, round by round.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/preload/gate.h"

namespace kgpu::slices {

// A container with a share of the device's time.
struct ComputeUse {
  std::string id;             // unique on the device
  unsigned share = 0;         // percent: all its slots together
  bool has_programs = false;  // on the device
  // Percent of the device's time since the last round; nothing: the driver has not said.
  std::optional<double> used{};
  // Percent of the time since then that its threads have waited at the gate, as the container
  // claims: who says too much gets its share, and no more. Nothing: it says nothing.
  std::optional<double> waited{};
};

struct ComputeTurn {
  preload::GateTurn turn;
  // Percent that it is to have now: its share and its part of what others leave. Nothing: all that
  // it can use.
  std::optional<double> target{};
  // Used less target, in percent, where both are known and it could have used more.
  std::optional<double> error{};
};

// Lives on one thread; forgets whoever is not there any more.
class ComputeController {
 public:
  // `epoch`: any number; another one than an earlier controller of the device has had.
  explicit ComputeController(uint32_t epoch = 0) : epoch_(epoch) {}

  // Call it once per round; the result has the same order. The turns' beats change each time.
  std::vector<ComputeTurn> Update(const std::vector<ComputeUse>& uses);
  // Whether the last round has found two busy containers: measure again soon.
  bool is_contended() const { return is_contended_; }

 private:
  // What is remembered of a container.
  struct Memory {
    unsigned quiet_rounds = 0;       // since it was last busy
    unsigned unknown_rounds = 0;     // since the driver last said something
    double demand = 100;             // percent that it would use without a gate, at most
    std::optional<double> target{};  // of the last round
    double correction = 0;           // percent, added to the target
  };

  static bool IsBusy(const ComputeUse& use, const Memory& memory);
  static void Learn(const ComputeUse& use, Memory& memory, ComputeTurn& turn);
  void Share(const std::vector<ComputeUse>& uses, std::vector<ComputeTurn>& turns);

  std::map<std::string, Memory, std::less<>> memory_;
  uint32_t beat_ = 0;
  uint32_t epoch_;  // increases when several become busy
  bool is_contended_ = false;
};

struct Demand {
  double weight = 1;  // above 0
  double most = 0;
};
// Divides `total` by weights, but nobody gets more than its demand; what it leaves is divided among
// the others. Sums up to `total`, or to all demands if those are less.
std::vector<double> DivideByWeight(double total, const std::vector<Demand>& demands);

}  // namespace kgpu::slices
