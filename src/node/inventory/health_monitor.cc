#include "src/node/inventory/health_monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "src/gpu/health/judge.h"
#include "src/gpu/health/rule_table.h"
#include "src/gpu/nvml/abi.h"
#include "src/platform/base/log.h"

namespace kgpu::inventory {
namespace {

using health::Sign;
using health::Source;
using std::chrono::milliseconds;

// More and more reasons against a device that is unhealthy anyway are shown together.
constexpr milliseconds kBetweenShows{250};
constexpr milliseconds kBetweenMeasures{100};
// Limit for kernel messages; more is hardly read.
constexpr size_t kMaxDetail = 256;
constexpr size_t kMaxEarly = 64;
// The driver tells by it that what it wants done has changed.
constexpr uint64_t kXidRecoveryAction = 154;

}  // namespace

HealthMonitor::HealthMonitor(EventLoop& loop, const sys::Root& host, health::Settings settings,
                             Callbacks callbacks)
    : loop_(loop),
      callbacks_(std::move(callbacks)),
      tracker_(loop.clock(), std::move(settings),
               [this](const health::HealthEvent& health_event) {
                 if (listener_) {
                   listener_(health_event);
                 }
               }),
      kernel_log_(loop, host, [this](const health::KernelFault& fault) { OnKernelFault(fault); }) {
}

HealthMonitor::~HealthMonitor() = default;

void HealthMonitor::Start(const std::vector<health::OpenFault>& known,
                          std::optional<uint64_t> kernel_log) {
  for (const health::OpenFault& fault : known) {
    tracker_.Restore(fault);
  }
  is_started_ = true;
  if (settings().kernel_log) {
    kernel_log_.Start(kernel_log);
  }
}

void HealthMonitor::SetSettings(health::Settings settings) {
  tracker_.SetSettings(std::move(settings));
  if (is_started_) {
    if (tracker_.settings().kernel_log) {
      kernel_log_.Start();
    } else {
      kernel_log_.Stop();
    }
  }
  Show();
  ArmCheck();
}

void HealthMonitor::SetGpus(const std::vector<device::Gpu>& gpus) {
  gpus_ = gpus;
  tracker_.SetGpus(gpus_);
  measures_.SetGpus(gpus_);
  if (!gpus_.empty()) {
    for (Early& early : std::exchange(early_, {})) {
      early.fault.text = early.text;
      OnKernelFault(early.fault);
    }
  }
}

bool HealthMonitor::OnEvent(const probe::Event& event) {
  Sign sign{.gpu = event.uuid,
            .gpu_instance = event.gpu_instance,
            .compute_instance = event.compute_instance};
  switch (event.type) {
    case nvml::kEventXidCritical:
      sign.xid = event.data;
      break;
    case nvml::kEventDoubleBitEcc:
      sign.rule = "EccDoubleBit";
      break;
    case nvml::kEventGpuUnavailable:
      sign.rule = "GpuUnavailable";
      break;
    case nvml::kEventDramRetirement:
    case nvml::kEventDramRetirementFailure:
    case nvml::kEventGpuRecoveryAction:
      Measure();
      return true;
    case nvml::kEventSingleBitEcc:
      return true;
    default:
      return false;
  }
  Note(sign);
  return true;
}

// Each kind of fault of each device once, however often it is reported.
void HealthMonitor::KeepForLater(const health::KernelFault& fault) {
  const bool is_known = std::ranges::any_of(early_, [&](const Early& early) {
    return early.fault.word == fault.word && early.fault.code == fault.code &&
           early.fault.pci == fault.pci && early.fault.gpu_instance == fault.gpu_instance;
  });
  if (is_known || early_.size() >= kMaxEarly) {
    return;
  }
  if (early_.empty()) {
    position_before_early_ = kernel_log_.position();
  }
  KGPU_LOG(kInfo, "fault reported by the kernel before the driver", {"pci", fault.pci.str()},
           {"code", fault.code}, {"text", fault.text.substr(0, kMaxDetail)});
  early_.push_back({.fault = fault, .text = std::string(fault.text.substr(0, kMaxDetail))});
}

void HealthMonitor::OnKernelFault(const health::KernelFault& fault) {
  if (gpus_.empty()) {
    return KeepForLater(fault);
  }
  Sign sign{.gpu_instance = fault.gpu_instance,
            .compute_instance = fault.compute_instance,
            .source = Source::kKernelLog,
            .detail = fault.text.substr(0, kMaxDetail),
            .pid = fault.pid};
  switch (fault.word) {
    case health::KernelWord::kXid:
      sign.xid = fault.code;
      break;
    case health::KernelWord::kLost:
      sign.rule = "GpuLost";
      break;
    case health::KernelWord::kSwitchFatal:
      sign.rule = "NvSwitchFatal";
      return Note(sign);
    case health::KernelWord::kSwitchError:
      sign.rule = "NvSwitchError";
      return Note(sign);
  }
  // The kernel leaves the function out.
  const auto gpu = std::ranges::find_if(gpus_, [&](const device::Gpu& known) {
    return known.pci.domain == fault.pci.domain && known.pci.bus == fault.pci.bus &&
           known.pci.device == fault.pci.device;
  });
  if (gpu != gpus_.end()) {  // another is none of ours: held by a virtual machine, say
    sign.gpu = gpu->uuid;
    Note(sign);
    // The code alone does not report. Who waives the code waives this too.
    if (fault.is_fatal && !health::IsWaived(settings(), health::RuleOfXid(fault.code))) {
      const std::string detail = fmt::format("XID {}: {}", fault.code, sign.detail);
      sign.xid.reset();
      sign.rule = "NvLinkFatal";
      sign.detail = detail;
      Note(sign);
    }
  }
}

void HealthMonitor::Note(const Sign& sign) {
  const health::Change change = tracker_.Note(sign);
  if (change != health::Change::kNothing) {
    // A device that turns unhealthy is shown at once. It is rare: it must recover in between.
    if (change == health::Change::kVerdict) {
      Show();
    } else {
      ShowSoon();
    }
    ArmCheck();
    callbacks_.look_closely();
    Measure();
  } else if (sign.xid == kXidRecoveryAction) {
    Measure();
  }
  ArmEvents();
}

void HealthMonitor::NoteBadRead(const device::GpuUuid& gpu, const device::Health& fault) {
  const bool is_known = health::FindNamedRule(fault.reason) != nullptr;
  tracker_.Note({.rule = is_known ? std::string_view(fault.reason) : "DriverError",
                 .gpu = gpu,
                 .source = Source::kCall,
                 .detail = fault.message});
}

void HealthMonitor::NoteGoodRead(const device::GpuUuid& gpu, SteadyTime begun) {
  tracker_.NoteGoodRead(gpu, begun);
}

void HealthMonitor::OnDown(const probe::Down& down, std::string_view reason) {
  if (down.cause == probe::DownCause::kUnresponsive) {
    tracker_.Note({.rule = "DriverUnresponsive", .source = Source::kCall, .detail = reason});
  } else if (down.cause == probe::DownCause::kCrashed) {
    tracker_.Note({.rule = "ProbeDied", .source = Source::kCall, .detail = reason});
  }
}

void HealthMonitor::OnSamples(const device::SampleSet& set) {
  if (!set.gpus.empty()) {
    tracker_.SetMeasured(true);
  }
  if (measures_.Judge(set, tracker_)) {
    Show();
    return ArmCheck();
  }
  // A fault that was measured once more is due later than the planned look. Those that are due by
  // now are being looked at.
  if (const auto next = tracker_.NextCheck(); next && *next > loop_.clock().Now()) {
    CheckAt(next);
  }
}

Status HealthMonitor::Clear(const device::GpuUuid& gpu) {
  const Status status = tracker_.Clear(gpu);
  measures_.Accept(gpu);
  Show();
  callbacks_.look();
  return status;
}

health::Overview HealthMonitor::overview() const {
  return {.open = tracker_.Open(),
          .counters = tracker_.counters(),
          .kernel_log_problem = kernel_log_.problem(),
          .kernel_log_position = early_.empty() ? kernel_log_.position() : position_before_early_};
}

void HealthMonitor::Measure() {
  if (measure_timer_.is_armed()) {
    return;
  }
  const auto delay = std::max<std::chrono::nanoseconds>(
      measured_at_ + kBetweenMeasures - loop_.clock().Now(), milliseconds(0));
  measure_timer_.Arm(delay, [this] { MeasureNow(); });
}

void HealthMonitor::MeasureNow() {
  measure_timer_.Cancel();
  measured_at_ = loop_.clock().Now();
  callbacks_.measure();
}

void HealthMonitor::Show() {
  show_timer_.Cancel();
  shown_at_ = loop_.clock().Now();
  callbacks_.show();
}

void HealthMonitor::ShowSoon() {
  const SteadyTime due = shown_at_ + kBetweenShows;
  if (show_timer_.is_armed()) {
    return;
  }
  if (due <= loop_.clock().Now()) {
    return Show();
  }
  show_timer_.Arm(due - loop_.clock().Now(), [this] { Show(); });
}

void HealthMonitor::ArmCheck() {
  if (tracker_.AwaitsMeasurement()) {
    MeasureNow();  // a look that somebody else wanted came before ours
  }
  CheckAt(tracker_.NextCheck());
}

void HealthMonitor::CheckAt(std::optional<SteadyTime> time) {
  check_timer_.Cancel();
  if (!time) {
    return;
  }
  const auto delay =
      std::max<std::chrono::nanoseconds>(*time - loop_.clock().Now(), milliseconds(1));
  check_timer_.Arm(delay, [this] {
    tracker_.NoteCheck();
    callbacks_.look();
    MeasureNow();
  });
}

// Leaves an earlier timer as it is: a storm arms one timer, not thousands.
void HealthMonitor::ArmEvents() {
  const auto next = tracker_.NextEvent();
  if (!next || (events_timer_.is_armed() && events_due_ <= *next)) {
    return;
  }
  events_due_ = *next;
  events_timer_.Arm(*next - loop_.clock().Now(), [this] {
    tracker_.Notify();
    ArmEvents();
  });
}

}  // namespace kgpu::inventory
