#include "src/node/slices/compute_shares.h"

#include <algorithm>
#include <utility>

#include "src/node/sharing/slice_paths.h"
#include "src/platform/base/log.h"
#include "src/preload/gate.h"

namespace kgpu::slices {
namespace {

using slices::SliceUse;
using std::chrono::milliseconds;

// Between two rounds: while a busy container has neighbours on its device, while none of several
// containers is busy, and otherwise. The driver's own samples are up to a second apart.
constexpr milliseconds kBusyPace{1'000};
constexpr milliseconds kWatchPace{5'000};
constexpr milliseconds kQuietPace{15'000};

std::string NameOfUser(const SliceUse& use) {
  return fmt::format("{}/{}/{}", use.user.pod_namespace, use.user.pod, use.user.container);
}
std::string KeyOfUse(const SliceUse& use) {
  return fmt::format("{} {}", NameOfUser(use), use.device_uuid);
}

// The driver's samples of processes are not taken at one instant: more than a whole device is none.
double ScaleOf(const std::string& device, const device::SampleSet& samples) {
  constexpr double kAll = 100;
  double sum = 0;
  for (const device::GpuSample& gpu : samples.gpus) {
    for (const device::ProcessSample& process : gpu.processes) {
      sum += gpu.uuid.str() == device ? process.sm.value_or(0) : 0;
    }
  }
  return sum > kAll ? kAll / sum : 1;
}

// A device that works while no process of it has a sample: the driver has not taken any since the
// last round.
bool HasNoSamples(const std::string& device, const device::SampleSet& samples) {
  constexpr double kWorks = 5;  // percent
  for (const device::GpuSample& gpu : samples.gpus) {
    if (gpu.uuid.str() == device) {
      const bool is_any = std::ranges::any_of(
          gpu.processes, [](const auto& process) { return process.sm.value_or(0) > 0; });
      return !is_any && gpu.utilization.gpu.value_or(0) >= kWorks;
    }
  }
  return true;
}

// The slots with a share of the time, of devices that are as configured or still as they were.
std::vector<std::string> SlotsWithShares(const slices::SliceFacts& facts) {
  std::vector<std::string> slots;
  for (const pools::Assignment* assignment : {&facts.assignment, &facts.held}) {
    for (const pools::Resource& resource : assignment->resources) {
      for (const pools::Slot& slot : resource.slots) {
        if (slot.compute != 0) {
          slots.push_back(slot.id);
        }
      }
    }
  }
  return slots;
}

bool HasShares(const pools::Assignment& assignment) {
  return std::ranges::any_of(assignment.resources, [](const pools::Resource& resource) {
    return std::ranges::any_of(resource.slots, [](const auto& slot) { return slot.compute != 0; });
  });
}

std::map<std::string, slices::LedgerFigures> ReadLedgers(const std::string& folder,
                                                         const std::vector<std::string>& slots) {
  std::map<std::string, slices::LedgerFigures> read;
  for (const std::string& slot : slots) {
    const auto figures = slices::ReadLedgerFigures(
        fmt::format("{}/{}", folder, sharing::FileOfSlot(slot, sharing::kLedgerName)));
    if (figures.ok()) {
      read.emplace(slot, *figures);
    }
  }
  return read;
}

}  // namespace

ComputeShares::ComputeShares(pods::Background background, std::string folder,
                             std::function<void()> paced)
    : background_(std::move(background)),
      folder_(std::move(folder)),
      paced_(std::move(paced)),
      figures_(std::make_shared<const std::vector<telemetry::SliceFigures>>()),
      self_(std::make_shared<ComputeShares*>(this)) {
}

void ComputeShares::SetAssignment(const pools::Assignment& assignment,
                                  const pools::Assignment& held) {
  has_shares_ = HasShares(assignment) || HasShares(held);
  if (has_shares_ != pace_.has_value()) {
    SetPace(PaceFor({}));
  }
}

void ComputeShares::OnSample(const slices::SliceFacts& facts, const pods::ListState& list,
                             SteadyTime now) {
  const bool has_list = list.asked || list.has_no_kubelet;
  if (facts.pods.devices.empty() && !facts.pods.problem.empty() && !has_list) {
    return;  // as after a restart
  }
  const std::vector<SliceUse> uses = slices::SliceUsesOf(facts);
  // A slot that is given away gets a new ledger. One that was in use before may be older than that.
  const auto begins =
      std::exchange(has_looked_, true) ? std::optional(slices::LedgerFigures{}) : std::nullopt;
  std::map<std::string, Ledger> ledgers;
  for (const SliceUse& use : uses) {
    for (const std::string& slot : use.slots) {
      Ledger& ledger = ledgers[slot];
      const auto known = ledgers_.find(slot);
      const std::string user = NameOfUser(use);
      ledger = known != ledgers_.end() && known->second.user == user
                   ? known->second
                   : Ledger{.user = user, .first = begins};
    }
  }
  ledgers_ = std::move(ledgers);
  const Turns turns = Control(uses, facts);
  std::vector<slices::GateWord> words = WordsOf(uses, facts, turns);
  Publish(uses, turns);
  Exchange(uses, std::move(words), now);
  SetPace(PaceFor(uses));
}

std::optional<double> ComputeShares::WaitedOf(const SliceUse& use) const {
  std::optional<double> sum;
  for (const std::string& slot : use.slots) {
    const auto found = ledgers_.find(slot);
    if (found != ledgers_.end() && found->second.waited) {
      sum = sum.value_or(0) + found->second.waited.value_or(0);
    }
  }
  return sum;
}

ComputeShares::Turns ComputeShares::Control(const std::vector<SliceUse>& uses,
                                            const slices::SliceFacts& facts) {
  std::map<std::string, std::vector<slices::ComputeUse>> devices;
  for (const SliceUse& use : uses) {
    if (use.compute != 0) {
      const bool is_known = use.time && !HasNoSamples(use.device_uuid, facts.samples);
      const double used = use.time.value_or(0) * ScaleOf(use.device_uuid, facts.samples);
      devices[use.device_uuid].push_back({.id = KeyOfUse(use),
                                          .share = use.compute,
                                          .has_programs = !use.processes.empty(),
                                          .used = is_known ? std::optional(used) : std::nullopt,
                                          .waited = WaitedOf(use)});
    }
  }
  std::erase_if(controllers_, [&](const auto& entry) { return !devices.contains(entry.first); });
  Turns turns;
  for (const auto& [device, of_device] : devices) {
    // Another one than before a restart, most likely; the same one does no more than delay.
    const auto epoch = static_cast<uint32_t>(facts.samples.taken.time_since_epoch().count() >> 30);
    const std::vector<slices::ComputeTurn> fresh =
        controllers_.try_emplace(device, epoch).first->second.Update(of_device);
    for (size_t i = 0; i < of_device.size(); ++i) {
      turns.emplace(of_device[i].id, fresh[i]);
    }
  }
  return turns;
}

// Those that must be written: a gate that is open stays so by itself.
std::vector<slices::GateWord> ComputeShares::WordsOf(const std::vector<SliceUse>& uses,
                                                     const slices::SliceFacts& facts,
                                                     const Turns& turns) {
  std::map<std::string, uint64_t> wanted;
  for (const std::string& slot : SlotsWithShares(facts)) {
    wanted[slot] = preload::PackTurn({});
  }
  for (const SliceUse& use : uses) {
    const auto turn = turns.find(KeyOfUse(use));
    if (turn == turns.end()) {
      continue;
    }
    preload::GateTurn packed = turn->second.turn;
    if (packed.open >= preload::kGateParts) {
      packed = {};  // nothing to write as long as it is open
    }
    for (const std::string& slot : use.slots) {
      wanted[slot] = preload::PackTurn(packed);
    }
  }
  std::vector<slices::GateWord> words;
  for (const auto& [slot, word] : wanted) {
    const auto before = written_.find(slot);
    if (before == written_.end() || before->second != word) {
      words.push_back({.slot = slot, .word = word});
    }
  }
  written_ = std::move(wanted);
  return words;
}

void ComputeShares::Exchange(const std::vector<SliceUse>& uses, std::vector<slices::GateWord> words,
                             SteadyTime now) {
  std::vector<std::string> slots;
  for (const SliceUse& use : uses) {
    slots.insert(slots.end(), use.slots.begin(), use.slots.end());
  }
  if (slots.empty() && words.empty()) {
    return;
  }
  for (const std::string& slot : slots) {
    ledgers_[slot].is_asked = true;
  }
  const std::weak_ptr<ComputeShares*> self = self_;
  const bool is_accepted = background_(
      [self, now, folder = folder_, slots = std::move(slots),
       words = std::move(words)]() -> std::function<void()> {
        const Status written = slices::WriteGates(folder, words);
        return [self, now, written, ledgers = ReadLedgers(folder, slots)] {
          const auto alive = self.lock();
          if (!alive) {
            return;
          }
          (*alive)->TakeLedgers(ledgers, now);
          if (!written.ok()) {
            (*alive)->written_.clear();  // all once more in the next round
          }
          if (!written.ok() && !std::exchange((*alive)->has_failed_, true)) {
            KGPU_LOG(kWarning, "compute shares not written", {"problem", Message(written)},
                     {"effect", "the slots' shares hold, whoever is busy"});
          }
          (*alive)->has_failed_ = !written.ok();
        };
      },
      [](const Status&) {});
  if (!is_accepted) {
    written_.clear();
  }
}

void ComputeShares::TakeLedgers(const std::map<std::string, slices::LedgerFigures>& ledgers,
                                SteadyTime now) {
  for (auto& [slot, ledger] : ledgers_) {
    if (std::exchange(ledger.is_asked, false) && !ledgers.contains(slot)) {
      ledger.waited.reset();  // a ledger that cannot be read claims nothing
    }
  }
  for (const auto& [slot, figures] : ledgers) {
    const auto found = ledgers_.find(slot);
    if (found == ledgers_.end()) {
      continue;
    }
    Ledger& ledger = found->second;
    const double seconds = std::chrono::duration<double>(now - ledger.read).count();
    if (ledger.last && seconds > 0 && figures.waited_ns >= ledger.last->waited_ns) {
      constexpr double kPercent = 1e-7;  // of nanoseconds in a second
      ledger.waited =
          static_cast<double>(figures.waited_ns - ledger.last->waited_ns) * kPercent / seconds;
    }
    // What the slot's last container has left there is not this one's.
    const bool is_reset = ledger.first && (figures.refused < ledger.first->refused ||
                                           figures.waited_ns < ledger.first->waited_ns);
    if (!ledger.first || is_reset) {
      ledger.first = figures;
    }
    ledger.last = figures;
    ledger.read = now;
  }
}

void ComputeShares::Publish(const std::vector<SliceUse>& uses, const Turns& turns) {
  auto list = std::make_shared<std::vector<telemetry::SliceFigures>>();
  std::map<std::string, Bytes> peaks;
  for (const SliceUse& use : uses) {
    const std::string key = KeyOfUse(use);
    Bytes& peak = peaks[key];
    const auto before = peaks_.find(key);
    peak = std::max(use.used, before == peaks_.end() ? Bytes{} : before->second);
    telemetry::SliceFigures& figures = list->emplace_back();
    figures.user = use.user;
    figures.device_uuid = use.device_uuid;
    figures.memory_limit = use.limit;
    figures.memory_peak = peak;
    for (const std::string& slot : use.slots) {
      const Ledger& ledger = ledgers_[slot];
      if (ledger.first && ledger.last) {
        figures.refused = figures.refused.value_or(0) +
                          static_cast<double>(ledger.last->refused - ledger.first->refused);
        figures.waited_seconds =
            figures.waited_seconds.value_or(0) +
            static_cast<double>(ledger.last->waited_ns - ledger.first->waited_ns) / 1e9;
      }
    }
    if (use.compute == 0) {
      figures.waited_seconds.reset();
      continue;
    }
    figures.compute_share = use.compute;
    if (const auto turn = turns.find(key); turn != turns.end()) {
      figures.compute_target = turn->second.target;
      figures.compute_error = turn->second.error;
    }
  }
  peaks_ = std::move(peaks);
  figures_ = std::move(list);
}

std::optional<milliseconds> ComputeShares::PaceFor(const std::vector<SliceUse>& uses) const {
  if (!has_shares_ && written_.empty()) {
    return std::nullopt;
  }
  std::map<std::string_view, unsigned> with_programs;
  for (const SliceUse& use : uses) {
    with_programs[use.device_uuid] += use.compute != 0 && !use.processes.empty() ? 1 : 0;
  }
  milliseconds pace = kQuietPace;
  for (const auto& [device, controller] : controllers_) {
    // Gates that are not open are stale after a while.
    pace = controller.is_contended() ? kBusyPace : pace;
  }
  for (const SliceUse& use : uses) {
    if (use.compute != 0 && !use.processes.empty() && with_programs[use.device_uuid] > 1) {
      const bool is_busy = !use.time || *use.time > 0 || WaitedOf(use).value_or(0) > 0;
      pace = std::min(pace, is_busy ? kBusyPace : kWatchPace);
    }
  }
  return pace;
}

void ComputeShares::SetPace(std::optional<milliseconds> pace) {
  if (std::exchange(pace_, pace) != pace) {
    paced_();
  }
}

}  // namespace kgpu::slices
