#include "src/node/mig/request.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::mig {
namespace {

Status BadEntry(std::string_view entry, std::string_view why) {
  return InvalidArgument("profile \"{}\": {}; write 1g.10gb, 3x1g.10gb, 1c.3g.40gb or 3g.40gb@4",
                         Printable(entry, 60), why);
}

// Takes "<number>x" off the front, or ":<number>" off the back.
Status TakeCount(std::string_view whole, std::string_view* text, unsigned* count) {
  std::optional<uint64_t> number = 1;
  const size_t times = text->find_first_not_of("0123456789");
  if (times != 0 && times != std::string_view::npos && (*text)[times] == 'x') {
    number = ParseUint(text->substr(0, times));
    text->remove_prefix(times + 1);
  } else if (const size_t colon = text->rfind(':'); colon != std::string_view::npos &&
                                                    colon + 1 < text->size() &&
                                                    IsDigit((*text)[colon + 1])) {
    number = ParseUint(text->substr(colon + 1));
    text->remove_suffix(text->size() - colon);
  }
  if (!number || *number == 0 || *number > kMaxListed) {
    return BadEntry(whole, fmt::format("the count must be 1 to {}", kMaxListed));
  }
  *count = static_cast<unsigned>(*number);
  return OkStatus();
}

void TakeUse(std::string_view* text, Use* use) {
  for (const auto& [mark, meaning] : {std::pair{std::string_view(":idle"), Use::kIdle},
                                      {":movable", Use::kMovable},
                                      {":used", Use::kFixed}}) {
    if (text->ends_with(mark)) {
      text->remove_suffix(mark.size());
      *use = meaning;
      return;
    }
  }
}

Status TakeStart(std::string_view whole, std::string_view* text, std::optional<unsigned>* start) {
  const size_t at = text->find('@');
  if (at == std::string_view::npos) {
    return OkStatus();
  }
  const auto number = ParseUint(text->substr(at + 1));
  if (!number || *number > 31) {
    return BadEntry(whole, "the memory slice behind @ must be a number below 32");
  }
  *start = static_cast<unsigned>(*number);
  *text = text->substr(0, at);
  return OkStatus();
}

StatusOr<Entry> ParseEntry(std::string_view whole) {
  std::string_view text = whole;
  Use use = Use::kFixed;
  TakeUse(&text, &use);
  unsigned count = 1;
  RETURN_IF_ERROR(TakeCount(whole, &text, &count));
  std::optional<unsigned> start;
  RETURN_IF_ERROR(TakeStart(whole, &text, &start));
  if (start && count > 1) {
    return BadEntry(whole, "only one instance can be at a memory slice");
  }
  if (!device::IsMigProfileName(text)) {
    return BadEntry(whole, "is no MIG profile");
  }
  ASSIGN_OR_RETURN(Entry entry, ParseProfileName(text));
  entry.count = count;
  entry.start = start;
  entry.use = use;
  return entry;
}

// Puts each size into the first GPU instance with room for it, the largest first.
std::vector<std::vector<unsigned>> PackCompute(std::vector<unsigned> sizes, unsigned slices) {
  std::ranges::sort(sizes, std::greater<>());
  std::vector<std::vector<unsigned>> packed;
  std::vector<unsigned> used;
  for (const unsigned size : sizes) {
    size_t place = 0;
    while (place < used.size() && used[place] + size > slices) {
      ++place;
    }
    if (place == used.size()) {
      packed.emplace_back();
      used.push_back(0);
    }
    packed[place].push_back(size);
    used[place] += size;
  }
  return packed;
}

}  // namespace

std::string KindText(const Kind& kind) {
  if (kind.compute == std::vector<unsigned>{0}) {
    return kind.profile + " without compute instances";
  }
  if (kind.compute.empty()) {
    return kind.profile;
  }
  return fmt::format("{} ({}c)", kind.profile, fmt::join(kind.compute, "c+"));
}

std::string DemandText(const std::vector<Demand>& demands) {
  std::vector<std::string> parts;
  parts.reserve(demands.size());
  for (const Demand& demand : demands) {
    parts.push_back(fmt::format("{} x {}", demand.count, KindText(demand.kind)));
  }
  return parts.empty() ? "none" : Join(parts, ", ");
}

StatusOr<std::vector<Demand>> ParseDemands(std::string_view name, std::string_view text) {
  if (text == "none") {
    return std::vector<Demand>();
  }
  const auto entries = ParseEntries(text);
  RETURN_IF_ERROR(Annotate(entries.status(), "{}", name));
  for (const Entry& entry : *entries) {
    if (entry.start) {
      return InvalidArgument("{}: {}@{}: the planner chooses the memory slices", name,
                             entry.profile, *entry.start);
    }
  }
  return DemandsOf(*entries);
}

unsigned SlicesOfName(std::string_view profile) {
  const size_t end = profile.find("g.");
  return end == std::string_view::npos
             ? 0
             : static_cast<unsigned>(ParseUint(profile.substr(0, end)).value_or(0));
}

StatusOr<Entry> ParseProfileName(std::string_view name) {
  if (!device::IsMigProfileName(name)) {
    return BadEntry(name, "is no MIG profile");
  }
  Entry entry;
  if (const size_t part = name.find("c."); part != std::string_view::npos) {
    entry.compute = static_cast<unsigned>(ParseUint(name.substr(0, part)).value_or(0));
    name.remove_prefix(part + 2);
    const std::vector<unsigned> sizes = ComputeSizes(SlicesOfName(name));
    if (std::ranges::find(sizes, entry.compute) == sizes.end()) {
      return BadEntry(
          fmt::format("{}c.{}", entry.compute, name),
          fmt::format("compute instances of {} have {} slices", name, fmt::join(sizes, ", ")));
    }
    if (entry.compute == sizes.back()) {
      entry.compute = 0;  // the whole, under another name
    }
  }
  entry.profile = std::string(name);
  return entry;
}

StatusOr<std::vector<Entry>> ParseEntries(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, ',', ' ');
  std::vector<Entry> entries;
  unsigned count = 0;
  for (const std::string_view word : Words(spaced)) {
    ASSIGN_OR_RETURN(Entry entry, ParseEntry(word));
    count += entry.count;
    if (count > kMaxListed) {
      return InvalidArgument("the list names more than {} instances", kMaxListed);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

StatusOr<std::vector<Demand>> DemandsOf(const std::vector<Entry>& entries) {
  std::map<Kind, unsigned> counts;
  std::map<std::string, std::vector<unsigned>> parts;
  for (const Entry& entry : entries) {
    if (entry.compute == 0) {
      counts[{.profile = entry.profile, .compute = {}}] += entry.count;
      continue;
    }
    std::vector<unsigned>& sizes = parts[entry.profile];
    if (sizes.size() + entry.count > kMaxListed) {
      return InvalidArgument("{}: more than {} compute instances", entry.profile, kMaxListed);
    }
    sizes.insert(sizes.end(), entry.count, entry.compute);
  }
  for (const auto& [profile, sizes] : parts) {
    for (std::vector<unsigned>& compute : PackCompute(sizes, SlicesOfName(profile))) {
      ++counts[{.profile = profile, .compute = std::move(compute)}];
    }
  }
  std::vector<Demand> demands;
  demands.reserve(counts.size());
  for (const auto& [kind, count] : counts) {
    demands.push_back({.kind = kind, .count = count});
  }
  return demands;
}

}  // namespace kgpu::mig
