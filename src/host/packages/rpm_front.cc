#include "src/host/packages/rpm_front.h"

#include <fmt/format.h>

#include "src/host/packages/calls.h"
#include "src/host/packages/package_list.h"

namespace kgpu::packages {
namespace {

// "No" is an error to them, and only what they say tells it from others: dnf of version 4 and 5,
// yum.
bool IsNo(const sys::RunResult& result) {
  const std::string text = fmt::format("{}\n{}", result.out, result.err);
  return text.find("Operation aborted") != std::string::npos ||
         text.find("Exiting on user command") != std::string::npos;
}

}  // namespace

bool IsHealthy(Front front, const sys::RunResult& result) {
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

std::vector<std::string> RemoveArguments(Front front) {
  if (front == Front::kZypper) {
    return {"--non-interactive", "remove", "--no-clean-deps"};
  }
  return {"-y", "--setopt=clean_requirements_on_remove=False", "remove"};
}

std::vector<std::string> RemovalTrialArguments(Front front) {
  if (front == Front::kZypper) {
    return {"--non-interactive", "--no-refresh",   "--xmlout", "remove",
            "--dry-run",         "--no-clean-deps"};
  }
  return {"--assumeno", "--setopt=clean_requirements_on_remove=False", "remove"};
}

std::set<std::string> NamesOfTrial(Front front, const sys::RunResult& result) {
  return front == Front::kZypper ? ParseZypperTrial(result.out)
                                 : ParseDnfTrial(fmt::format("{}\n{}", result.out, result.err));
}

bool IsTrialHealthy(Front front, const sys::RunResult& result) {
  const bool is_healthy = IsHealthy(front, result) || (front != Front::kZypper && IsNo(result));
  return is_healthy && !PassedOver(front, result);
}

}  // namespace kgpu::packages
