#include "src/node/usage/ledger.h"

#include <algorithm>
#include <set>
#include <utility>

namespace kgpu::usage {
namespace {

constexpr size_t kLongestName = 253;  // of Kubernetes
// Size of a line of the file without its names: four amounts of up to 17 digits.
constexpr size_t kBytesOfEntry = 80;

PodName Named(const PodName& pod) {
  const auto name_of = [](const std::string& name) {
    return IsName(name) ? name : std::string(kOther);
  };
  return {.pod_namespace = name_of(pod.pod_namespace), .pod = name_of(pod.pod)};
}

PodName OthersOf(const PodName& pod) {
  return {.pod_namespace = pod.pod_namespace, .pod = std::string(kOther)};
}

PodName AllOthers() {
  return {.pod_namespace = std::string(kOther), .pod = std::string(kOther)};
}

}  // namespace

Amounts& Amounts::operator+=(const Amounts& other) {
  gpu_seconds += other.gpu_seconds;
  busy_gpu_seconds += other.busy_gpu_seconds;
  gib_seconds += other.gib_seconds;
  unreported_gpu_seconds += other.unreported_gpu_seconds;
  return *this;
}

std::optional<double> ReportedBusy(const Amounts& amounts) {
  constexpr double kBorne = 0.05;
  const bool is_reported = amounts.unreported_gpu_seconds <= kBorne * amounts.gpu_seconds;
  return is_reported ? std::optional(amounts.busy_gpu_seconds) : std::nullopt;
}

// "=" means another name in the file.
bool IsName(std::string_view name) {
  return !name.empty() && name != "=" && name.size() <= kLongestName &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
}

Ledger Ledger::Copy() const {
  Ledger copy;
  copy.hours_ = hours_;
  copy.index_ = index_;
  copy.names_.resize(copy.index_.size());
  for (const auto& [pod, name] : copy.index_) {
    copy.names_[name] = &pod;
  }
  copy.bytes_ = bytes_;
  return copy;
}

size_t Ledger::BytesOf(uint32_t name) const {
  return kBytesOfEntry + names_[name]->pod_namespace.size() + names_[name]->pod.size();
}

void Ledger::ForgetOldest() {
  for (const Entry& entry : hours_.begin()->second) {
    bytes_ -= BytesOf(entry.name);
  }
  hours_.erase(hours_.begin());
}

uint32_t Ledger::IndexOf(const PodName& pod) {
  const auto [place, is_new] = index_.try_emplace(pod, static_cast<uint32_t>(names_.size()));
  if (is_new) {
    names_.push_back(&place->first);
  }
  return place->second;
}

void Ledger::AddTo(Entries& entries, const PodName& pod, const Amounts& amounts) {
  const uint32_t name = IndexOf(pod);
  const auto found = std::ranges::find(entries, name, &Entry::name);
  if (found == entries.end()) {
    entries.push_back({.name = name, .amounts = amounts});
    bytes_ += BytesOf(name);
  } else {
    found->amounts += amounts;
  }
}

void Ledger::Add(Hour hour, const PodName& pod, const Amounts& amounts) {
  if (!IsName(pod.pod_namespace) || !IsName(pod.pod)) {
    return Add(hour, Named(pod), amounts);
  }
  Entries& entries = hours_[hour];
  const auto known = index_.find(pod);
  const bool is_here = known != index_.end() &&
                       std::ranges::find(entries, known->second, &Entry::name) != entries.end();
  if (is_here || entries.size() < kMostPodsOfAnHour) {
    AddTo(entries, pod, amounts);
  } else {
    AddTo(entries, entries.size() < 2 * kMostPodsOfAnHour ? OthersOf(pod) : AllOthers(), amounts);
  }
  while (hours_.size() > kMostHours || (bytes_ > kMostBytes && hours_.size() > 1)) {
    ForgetOldest();
  }
  if (names_.size() > kMostPods) {
    FoldPods();
  }
}

void Ledger::Add(const Ledger& other) {
  other.ForEach(
      [this](Hour hour, const PodName& pod, const Amounts& amounts) { Add(hour, pod, amounts); });
}

// Keeps the half of the pods that had the most, by name.
void Ledger::FoldPods() {
  std::vector<std::pair<double, uint32_t>> totals(names_.size());
  for (uint32_t name = 0; name < totals.size(); ++name) {
    totals[name].second = name;
  }
  for (const auto& [hour, entries] : hours_) {
    for (const Entry& entry : entries) {
      totals[entry.name].first += entry.amounts.gpu_seconds + entry.amounts.busy_gpu_seconds;
    }
  }
  std::ranges::sort(totals, std::ranges::greater());
  std::vector<PodName> becomes(names_.size());
  std::set<PodName> others;
  for (size_t rank = 0; rank < totals.size(); ++rank) {
    const uint32_t name = totals[rank].second;
    PodName other = OthersOf(*names_[name]);
    if (rank < kMostPods / 2) {
      becomes[name] = *names_[name];
    } else if (others.contains(other) || others.size() < kMostPods / 4) {
      others.insert(other);
      becomes[name] = std::move(other);
    } else {
      becomes[name] = AllOthers();
    }
  }
  Ledger folded;
  for (const auto& [hour, entries] : hours_) {
    Entries& kept = folded.hours_[hour];
    for (const Entry& entry : entries) {
      folded.AddTo(kept, becomes[entry.name], entry.amounts);
    }
  }
  *this = std::move(folded);
}

void Ledger::Trim(Hour oldest) {
  const auto end = hours_.lower_bound(oldest);
  if (end == hours_.begin()) {
    return;
  }
  hours_.erase(hours_.begin(), end);
  Ledger kept;
  for (const auto& [hour, entries] : hours_) {
    Entries& copied = kept.hours_[hour];
    for (const Entry& entry : entries) {
      kept.AddTo(copied, *names_[entry.name], entry.amounts);
    }
  }
  *this = std::move(kept);
}

void Ledger::ForEach(const Visitor& visit) const {
  ForEachBetween(Hour::min(), Hour::max(), visit);
}

void Ledger::ForEachBetween(Hour from, Hour to, const Visitor& visit) const {
  for (auto hour = hours_.lower_bound(from); hour != hours_.end() && hour->first <= to; ++hour) {
    for (const Entry& entry : hour->second) {
      visit(hour->first, *names_[entry.name], entry.amounts);
    }
  }
}

}  // namespace kgpu::usage
