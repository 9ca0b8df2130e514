#include "src/gpu/probe/output_limit.h"

#include <utility>

namespace kgpu::probe {

void OutputLimit::Add(std::string_view bytes, SteadyTime now) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    const size_t room = limits_.line_bytes - line_.size();
    is_cut_ |= piece.size() > room;
    line_ += piece.substr(0, room);
    if (end == std::string_view::npos) {
      return;
    }
    EndLine(now);
    bytes.remove_prefix(end + 1);
  }
}

void OutputLimit::Finish(SteadyTime now) {
  EndLine(now);
}

uint64_t OutputLimit::TakeDropped() {
  return std::exchange(dropped_, 0);
}

void OutputLimit::EndLine(SteadyTime now) {
  std::string line = std::exchange(line_, {});
  const bool is_cut = std::exchange(is_cut_, false);
  if (line.empty()) {
    return;
  }
  if (now >= period_end_) {
    period_end_ = now + limits_.period;
    taken_ = 0;
  }
  if (taken_ == limits_.lines) {
    ++dropped_;
    return;
  }
  ++taken_;
  if (is_cut) {
    line += "…";
  }
  take_(line);
}

}  // namespace kgpu::probe
