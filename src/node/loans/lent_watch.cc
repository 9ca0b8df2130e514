#include "src/node/loans/lent_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "src/platform/base/bytes.h"
#include "src/platform/base/log.h"

namespace kgpu::loans {
namespace {

constexpr unsigned kReportedRound = 2;

std::vector<std::string> BorrowersOf(const loans::Ledger& ledger, std::string_view gpu) {
  std::vector<std::string> holders;
  for (const loans::Loan& loan : ledger.loans()) {
    if (std::ranges::find(loan.slices, gpu, &slices::SliceSlot::device_uuid) != loan.slices.end()) {
      holders.push_back(loan.holder);
    }
  }
  return holders;
}

std::string TextOf(const slices::SliceUse& use, const loans::Ledger& ledger) {
  return fmt::format(
      "processes use {} of {}, but the slices lent of it ({}) have {}: a limit inside a container "
      "was avoided or is not loaded: nvidia-smi names the processes",
      FormatBytes(use.used), use.device_uuid, fmt::join(BorrowersOf(ledger, use.device_uuid), ", "),
      FormatBytes(use.limit));
}

}  // namespace

std::vector<slices::SliceUse> UsesOfLent(const loans::Ledger& ledger,
                                         const device::SampleSet& samples) {
  std::map<std::string, slices::SliceUse> uses;
  for (const slices::SliceSlot& slice : ledger.slices()) {
    slices::SliceUse& use = uses[slice.device_uuid];
    use.device_uuid = slice.device_uuid;
    use.limit.count += slice.memory.count;
    use.context = std::max(use.context, slice.share.context);
  }
  for (const device::GpuSample& gpu : samples.gpus) {
    const auto use = uses.find(gpu.uuid.str());
    if (use == uses.end()) {
      continue;
    }
    for (const device::ProcessSample& process : gpu.processes) {
      use->second.used.count += process.memory.value_or(Bytes{}).count;
      use->second.processes.push_back(process.pid);
    }
  }
  std::vector<slices::SliceUse> list;
  list.reserve(uses.size());
  for (auto& [gpu, use] : uses) {
    list.push_back(std::move(use));
  }
  return list;
}

void LentWatch::OnSample(const loans::Ledger& ledger, const device::SampleSet& samples,
                         SteadyTime now, std::chrono::milliseconds every) {
  std::string problem;
  for (const slices::Excess& excess : monitor_.Update(UsesOfLent(ledger, samples), now, every)) {
    if (excess.rounds < kReportedRound) {
      continue;
    }
    problem += (problem.empty() ? "" : "; ") + TextOf(excess.use, ledger);
    if (excess.is_new_round && excess.rounds == kReportedRound) {
      KGPU_LOG(kWarning, "lent memory exceeded", {"device", excess.use.device_uuid},
               {"used", FormatBytes(excess.use.used)}, {"lent", FormatBytes(excess.use.limit)});
    }
  }
  problem_ = std::move(problem);
}

}  // namespace kgpu::loans
