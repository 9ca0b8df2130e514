#include "src/node/telemetry/name_sets.h"

#include <array>

#include "src/platform/base/strings.h"

namespace kgpu::telemetry {
namespace {

constexpr std::array kAll = {NameSet::kKgpu, NameSet::kDcgm, NameSet::kGke};

}  // namespace

std::string_view ToString(NameSet set) {
  static constexpr std::array<std::string_view, 3> kWords = {"kgpu", "dcgm", "gke"};
  return kWords.at(static_cast<size_t>(set));
}

StatusOr<NameSets> ParseNames(std::string_view what, std::string_view text) {
  NameSets names;
  for (const std::string_view part : Split(text, ',')) {
    const std::string_view word = Trim(part);
    const NameSets before = names;
    for (const NameSet set : kAll) {
      if (word == ToString(set)) {
        names.Add(set);
      }
    }
    if (names == before) {
      return InvalidArgument("{}: \"{}\" must be a list of kgpu, dcgm and gke without repetition",
                             what, Printable(text, 60));
    }
  }
  return names;
}

}  // namespace kgpu::telemetry
