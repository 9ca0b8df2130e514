#include "src/cli/driver/driver_progress.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "src/cli/base/output.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/utf8.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::cli {
namespace {

constexpr size_t kBar = 16;

}  // namespace

std::string ProgressBar(size_t number, size_t count, std::string_view title, std::string_view line,
                        size_t width) {
  // Step 1 is under way, not done.
  const size_t full = count == 0 ? 0 : std::min(kBar, (number - 1) * kBar / count);
  std::string text = fmt::format("[{}{}] {}/{} {}", std::string(full, '#'),
                                 std::string(kBar - full, '-'), number, count, title);
  if (!Trim(line).empty()) {
    fmt::format_to(std::back_inserter(text), ": {}", Printable(Trim(line), width));
  }
  return std::string(CutUtf8(text, width));
}

DriverProgress DriverProgress::OnStandardError() {
  const auto write = [](std::string_view text) {
    (void)sys::WriteAll(STDERR_FILENO, text);  // if it is closed, no one can be told
  };
  return {TerminalWidth(STDERR_FILENO), write};
}

void DriverProgress::OnStep(size_t number, size_t count, const driver::Step& step, bool is_undone) {
  number_ = number;
  count_ = count;
  title_ = is_undone ? fmt::format("undo: {}", step.title) : step.title;
  if (width_ == 0) {
    write_(fmt::format("{}/{} {}\n", number_, count_, title_));
  } else {
    Draw("");
  }
}

void DriverProgress::OnLine(std::string_view line) {
  if (width_ != 0) {
    Draw(line);
  }
}

void DriverProgress::OnWait(std::string_view line) {
  Clear();
  write_(fmt::format("{}\n", line));
}

void DriverProgress::Draw(std::string_view line) {
  // One column stays free: some terminals wrap as soon as the last one is written.
  write_(fmt::format("\r\033[K{}", ProgressBar(number_, count_, title_, line, width_ - 1)));
}

void DriverProgress::Clear() {
  if (width_ != 0 && count_ != 0) {
    write_("\r\033[K");
  }
}

}  // namespace kgpu::cli
