#include "src/cli/base/progress_runner.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::cli {
namespace {

// Only what is on one line of a terminal can be erased.
constexpr size_t kMaxCommand = 60;

// "running kgpu driver verify".
std::string WhatRuns(const sys::RunRequest& request) {
  std::vector<std::string> words = request.argv;
  if (!words.empty()) {
    words.front() = std::filesystem::path(words.front()).filename();
  }
  return fmt::format("running {}", Printable(Join(words, " "), kMaxCommand));
}

}  // namespace

ProgressRunner::ProgressRunner(sys::ProgramRunner& runner, Progress::Options options)
    : runner_(runner), options_(std::move(options)) {
}

StatusOr<sys::RunResult> ProgressRunner::Run(const sys::RunRequest& request) {
  const std::string what = WhatRuns(request);
  std::optional<Progress> progress(std::in_place, what, options_);
  sys::RunRequest shown = request;
  if (request.on_line) {
    shown.on_line = [&](std::string_view line) {
      progress.reset();
      request.on_line(line);
      progress.emplace(what, options_);
    };
  }
  return runner_.Run(shown);
}

}  // namespace kgpu::cli
