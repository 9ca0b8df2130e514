#include "src/gpu/health/measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "src/gpu/health/judge.h"
#include "src/gpu/health/rule_table.h"
#include "src/gpu/nvml/error_map.h"
#include "src/gpu/nvml/sample_abi.h"
#include "src/gpu/nvml/throttle.h"

namespace kgpu::health {
namespace {

using device::GpuSample;
using device::NvLinkSample;

// Far more than a node has.
constexpr size_t kMaxMeasuredGpus = 256;
constexpr std::chrono::duration<double> kMinute = std::chrono::minutes(1);
// Rounds are not exact: two of 30 s are a minute.
constexpr std::chrono::duration<double> kRateWindow = std::chrono::seconds(55);

// nvmlGpuFabricInfo_t: registration has not begun, or has not ended.
constexpr unsigned kFabricNotStarted = 1;
constexpr unsigned kFabricInProgress = 2;
// Conditions that the fabric recovers from.
struct FabricTrouble {
  nvml::FabricHealth trouble;
  std::string_view text;
};
constexpr std::array kFabricTroubles = {
    FabricTrouble{nvml::kFabricDegradedBandwidth, "reduced bandwidth"},
    FabricTrouble{nvml::kFabricRouteRecovery, "a route is recovering"},
    FabricTrouble{nvml::kFabricAccessTimeoutRecovery, "recovering from an access timeout"},
};

// nvmlDeviceGpuRecoveryAction_t, and the rule of each.
struct Recovery {
  unsigned action;
  std::string_view rule;
};
constexpr std::array kRecoveries = {
    Recovery{1, "RecoveryReset"},
    Recovery{2, "RecoveryReboot"},
    Recovery{3, "RecoveryDrainP2p"},
    Recovery{4, "RecoveryDrainReset"},
};

constexpr uint64_t LinkBit(const NvLinkSample& link) {
  return link.link < 64 ? uint64_t{1} << link.link : 0;
}

bool HasActiveLink(const GpuSample& gpu) {
  return std::ranges::any_of(gpu.nvlinks, &NvLinkSample::is_active);
}

// "0, 3" of the bits 0 and 3.
std::string LinksText(uint64_t links) {
  std::string text;
  for (unsigned link = 0; link < 64; ++link) {
    if ((links >> link & 1) != 0) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", link);
    }
  }
  return text;
}

// Sum of one kind of counters; nothing if no link has it.
void Add(std::optional<uint64_t>& sum, std::optional<uint64_t> value) {
  if (value) {
    sum = sum.value_or(0) + *value;
  }
}

}  // namespace

void Measures::Rate::Take(std::optional<uint64_t> counter, SteadyTime now) {
  if (!counter || !base || *counter < *base) {  // the counter began again: a reset, a new driver
    base = counter;
    at = now;
    per_minute.reset();
    return;
  }
  const std::chrono::duration<double> passed = now - at;
  if (passed >= kRateWindow) {
    per_minute = static_cast<double>(*counter - *base) * (kMinute / passed);
    base = counter;
    at = now;
  }
}

// One GPU in one round.
struct Measures::Pass {
  const GpuSample& gpu;
  SteadyTime now;
  Known& known;
  unsigned lanes_of_model;  // the most that a GPU like it has
  unsigned links_of_model;
  bool is_only;  // the only round
  FaultTracker& tracker;
  bool has_changed = false;

  void Run() {
    JudgeMemory();
    JudgeThrottling();
    JudgePcie();
    JudgeNvLinks();
    JudgeDriversRequest();
  }

 private:
  static Rule RuleOf(const FaultTracker& tracker, std::string_view name) {
    const Rule* rule = FindNamedRule(name);
    return rule == nullptr ? Rule{} : health::Judge(tracker.settings(), *rule);
  }

  // `detail` makes the text only when there is something to tell.
  template <typename Detail>
  void Report(std::string_view name, bool is_shown, Detail detail) {
    if (!is_shown) {
      known.since.erase(name);
      return;
    }
    const SteadyTime since = known.since.emplace(name, now).first->second;
    const auto lasts = RuleOf(tracker, name).lasts.value_or(std::chrono::milliseconds(0));
    if (!is_only && now - since < lasts) {
      return;
    }
    const std::string text = detail();
    has_changed |=
        tracker.Note({.rule = name, .gpu = gpu.uuid, .source = Source::kSample, .detail = text}) !=
        Change::kNothing;
  }
  void Report(std::string_view name, bool is_shown) {
    Report(name, is_shown, [] { return std::string(); });
  }
  void ReportRate(std::string_view name, const Rate& rate) {
    const uint64_t limit = RuleOf(tracker, name).limit.value_or(0);
    Report(name, rate.per_minute && *rate.per_minute > static_cast<double>(limit), [&] {
      return fmt::format("{:.0f} per minute, limit {}", rate.per_minute.value_or(0), limit);
    });
  }

