#include "src/cli/top/header.h"

#include "src/platform/terminal/width.h"

namespace kgpu::top {

void Header::Add(std::string_view text, terminal::Style style) {
  if (text.empty()) {
    return;
  }
  std::string safe = terminal::Safe(text, look_);
  const size_t taken = line_.width();
  if (taken == 0) {
    line_.Add(std::move(safe), style);
    line_ = line_.width() > columns_ ? line_.FitTo(columns_, look_) : line_;
    return;
  }
  constexpr size_t kGap = 2;
  if (taken + kGap + terminal::TextWidth(safe) <= columns_) {
    line_.AddBlanks(kGap);
    line_.Add(std::move(safe), style);
  }
}

std::string ClockText(std::string_view time) {
  constexpr size_t kDate = 11;  // "2026-11-29T"
  return std::string(time.size() > kDate ? time.substr(kDate) : time);
}

}  // namespace kgpu::top
