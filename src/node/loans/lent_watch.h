// Notices GPUs whose lent slices are exceeded, by the driver's count: borrowers' containers are no
// pods, so what is known is what all of them use of a GPU together.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/node/loans/ledger.h"
#include "src/node/slices/excess.h"
#include "src/platform/base/clock.h"

namespace kgpu::loans {

// Each GPU of which slices are lent: how much of it, and what its processes use; no user is named.
// A process whose memory the driver does not report counts nothing.
std::vector<slices::SliceUse> UsesOfLent(const loans::Ledger& ledger,
                                         const device::SampleSet& samples);

// Lives on the owner's thread. Reports in the second round: a sample may be older than the end of
// a loan.
class LentWatch {
 public:
  // Call it with all samples. `every` is the length of a round.
  void OnSample(const loans::Ledger& ledger, const device::SampleSet& samples, SteadyTime now,
                std::chrono::milliseconds every);
  // For people: which GPUs are used beyond what is lent of them, and by whom they are borrowed;
  // empty: none.
  const std::string& problem() const { return problem_; }

 private:
  slices::ExcessMonitor monitor_;
  std::string problem_;
};

}  // namespace kgpu::loans
