#include "tests/soak/seed.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::soak {

uint64_t NumberOf(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): no setenv
  return text == nullptr ? otherwise : ParseUint(text).value_or(otherwise);
}

uint32_t SeedOf(uint32_t otherwise) {
  const char* text = std::getenv("KGPU_SOAK_SEED");  // NOLINT(concurrency-mt-unsafe): no setenv
  if (text != nullptr && std::string_view(text) == "random") {
    return std::random_device()();
  }
  return static_cast<uint32_t>(NumberOf("KGPU_SOAK_SEED", otherwise));
}

std::string Action::text() const {
  std::string text = verb;
  for (const std::string& argument : arguments) {
    text += " " + argument;
  }
  return text;
}

void Story::Add(std::string action) {
  actions_.push_back(fmt::format("{:6} {}", ++steps_, std::move(action)));
  if (actions_.size() > kKept) {
    actions_.pop_front();
  }
}

std::string Story::Failure(const std::string& problem) const {
  std::string text = fmt::format("seed {}, step {}: {}\nreplay: KGPU_SOAK_SEED={} {}\n", seed_,
                                 steps_, problem, seed_, program_);
  if (steps_ > actions_.size()) {
    text += fmt::format("the last {} actions:\n", actions_.size());
  }
  for (const std::string& action : actions_) {
    text += action + "\n";
  }
  return text;
}

}  // namespace kgpu::soak
