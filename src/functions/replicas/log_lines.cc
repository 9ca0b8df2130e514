#include "src/functions/replicas/log_lines.h"

#include <algorithm>

namespace kgpu::functions {

std::string JoinLogLines(std::vector<LogLine> lines, const LogRequest& request) {
  std::ranges::stable_sort(lines, {}, &LogLine::time);
  const auto since =
      std::ranges::lower_bound(lines, request.since.value_or(WallTime::min()), {}, &LogLine::time);
  auto from = static_cast<size_t>(since - lines.begin());
  if (request.tail && lines.size() - from > *request.tail) {
    from = lines.size() - *request.tail;
  }
  std::string text;
  for (size_t i = from; i < lines.size(); ++i) {
    text += lines[i].text;
  }
  if (text.size() > kMaxLogText) {
    text.erase(0, text.size() - kMaxLogText);
  }
  return text;
}

}  // namespace kgpu::functions
