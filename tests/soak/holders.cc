#include "tests/soak/holders.h"

#include <fmt/format.h>

#include <utility>

namespace kgpu::soak {
namespace {

std::string NameOf(const Unit& unit) {
  if (unit.kind.empty()) {
    return unit.gpu;
  }
  return fmt::format("{} ({} of {})", unit.part, unit.kind, unit.gpu);
}

bool Exclude(const Unit& a, const Unit& b) {
  if (a.gpu != b.gpu) {
    return false;
  }
  return a.kind != b.kind || a.kind.empty() || (!a.part.empty() && a.part == b.part);
}

std::string TextOf(const Units& units) {
  std::string text;
  for (const Unit& unit : units) {
    text += (text.empty() ? "" : ", ") + NameOf(unit);
  }
  return text;
}

}  // namespace

std::string Holders::FindDouble(const std::map<std::string, Units>& held) {
  std::map<std::string, std::vector<std::pair<std::string, Unit>>> by_gpu;
  for (const auto& [holder, units] : held) {
    for (const Unit& unit : units) {
      for (const auto& [other, taken] : by_gpu[unit.gpu]) {
        if (other != holder && Exclude(unit, taken)) {
          return fmt::format("{} is held by {}, and {} by {}", NameOf(taken), other, NameOf(unit),
                             holder);
        }
      }
      by_gpu[unit.gpu].emplace_back(holder, unit);
    }
  }
  return "";
}

std::string Holders::Check(std::map<std::string, Units> held) {
  if (std::string problem = FindDouble(held); !problem.empty()) {
    return problem;
  }
  for (const auto& [holder, units] : held) {
    const auto before = before_.find(holder);
    if (before == before_.end()) {
      ++seen_;
    } else if (before->second != units) {
      return fmt::format("{} held {} and now holds {}", holder, TextOf(before->second),
                         TextOf(units));
    }
  }
  before_ = std::move(held);
  return "";
}

}  // namespace kgpu::soak
