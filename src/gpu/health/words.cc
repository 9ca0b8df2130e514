#include <algorithm>
#include <array>

#include "src/gpu/health/health_event.h"
#include "src/gpu/health/rule.h"

namespace kgpu::health {
namespace {

// By enumerator.
constexpr std::array<std::string_view, 6> kActions = {"ignore",    "restart-app", "drain",
                                                      "reset-gpu", "reboot",      "inspect"};
constexpr std::array<std::string_view, 10> kClasses = {
    "application", "driver", "memory",   "nvlink", "pcie",
    "thermal",     "power",  "firmware", "bus",    "other"};
constexpr std::array<std::string_view, 4> kKinds = {"raised", "seen", "cleared", "held"};
constexpr std::array<std::string_view, 4> kSources = {"driver", "kernel-log", "sample", "call"};

// The enumerator of a word.
template <typename Enum, size_t kSize>
std::optional<Enum> Find(const std::array<std::string_view, kSize>& words, std::string_view word) {
  const auto* found = std::ranges::find(words, word);
  return found == words.end() ? std::nullopt
                              : std::optional(static_cast<Enum>(found - words.begin()));
}

}  // namespace

std::string_view ToString(Action action) {
  return kActions.at(static_cast<size_t>(action));
}

std::optional<Action> ParseAction(std::string_view word) {
  return Find<Action>(kActions, word);
}

std::string_view ToString(FaultClass fault_class) {
  return kClasses.at(static_cast<size_t>(fault_class));
}

std::optional<FaultClass> ParseFaultClass(std::string_view word) {
  return Find<FaultClass>(kClasses, word);
}

std::string_view ToString(Source source) {
  return kSources.at(static_cast<size_t>(source));
}

std::optional<Source> ParseSource(std::string_view word) {
  return Find<Source>(kSources, word);
}

std::string_view ToString(HealthEventKind kind) {
  return kKinds.at(static_cast<size_t>(kind));
}

std::optional<HealthEventKind> ParseHealthEventKind(std::string_view word) {
  return Find<HealthEventKind>(kKinds, word);
}

}  // namespace kgpu::health