  void JudgeMemory() {
    const std::optional<uint64_t> errors = gpu.ecc.volatile_uncorrected;
    const std::optional<uint64_t> before = is_only ? 0 : known.uncorrected;
    const uint64_t more = errors && before && *errors > *before ? *errors - *before : 0;
    known.uncorrected = errors;
    Report("EccUncorrected",
           more > 0 && more >= RuleOf(tracker, "EccUncorrected").limit.value_or(1), [&] {
             return fmt::format("{} new, {} since the driver was loaded", more, errors.value_or(0));
           });
    if (gpu.remaps) {
      const device::RowRemaps& remaps = *gpu.remaps;
      Report("RowRemapPending", remaps.is_pending, [&remaps] {
        return fmt::format("{} rows remapped for uncorrectable errors, {} for correctable ones",
                           remaps.uncorrected, remaps.corrected);
      });
      Report("RowRemapFailed", remaps.has_failed);
    }
    Report("SramThreshold", gpu.is_sram_threshold_exceeded.value_or(false));
    if (gpu.retired) {
      const unsigned pages = gpu.retired->single_bit + gpu.retired->double_bit;
      Report("RetiredPagesPending", gpu.retired->is_pending);
      Report("RetiredPagesMany", pages >= RuleOf(tracker, "RetiredPagesMany").limit.value_or(0),
             [&] { return fmt::format("{} pages retired", pages); });
    }
  }

  void JudgeThrottling() {
    const uint64_t reasons = gpu.throttle_reasons.value_or(0);
    Report("ThermalSlowdown", (reasons & nvml::kThrottleHwThermal) != 0, [&] {
      return gpu.temperatures.gpu ? fmt::format("{} degrees Celsius", *gpu.temperatures.gpu)
                                  : std::string();
    });
    Report("PowerBrake", (reasons & nvml::kThrottlePowerBrake) != 0);
  }

  void JudgePcie() {
    const device::PcieSample& pcie = gpu.pcie;
    const uint64_t busy = RuleOf(tracker, "PcieDowngrade").limit.value_or(0);
    // The maximum of GPU and slot says little: many cards have fewer lanes than their chip, and a
    // virtual machine does not see the slot.
    const unsigned expected =
        known.is_accepted ? known.lanes : std::max(known.lanes, lanes_of_model);
    const bool is_narrow = pcie.width && *pcie.width < expected;
    // An idle link slows down to save power.
    const bool is_busy = gpu.utilization.gpu.value_or(0) >= static_cast<double>(busy);
    const bool is_slow = is_busy && pcie.generation && pcie.max_generation &&
                         *pcie.generation < *pcie.max_generation;
    Report("PcieDowngrade", is_narrow || is_slow, [&] {
      return fmt::format("generation {} of {}, {} of {} lanes", pcie.generation.value_or(0),
                         pcie.max_generation.value_or(0), pcie.width.value_or(0),
                         std::max(expected, pcie.width.value_or(0)));
    });
    known.replays.Take(pcie.replays, now);
    ReportRate("PcieReplays", known.replays);
  }

  void JudgeNvLinks() {
    std::optional<uint64_t> errors;
    std::optional<uint64_t> crc;
    uint64_t active = 0;
    for (const NvLinkSample& link : gpu.nvlinks) {
      Add(errors, link.replay_errors);
      Add(errors, link.recovery_errors);
      Add(errors, link.crc_data_errors);
      Add(crc, link.crc_flit_errors);
      active |= link.is_active ? LinkBit(link) : 0;
    }
    const uint64_t down = known.active_links & ~active;
    known.active_links |= active;
    // One that was down from the start shows against other GPUs. Without any link that is up, and
    // in MIG mode, a GPU is not meant to be linked.
    const bool is_short = !known.is_accepted && !known.is_mig_on && known.links_now > 0 &&
                          known.links_now < links_of_model;
    Report("NvLinkDown", down != 0 || is_short, [&] {
      return down != 0 ? fmt::format("down: {}", LinksText(down))
                       : fmt::format("{} links are up, {} on another GPU of this model; down: {}",
                                     known.links_now, links_of_model, LinksText(InactiveLinks()));
    });
    known.link_errors.Take(errors, now);
    known.link_crc.Take(crc, now);
    ReportRate("NvLinkErrors", known.link_errors);
    ReportRate("NvLinkCrcErrors", known.link_crc);
    // Without an active link the GPU is not part of a fabric, whatever its state says.
    if (HasActiveLink(gpu)) {
      JudgeFabric();
    } else {
      for (const std::string_view rule : {"FabricNotReady", "FabricFailed", "FabricDegraded"}) {
        Report(rule, false);
      }
    }
  }

