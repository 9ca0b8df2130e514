#include "src/cli/doctor/doctor_driver.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "src/cli/base/observe.h"
#include "src/diagnose/doctor/check.h"
#include "src/host/facts/facts.h"

namespace kgpu::cli {
namespace {

constexpr std::chrono::seconds kDeadline{3};

bool IsWanted(const std::vector<std::string>& only) {
  return only.empty() ||
         std::ranges::any_of(doctor::GpuChecks(), [&only](const doctor::Check& check) {
           return std::ranges::find(only, check.id) != only.end();
         });
}

}  // namespace

void HearDriver(const HostOptions& options, const host::DriverRoot& root,
                const std::vector<std::string>& only, doctor::Heard& heard) {
  if (!IsWanted(only) || !root.host.Exists("proc/driver/nvidia/version")) {
    return;
  }
  const std::optional<host::DriverRoot> other = host::FindOtherRoot(root);
  const StatusOr<TimedObservation> timed =
      TakeObservationWithin(options, other ? *other : root, kDeadline);
  if (!timed.ok()) {
    heard.unanswered.push_back(
        fmt::format("what the driver says of its GPUs: {}", Message(timed.status())));
    return;
  }
  heard.driver = doctor::DriverAnswer{.snapshot = timed->observation.snapshot,
                                      .samples = timed->observation.samples,
                                      .deadline = kDeadline,
                                      .is_late = timed->is_late};
}

}  // namespace kgpu::cli
