#include "src/gpu/health/fault_tracker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/gpu/health/fault_views.h"
#include "src/gpu/health/judge.h"

namespace kgpu::health {
namespace {

using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Limit for one GPU; far more than the ways in which it can fail at a time.
constexpr size_t kMaxRecords = 64;
constexpr size_t kMaxGpus = 256;
// Between two events of the same thing: doubles from the first to the last.
constexpr nanoseconds kFirstPause = seconds(1);
constexpr nanoseconds kLastPause = minutes(10);
// Between two looks at faults that stay: doubles from the hold-down, at least the first, to the
// last.
constexpr nanoseconds kLeastCheckPause = seconds(1);
constexpr nanoseconds kMostCheckPause = seconds(30);

// The driver's own words about a call that failed say more than the table.
std::string MessageFor(const Rule& rule, const Sign& sign) {
  return sign.source == Source::kCall && !sign.detail.empty() ? std::string(sign.detail)
                                                              : MessageOf(rule);
}

}  // namespace

void FaultTracker::Emit(HealthEventKind kind, const Key& key, const FaultRecord& record,
                        uint64_t count) const {
  if (!listener_) {
    return;
  }
  HealthEvent event{.kind = kind,
                    .when = clock_.WallNow(),
                    .gpu = key,
                    .gpu_instance = record.gpu_instance,
                    .compute_instance = record.compute_instance,
                    .rule = NameOf(record.rule),
                    .xid = record.rule.xid,
                    .fault_class = record.rule.fault_class,
                    .action = record.rule.action,
                    .source = record.source,
                    .is_unhealthy = record.rule.is_unhealthy,
                    .message = record.message,
                    .detail = record.detail,
                    .count = count,
                    .pid = record.pid};
  if (kind == HealthEventKind::kHeld) {
    event.message += HeldText(settings_.flap_limit);
  }
  listener_(event);
}

void FaultTracker::SetSettings(Settings settings) {
  if (settings == settings_) {
    return;
  }
  settings_ = std::move(settings);
  for (auto& [key, faults] : faults_) {
    faults.check_pause = {};
    std::erase_if(faults.records, [&](FaultRecord& record) {
      if (!record.is_fault()) {
        return true;  // judged again when it comes again
      }
      FaultRecord before = record;
      const Rule plain =
          record.rule.xid ? RuleOfXid(*record.rule.xid) : *FindNamedRule(record.rule.name);
      record.rule = Judge(settings_, plain);
      const bool is_over = !record.is_fault();
      if (is_over) {
        Emit(HealthEventKind::kCleared, key, before, before.count);
      }
      return is_over;
    });
  }
}

void FaultTracker::SetGpus(std::span<const device::Gpu> gpus) {
  const std::vector<device::GpuUuid> before = std::exchange(gpus_, {});
  for (const device::Gpu& gpu : gpus) {
    gpus_.push_back(gpu.uuid);
  }
  const bool is_first = before.empty() && !gpus_.empty();
  for (auto entry = faults_.begin(); entry != faults_.end();) {
    const Key& key = entry->first;
    const bool is_shown = !key || std::ranges::find(gpus_, *key) != gpus_.end();
    if (!is_shown && std::ranges::find(before, *key) != before.end()) {
      entry->second.records.clear();
    } else if (!is_shown && is_first) {
      // Faults from before this agent may be of GPUs that no longer exist; a GPU that is held may
      // come back.
      std::erase_if(entry->second.records, [](const FaultRecord& known) { return !known.is_held; });
    }
    entry = is_shown || !entry->second.records.empty() ? std::next(entry) : faults_.erase(entry);
  }
}

Change FaultTracker::Note(const Sign& sign) {
  if (sign.gpu) {
    return NoteFor(sign.gpu, sign);
  }
  const Rule* named = sign.xid ? nullptr : FindNamedRule(sign.rule);
  const Rule plain = sign.xid ? RuleOfXid(*sign.xid) : named == nullptr ? Rule{} : *named;
  const Rule rule = Judge(settings_, plain);
  xids_of_unknown_gpu_ += sign.xid ? 1 : 0;
  if (gpus_.empty() || !rule.is_unhealthy) {
    return NoteFor(std::nullopt, sign);
  }
  Change change = Change::kNothing;
  for (const device::GpuUuid& gpu : gpus_) {
    change = std::max(change, NoteFor(gpu, sign));
  }
  return change;
}

Change FaultTracker::NoteFor(const Key& key, const Sign& sign) {
  auto found = faults_.find(key);
  if (found == faults_.end()) {
    if (faults_.size() >= kMaxGpus) {
      return Change::kNothing;
    }
    found = faults_.emplace(key, GpuFaults{}).first;
  }
  GpuFaults& faults = found->second;
  if (sign.xid && IsEcho(faults, key, *sign.xid, sign.source)) {
    return AddDetail(faults, sign);
  }
  const auto record = std::ranges::find_if(
      faults.records, [&](const FaultRecord& known) { return known.Matches(sign); });
  if (record == faults.records.end()) {
    return OpenRecord(key, faults, sign);
  }
  SeenAgain(key, *record, sign);
  return Change::kNothing;
}

bool FaultTracker::IsEcho(GpuFaults& faults, const Key& key, uint64_t xid, Source source) {
  if (!faults.xids.Note(xid, source, clock_.Now())) {
    return true;
  }
  if (key) {
    faults.last_xid = xid;
    faults.last_xid_at = clock_.WallNow();
  }
  return false;
}

// The other source reported this XID before: what this one knows better is added.
Change FaultTracker::AddDetail(GpuFaults& faults, const Sign& sign) {
  const auto found = std::ranges::find_if(
      faults.records, [&](const FaultRecord& record) { return record.rule.xid == sign.xid; });
  if (found == faults.records.end() || found->source == sign.source) {
    return Change::kNothing;
  }
  FaultRecord& record = *found;
  if (record.detail.empty()) {
    record.detail = sign.detail;
  }
  if (!record.pid) {
    record.pid = sign.pid;
  }
  if (record.count > 1 || record.gpu_instance || !sign.gpu_instance) {
    return Change::kNothing;
  }
  record.gpu_instance = sign.gpu_instance;
  record.compute_instance = sign.compute_instance;
  return record.rule.is_unhealthy ? Change::kVerdict : Change::kNothing;
}

bool FaultTracker::MakeRoom(std::vector<FaultRecord>& records) {
  if (records.size() < kMaxRecords) {
    return true;
  }
  auto oldest = records.end();
  for (auto record = records.begin(); record != records.end(); ++record) {
    if (!record->is_fault() && (oldest == records.end() || record->last_seen < oldest->last_seen)) {
      oldest = record;
    }
  }
  if (oldest == records.end()) {
    return false;  // the GPU has faults enough
  }
  records.erase(oldest);
  return true;
}

Change FaultTracker::OpenRecord(const Key& key, GpuFaults& faults, const Sign& sign) {
  const Rule* named = sign.xid ? nullptr : FindNamedRule(sign.rule);
  if ((!sign.xid && named == nullptr) || !MakeRoom(faults.records)) {
    return Change::kNothing;
  }
  const Rule rule = Judge(settings_, sign.xid ? RuleOfXid(*sign.xid) : *named);
  FaultRecord& record = faults.records.emplace_back(
      FaultRecord{.rule = rule,
                  .gpu_instance = sign.gpu_instance,
                  .compute_instance = sign.compute_instance,
                  .source = sign.source,
                  .message = MessageFor(rule, sign),
                  .detail = sign.source == Source::kCall ? std::string() : std::string(sign.detail),
                  .pid = sign.pid,
                  .first = clock_.WallNow(),
                  .last = clock_.WallNow(),
                  .first_seen = clock_.Now(),
                  .last_seen = clock_.Now(),
                  .reported_at = clock_.Now(),
                  .until_event = kFirstPause});
  if (key && record.is_fault()) {
    return Raise(key, faults, record, sign.gpu.has_value());
  }
  if (record.is_reported()) {
    Emit(HealthEventKind::kSeen, key, record, 1);
  }
  return Change::kNothing;
}

// A device is not less to be trusted for what befell them all.
Change FaultTracker::Raise(const Key& key, GpuFaults& faults, FaultRecord& record,
                           bool is_its_own) {
  ++faults.raised[NameOf(record.rule)];
  faults.check_pause = {};  // what stays does not keep what is new from being looked at in time
  Emit(HealthEventKind::kRaised, key, record, 1);
  const bool was_unhealthy = std::ranges::any_of(faults.records, [&](const FaultRecord& other) {
    return &other != &record && other.rule.is_unhealthy &&
           other.gpu_instance == record.gpu_instance &&
           other.compute_instance == record.compute_instance;
  });
  if (!record.rule.is_unhealthy) {
    return Change::kNothing;
  }
  if (was_unhealthy) {
    return Change::kReason;
  }
  if (is_its_own && faults.flaps.Note(settings_.flap_limit, record.gpu_instance,
                                      record.compute_instance, clock_.Now())) {
    record.is_held = true;
    Emit(HealthEventKind::kHeld, key, record, 1);
  }
  return Change::kVerdict;
}

void FaultTracker::SeenAgain(const Key& key, FaultRecord& record, const Sign& sign) {
  const SteadyTime now = clock_.Now();
  if (now - record.last_seen > kLastPause) {
    record.until_event = kFirstPause;
  }
  record.last_seen = now;
  record.last = clock_.WallNow();
  ++record.count;
  // A condition that is polled is expected to be seen again.
  if (!record.is_reported() || sign.source == Source::kCall || sign.source == Source::kSample) {
    return;
  }
  ++record.unreported;
  if (now < record.reported_at + record.until_event) {
    return;
  }
  Emit(HealthEventKind::kSeen, key, record, std::exchange(record.unreported, 0));
  record.reported_at = now;
  record.until_event = std::min(record.until_event * 2, kLastPause);
}

void FaultTracker::Restore(const OpenFault& fault) {
  const auto plain = FindRule(fault.rule);
  const Rule rule = plain ? Judge(settings_, *plain) : Rule{};
  if (!rule.is_unhealthy || faults_.size() >= kMaxGpus) {
    return;
  }
  GpuFaults& faults = faults_[fault.scope.gpu];
  if (!MakeRoom(faults.records)) {
    return;
  }
  faults.records.push_back({.rule = rule,
                            .gpu_instance = fault.scope.gpu_instance,
                            .compute_instance = fault.scope.compute_instance,
                            .source = fault.source,
                            .message = fault.message.empty() ? MessageOf(rule) : fault.message,
                            .detail = fault.detail,
                            .pid = fault.pid,
                            .first = fault.first,
                            .last = fault.last,
                            .first_seen = clock_.Now(),
                            .last_seen = clock_.Now(),
                            .count = fault.count,
                            .reported_at = clock_.Now(),
                            .until_event = kFirstPause,
                            .is_held = fault.is_held});
}

// Whether it can be seen on a GPU at any time, and not only when it happens.
bool FaultTracker::IsVisible(const FaultRecord& record) {
  return record.rule.is_standing || record.rule.is_certain;
}

// A measurement of the same kind of trouble keeps a fault open: an XID of the memory is not over
// while a row of it waits to be replaced. So does a GPU that does not answer.
bool FaultTracker::IsOver(const GpuFaults& faults, const FaultRecord& record) const {
  const SteadyTime due = DueOf(record);
  if (!record.is_fault() || record.is_held || faults.good_read < due ||
      (is_measured_ && faults.measured < due)) {
    return false;
  }
  return IsVisible(record) || std::ranges::none_of(faults.records, [&](const FaultRecord& other) {
           return other.is_fault() && !other.is_held && IsVisible(other) &&
                  (other.rule.is_certain || other.rule.fault_class == record.rule.fault_class);
         });
}

bool FaultTracker::TryClear(const device::GpuUuid& gpu, GpuFaults& faults) {
  bool has_changed = false;
  std::vector<FaultRecord>& records = faults.records;
  // What can be seen ends first, then the faults that it kept open.
  for (const bool is_visible : {true, false}) {
    for (auto record = records.begin(); record != records.end();) {
      if (IsVisible(*record) != is_visible || !IsOver(faults, *record)) {
        ++record;
        continue;
      }
      has_changed |= record->rule.is_unhealthy;
      Emit(HealthEventKind::kCleared, gpu, *record, record->count);
      record = records.erase(record);
    }
  }
  return has_changed;
}

Status FaultTracker::Clear(const device::GpuUuid& gpu) {
  const auto found = faults_.find(gpu);
  if (found == faults_.end()) {
    return std::ranges::find(gpus_, gpu) == gpus_.end()
               ? NotFound("{}: no such GPU on this node", gpu.str())
               : OkStatus();
  }
  std::erase_if(found->second.records, [&](const FaultRecord& record) {
    if (record.is_fault()) {
      Emit(HealthEventKind::kCleared, gpu, record, record.count);
    }
    return record.is_fault();
  });
  found->second.flaps.Clear();
  return OkStatus();
}

nanoseconds FaultTracker::FirstCheckPause() const {
  return std::clamp<nanoseconds>(settings_.hold_down, kLeastCheckPause, kMostCheckPause);
}

// A GPU that cannot be read, or is too hot, does not get better by being asked all the time.
SteadyTime FaultTracker::NextCheckOf(const GpuFaults& faults, const FaultRecord& record) const {
  const SteadyTime due = DueOf(record);
  return faults.checked
             ? std::max(due, *faults.checked + std::max(faults.check_pause, FirstCheckPause()))
             : due;
}

std::optional<SteadyTime> FaultTracker::NextCheck() const {
  std::optional<SteadyTime> next;
  for (const auto& [key, faults] : faults_) {
    for (const FaultRecord& record : faults.records) {
      // What was looked at since waits for a measurement.
      if (key && record.is_fault() && !record.is_held && faults.good_read < DueOf(record)) {
        const SteadyTime due = NextCheckOf(faults, record);
        next = next ? std::min(*next, due) : due;
      }
    }
  }
  return next;
}

void FaultTracker::NoteCheck() {
  const SteadyTime now = clock_.Now();
  for (auto& [key, faults] : faults_) {
    const bool is_due = std::ranges::any_of(faults.records, [&](const FaultRecord& record) {
      return record.is_fault() && !record.is_held && NextCheckOf(faults, record) <= now;
    });
    if (is_due) {
      faults.checked = now;
      faults.check_pause =
          std::clamp(faults.check_pause * 2, FirstCheckPause(), nanoseconds(kMostCheckPause));
    }
  }
}

bool FaultTracker::AwaitsMeasurement() const {
  return is_measured_ && std::ranges::any_of(faults_, [this](const auto& entry) {
           const GpuFaults& faults = entry.second;
           return std::ranges::any_of(faults.records, [&](const FaultRecord& record) {
             const SteadyTime due = DueOf(record);
             return record.is_fault() && !record.is_held && faults.good_read >= due &&
                    faults.measured < due;
           });
         });
}

std::optional<SteadyTime> FaultTracker::NextEvent() const {
  std::optional<SteadyTime> next;
  for (const auto& [key, faults] : faults_) {
    for (const FaultRecord& record : faults.records) {
      if (record.unreported > 0) {
        const SteadyTime due = record.reported_at + record.until_event;
        next = next ? std::min(*next, due) : due;
      }
    }
  }
  return next;
}

void FaultTracker::Notify() {
  const SteadyTime now = clock_.Now();
  for (auto& [key, faults] : faults_) {
    for (FaultRecord& record : faults.records) {
      if (record.unreported == 0 || now < record.reported_at + record.until_event) {
        continue;
      }
      Emit(HealthEventKind::kSeen, key, record, std::exchange(record.unreported, 0));
      record.reported_at = now;
      record.until_event = std::min(record.until_event * 2, kLastPause);
    }
  }
}

FaultTracker::FaultTracker(const Clock& clock, Settings settings, HealthEventListener listener)
    : clock_(clock), settings_(std::move(settings)), listener_(std::move(listener)) {
}

bool FaultTracker::NoteGoodRead(const device::GpuUuid& gpu, SteadyTime begun) {
  const auto found = faults_.find(gpu);
  if (found == faults_.end()) {
    return false;
  }
  found->second.good_read = begun;
  return TryClear(gpu, found->second);
}

bool FaultTracker::NoteMeasured(const device::GpuUuid& gpu, SteadyTime begun) {
  const auto found = faults_.find(gpu);
  if (found == faults_.end()) {
    return false;
  }
  found->second.measured = begun;
  return TryClear(gpu, found->second);
}

void FaultTracker::Apply(device::Gpu& gpu) const {
  const auto found = faults_.find(gpu.uuid);
  ApplyFaults(found == faults_.end() ? GpuFaults() : found->second, settings_.flap_limit, gpu);
}

std::vector<OpenFault> FaultTracker::Open() const {
  std::vector<OpenFault> open;
  for (const auto& [key, faults] : faults_) {
    if (key) {
      AddOpenFaults(*key, faults, open);
    }
  }
  return open;
}

Counters FaultTracker::counters() const {
  Counters counters;
  counters.xids_of_unknown_gpu = xids_of_unknown_gpu_;
  for (const auto& [key, faults] : faults_) {
    if (key) {
      AddCounters(*key, faults, counters);
    }
  }
  return counters;
}

}  // namespace kgpu::health
