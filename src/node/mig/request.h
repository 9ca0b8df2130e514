// Requests of people and programs: kinds of MIG instances, and lists of them. Pure.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/mig/geometry.h"
#include "src/platform/base/status.h"

namespace kgpu::mig {

// How a layout change may treat an instance.
enum class Use {
  kIdle,     // nobody uses it: it may be destroyed
  kMovable,  // its users may be evicted if another instance of its kind is free afterwards
  kFixed,    // it stays
};

// A kind of instance: a GPU instance's profile, and how its compute slices are divided.
struct Kind {
  std::string profile{};  // "3g.40gb"
  std::vector<unsigned>
      compute{};  // slices of its compute instances, descending; empty: one for all
  auto operator<=>(const Kind&) const = default;
};

// "3g.40gb", "3g.40gb (2c+1c)".
std::string KindText(const Kind& kind);

// How many instances of a kind.
struct Demand {
  Kind kind{};
  unsigned count = 0;
  bool operator==(const Demand&) const = default;
};

// "3 x 1g.10gb, 1 x 3g.40gb"; "none" without any.
std::string DemandText(const std::vector<Demand>& demands);

// One entry of a list.
struct Entry {
  std::string profile{};            // "3g.40gb"
  unsigned compute = 0;             // "1c.3g.40gb" has 1; 0: all slices
  unsigned count = 1;               // at least 1
  std::optional<unsigned> start{};  // first memory slice
  Use use = Use::kFixed;
  bool operator==(const Entry&) const = default;
};

inline constexpr unsigned kMaxListed = 1024;  // instances of a list

// Reads "1g.10gb,3g.40gb", "3x1g.10gb", "1g.10gb:3", "3g.40gb@4" (first memory slice),
// "3g.40gb@4:idle" and ":movable". Commas or blanks separate entries; an empty text has none.
// Errors: InvalidArgument naming the entry.
StatusOr<std::vector<Entry>> ParseEntries(std::string_view text);

// Reads a name alone: "1g.10gb", "1c.3g.40gb". Errors: InvalidArgument.
StatusOr<Entry> ParseProfileName(std::string_view name);

// GPU instances for the entries, sorted by kind. Compute instances that are parts share GPU
// instances, the largest first. Errors: InvalidArgument (a part that the GPU instance cannot have).
StatusOr<std::vector<Demand>> DemandsOf(const std::vector<Entry>& entries);

// Both for the text of the option `name`, which errors begin with; "none" is an empty list. Errors:
// InvalidArgument, also for an entry with a memory slice, which the planner chooses.
StatusOr<std::vector<Demand>> ParseDemands(std::string_view name, std::string_view text);

// Compute slices by the name of a profile: 3 of "3g.40gb"; 0 if it is no such name.
unsigned SlicesOfName(std::string_view profile);

}  // namespace kgpu::mig