  uint64_t InactiveLinks() const {
    uint64_t inactive = 0;
    for (const NvLinkSample& link : gpu.nvlinks) {
      inactive |= link.is_active ? 0 : LinkBit(link);
    }
    return inactive;
  }

  void JudgeFabric() {
    const unsigned state = gpu.fabric_state.value_or(0);
    Report("FabricNotReady", state == kFabricNotStarted || state == kFabricInProgress, [state] {
      return std::string(state == kFabricNotStarted ? "registration has not begun"
                                                    : "registration is in progress");
    });
    const bool is_in = state == nvml::kFabricStateCompleted;
    const auto status = static_cast<nvml::Return>(gpu.fabric_status.value_or(nvml::kSuccess));
    const uint64_t health = gpu.fabric_health.value_or(0);
    const bool has_no_route = nvml::IsFabric(health, nvml::kFabricRouteUnhealthy);
    Report("FabricFailed", is_in && (status != nvml::kSuccess || has_no_route), [&] {
      return status != nvml::kSuccess ? fmt::format("registration failed, NVML code {}: {}",
                                                    static_cast<int>(status), nvml::Explain(status))
                                      : std::string("a route is unhealthy");
    });
    std::string troubles;
    for (const auto& [trouble, text] : kFabricTroubles) {
      if (nvml::IsFabric(health, trouble)) {
        troubles += fmt::format("{}{}", troubles.empty() ? "" : ", ", text);
      }
    }
    Report("FabricDegraded", is_in && !troubles.empty(), [&] { return troubles; });
  }

  void JudgeDriversRequest() {
    for (const Recovery& recovery : kRecoveries) {
      Report(recovery.rule, gpu.recovery_action == recovery.action);
    }
  }
};

unsigned Measures::MostOfModel(const std::string& model, unsigned Known::* count) const {
  unsigned most = 0;
  for (const auto& [uuid, known] : gpus_) {
    if (!model.empty() && known.model == model) {
      most = std::max(most, known.*count);
    }
  }
  return most;
}

void Measures::SetGpus(std::span<const device::Gpu> gpus) {
  std::erase_if(gpus_, [&](const auto& entry) {
    return std::ranges::find(gpus, entry.first, &device::Gpu::uuid) == gpus.end();
  });
  for (const device::Gpu& gpu : gpus) {
    Known& known = gpus_[gpu.uuid];
    known.model = gpu.model;
    const bool is_mig_on = gpu.mig_mode && gpu.mig_mode->is_enabled;
    if (known.is_mig_on != is_mig_on) {
      known.is_mig_on = is_mig_on;
      known.active_links = 0;
    }
  }
}

void Measures::Accept(const device::GpuUuid& gpu) {
  const auto found = gpus_.find(gpu);
  if (found == gpus_.end()) {
    return;
  }
  Known& known = found->second;
  known.active_links = 0;
  known.lanes = 0;
  known.is_accepted = true;
  known.since.clear();
}

bool Measures::Judge(const device::SampleSet& set, FaultTracker& tracker) {
  bool has_changed = false;
  for (const GpuSample& gpu : set.gpus) {
    if (gpus_.size() >= kMaxMeasuredGpus && !gpus_.contains(gpu.uuid)) {
      gpus_.clear();
    }
    Known& known = gpus_[gpu.uuid];
    known.lanes_now = gpu.pcie.width.value_or(0);
    known.lanes = std::max(known.lanes, known.lanes_now);
    known.links_now =
        static_cast<unsigned>(std::ranges::count_if(gpu.nvlinks, &NvLinkSample::is_active));
  }
  for (const GpuSample& gpu : set.gpus) {
    Known& known = gpus_[gpu.uuid];
    Pass pass{.gpu = gpu,
              .now = set.begun,
              .known = known,
              .lanes_of_model = MostOfModel(known.model, &Known::lanes_now),
              .links_of_model = MostOfModel(known.model, &Known::links_now),
              .is_only = span_ == Span::kOneLook,
              .tracker = tracker};
    pass.Run();
    has_changed |= pass.has_changed;
    has_changed |= tracker.NoteMeasured(gpu.uuid, set.begun);
  }
  return has_changed;
}

}  // namespace kgpu::health
