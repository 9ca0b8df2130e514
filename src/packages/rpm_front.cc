#include "src/packages/rpm_front.h"

#include <fmt/format.h>

#include "src/packages/calls.h"

namespace kgpu::packages {

bool IsWell(Front front, const sys::RunResult& result) {
  return front == Front::kZypper ? IsZypperContent(result) : result.IsSuccess();
}

bool PassedOver(Front front, const sys::RunResult& result) {
  return front == Front::kYum && (result.out.find("No package ") != std::string::npos ||
                                  result.err.find("No package ") != std::string::npos);
}

std::vector<std::string> InstallArguments(Front front) {
  if (front == Front::kZypper) {
    // --oldpackage: the way back to what was there. A name without a version gets the newest
    // anyway.
    return {"--non-interactive", "install", "--auto-agree-with-licenses", "--oldpackage"};
  }
  return {"-y", "install"};
}

std::vector<std::string> TrialArguments(Front front) {
  if (front == Front::kZypper) {
    return {"--non-interactive", "--xmlout",     "install",
            "--dry-run",         "--oldpackage", "--auto-agree-with-licenses"};
  }
  return {"--assumeno", "install"};
}

bool IsNo(const sys::RunResult& result) {
  const std::string text = fmt::format("{}\n{}", result.out, result.err);
  return text.find("Operation aborted") != std::string::npos ||
         text.find("Exiting on user command") != std::string::npos;
}

std::vector<std::string> RemoveArguments(Front front) {
  if (front == Front::kZypper) {
    return {"--non-interactive", "remove", "--no-clean-deps"};
  }
  return {"-y", "--setopt=clean_requirements_on_remove=False", "remove"};
}

}  // namespace kgpu::packages
