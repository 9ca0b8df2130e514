#include "src/cluster/fleet/quarantine.h"

#include <algorithm>
#include <utility>

#include "src/cluster/fleet/upgrade.h"

namespace kgpu::fleet {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr seconds kValidationLimit = minutes(15);
// After a validation that failed; doubles with each.
constexpr seconds kFirstPause = minutes(10);
constexpr uint32_t kMaxDoublings = 5;

seconds PauseAfter(uint32_t failures) {
  return failures == 0 ? seconds(0) : kFirstPause * (1U << std::min(failures - 1, kMaxDoublings));
}

FenceStep Wait(std::string message) {
  return {.message = std::move(message)};
}

FenceStep Write(const FenceInput& in, FenceRecord record, bool is_validating) {
  record.is_validating = is_validating;
  record.since = std::chrono::floor<seconds>(in.now);
  return {.kind = FenceStepKind::kWrite, .record = std::move(record)};
}

FenceStep Back(const FenceInput& in, FenceRecord record, std::string message) {
  ++record.attempt;
  record.is_single = false;
  record.message = message;
  FenceStep step = Write(in, std::move(record), false);
  step.reason = "QuarantineStays";
  step.message = std::move(message);
  return step;
}

// Why no validation can begin; empty: it can. Nobody knows which GPUs the pods hold: the broken one
// may be theirs.
std::string WhyNotYet(const FenceInput& in) {
  const auto holder = std::ranges::find_if(in.pods, &PodFacts::HoldsGpus);
  if (holder != in.pods.end()) {
    return fmt::format("waits for pod {}/{} to end: only free GPUs can be validated", holder->space,
                       holder->name);
  }
  if (const PodFacts* own = OwnHolder(in.node, in.pods); own != nullptr) {
    return fmt::format("waits for pod {} to end", own->name);
  }
  return FreeGpus(in.node, in.pods) == 0 ? "waits for a free GPU to validate" : "";
}

FenceStep AfterFailedPod(const FenceInput& in, FenceRecord record, const PodFacts& pod) {
  if (!record.is_single && pod.MayHaveOnlyOne(in.node.resource)) {
    record.is_single = true;
    FenceStep step = Write(in, record, true);
    // Part of the pod's name, which must be another one, be it within the same second.
    step.record.since = std::max<WallTime>(step.record.since, record.since + seconds(1));
    return step;
  }
  return Back(in, std::move(record), pod.WhyFailed());
}

// Nothing was validated, and nothing has failed.
FenceStep AfterNoPod(const FenceInput& in, FenceRecord record, std::string_view pod) {
  if (in.pod_problem.empty()) {
    return Write(in, std::move(record), false);
  }
  record.message = fmt::format("pod {} could not be created: {}", pod, in.pod_problem);
  FenceStep step = Write(in, std::move(record), false);
  step.reason = "QuarantineStays";
  step.message = step.record.message;
  return step;
}

FenceStep Validate(const FenceInput& in, const FenceRecord& record) {
  if (in.node.gpu_healthy.status == "False" && IsBroken(in.node, *in.settings)) {
    return Back(in, record, in.node.gpu_healthy.message);
  }
  if (!in.validates) {
    return {.kind = FenceStepKind::kRelease,
            .reason = "QuarantineEnded",
            .message = "the agent reports that its GPUs are healthy"};
  }
  const std::string name = PodName(kValidateRole, in.node.uid, record.since, record.attempt);
  const auto pod = std::ranges::find(in.pods, name, &PodFacts::name);
  if (pod != in.pods.end() && pod->phase == "Succeeded") {
    return {.kind = FenceStepKind::kRelease,
            .reason = "QuarantineEnded",
            .message = "its GPUs are healthy, and the validation passed"};
  }
  if (pod != in.pods.end() && pod->phase == "Failed") {
    return AfterFailedPod(in, record, *pod);
  }
  if (in.now - record.since >= kValidationLimit) {
    return pod == in.pods.end()
               ? AfterNoPod(in, record, name)
               : Back(in, record,
                      fmt::format("the validation did not end in {} s", kValidationLimit.count()));
  }
  if (pod != in.pods.end()) {
    return Wait(fmt::format("waits for pod {} to end", name));
  }
  std::string why_not = WhyNotYet(in);
  return why_not.empty() ? FenceStep{.kind = FenceStepKind::kRunPod,
                                     .pod = name,
                                     .gpus = record.is_single ? 1 : FreeGpus(in.node, in.pods)}
                         : Wait(std::move(why_not));
}

}  // namespace

bool IsBroken(const NodeFacts& node, const policy::Quarantine& settings) {
  return settings.is_enabled && node.gpu_healthy.status == "False" &&
         (settings.reasons.empty() ||
          std::ranges::find(settings.reasons, node.gpu_healthy.reason) != settings.reasons.end());
}

FenceStep NextFenceStep(const FenceInput& in) {
  const bool is_fenced = in.node.is_tainted || !in.node.quarantine.empty();
  if (in.settings == nullptr || !in.settings->is_enabled) {
    return is_fenced ? FenceStep{.kind = FenceStepKind::kRelease,
                                 .reason = "QuarantineEnded",
                                 .message = "no policy quarantines this node"}
                     : FenceStep{};
  }
  const auto record = ParseFenceRecord(in.node.quarantine);
  if (!is_fenced || !record.ok()) {
    // A fence without a readable record is renewed: nobody knows what it waits for. A driver that
    // is being replaced looks broken.
    const bool fences = is_fenced || (IsBroken(in.node, *in.settings) && in.node.upgrade.empty());
    if (!fences || (!is_fenced && !in.has_room)) {
      return fences ? Wait("broken, but maxNodes nodes are in quarantine") : FenceStep{};
    }
    return {.kind = FenceStepKind::kFence,
            .reason = "Quarantined",
            .message = in.node.gpu_healthy.message,
            .record = {.since = std::chrono::floor<seconds>(in.now),
                       .reason = in.node.gpu_healthy.reason,
                       .message = in.node.gpu_healthy.message,
                       .policy = in.policy,
                       .group = in.group}};
  }
  if (!in.node.is_tainted) {  // somebody removed the taint
    return {.kind = FenceStepKind::kFence, .record = *record};
  }
  if (record->is_validating) {
    return Validate(in, *record);
  }
  const bool is_healthy =
      in.node.gpu_healthy.status == "True" && in.node.gpu_ready.status == "True";
  if (!is_healthy || in.now - record->since < PauseAfter(record->attempt)) {
    return Wait(fmt::format("{}: {}", record->reason, record->message));
  }
  std::string why_not = in.validates ? WhyNotYet(in) : "";
  return why_not.empty() ? Write(in, *record, true) : Wait(std::move(why_not));
}

}  // namespace kgpu::fleet
