#include "src/container/engine/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace kgpu::engine {
namespace {

constexpr size_t kContext = 3;

struct Line {
  char sign = ' ';  // ' ', '-' or '+'
  std::string_view text;
};

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const size_t length = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

// The lines between the common start and end of both, by the longest common subsequence. Both are
// short: our edits are close together, except for an import line at the top.
std::vector<Line> Align(const std::vector<std::string_view>& a,
                        const std::vector<std::string_view>& b) {
  const size_t width = b.size() + 1;
  std::vector<unsigned> longest((a.size() + 1) * width, 0);
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      longest[i * width + j] =
          a[i] == b[j] ? longest[(i + 1) * width + j + 1] + 1
                       : std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  std::vector<Line> lines;
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      lines.push_back({' ', a[i]});
      ++i;
      ++j;
    } else if (i < a.size() &&
               (j == b.size() || longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
      lines.push_back({'-', a[i++]});
    } else {
      lines.push_back({'+', b[j++]});
    }
  }
  return lines;
}

// Past this many cells the middle is shown as replaced whole: a diff may not cost a gigabyte.
constexpr size_t kMostCells = 4'000'000;

std::vector<Line> Compare(const std::vector<std::string_view>& a,
                          const std::vector<std::string_view>& b) {
  const auto [a_start, b_start] = std::ranges::mismatch(a, b);
  const auto start = static_cast<size_t>(a_start - a.begin());
  size_t end = 0;  // lines that both have at their ends
  while (end < std::min(a.size(), b.size()) - start &&
         a[a.size() - 1 - end] == b[b.size() - 1 - end]) {
    ++end;
  }
  const std::vector<std::string_view> a_middle(a_start, a.end() - static_cast<ptrdiff_t>(end));
  const std::vector<std::string_view> b_middle(b_start, b.end() - static_cast<ptrdiff_t>(end));
  std::vector<Line> lines;
  for (size_t i = 0; i < start; ++i) {
    lines.push_back({' ', a[i]});
  }
  if ((a_middle.size() + 1) * (b_middle.size() + 1) <= kMostCells) {
    std::ranges::copy(Align(a_middle, b_middle), std::back_inserter(lines));
  } else {
    std::ranges::transform(a_middle, std::back_inserter(lines),
                           [](std::string_view line) { return Line{'-', line}; });
    std::ranges::transform(b_middle, std::back_inserter(lines),
                           [](std::string_view line) { return Line{'+', line}; });
  }
  for (size_t i = a.size() - end; i < a.size(); ++i) {
    lines.push_back({' ', a[i]});
  }
  return lines;
}

// "12,3", "12" for one line, "11,0" for none: the line before it is named then.
std::string Range(size_t start, size_t count) {
  if (count == 1) {
    return fmt::format("{}", start + 1);
  }
  return fmt::format("{},{}", count == 0 ? start : start + 1, count);
}

// One hunk: lines[first, last), which begin at line a_start and b_start of the two texts.
void PrintHunk(const std::vector<Line>& lines, size_t first, size_t last, size_t a_start,
               size_t b_start, std::string& out) {
  const auto begin = lines.begin() + static_cast<ptrdiff_t>(first);
  const auto end = lines.begin() + static_cast<ptrdiff_t>(last);
  const auto added = static_cast<size_t>(
      std::count_if(begin, end, [](const Line& line) { return line.sign == '+'; }));
  const auto removed = static_cast<size_t>(
      std::count_if(begin, end, [](const Line& line) { return line.sign == '-'; }));
  const size_t size = last - first;
  fmt::format_to(std::back_inserter(out), "@@ -{} +{} @@\n", Range(a_start, size - added),
                 Range(b_start, size - removed));
  for (auto line = begin; line != end; ++line) {
    fmt::format_to(std::back_inserter(out), "{}{}", line->sign, line->text);
    if (!line->text.ends_with('\n')) {
      out += "\n\\ No newline at end of file\n";
    }
  }
}

// The end of the hunk that begins at `first`: changes closer than twice the context share one.
size_t EndOfHunk(const std::vector<Line>& lines, size_t first_change) {
  size_t last_change = first_change;
  for (size_t i = first_change; i < lines.size() && i <= last_change + 2 * kContext; ++i) {
    last_change = lines[i].sign == ' ' ? last_change : i;
  }
  return std::min(lines.size(), last_change + 1 + kContext);
}

void PrintHunks(const std::vector<Line>& lines, std::string& out) {
  size_t a_line = 0;  // of lines[counted]
  size_t b_line = 0;
  size_t counted = 0;
  const auto count_to = [&](size_t index) {
    for (; counted < index; ++counted) {
      a_line += lines[counted].sign == '+' ? 0 : 1;
      b_line += lines[counted].sign == '-' ? 0 : 1;
    }
  };
  size_t next = 0;
  while (true) {
    const auto change = std::find_if(lines.begin() + static_cast<ptrdiff_t>(next), lines.end(),
                                     [](const Line& line) { return line.sign != ' '; });
    if (change == lines.end()) {
      return;
    }
    const auto first_change = static_cast<size_t>(change - lines.begin());
    const size_t first = first_change - std::min(kContext, first_change - next);
    const size_t last = EndOfHunk(lines, first_change);
    count_to(first);
    PrintHunk(lines, first, last, a_line, b_line, out);
    next = last;
  }
}

}  // namespace

std::string UnifiedDiff(std::string_view path, const std::optional<std::string>& before,
                        const std::optional<std::string>& after) {
  if (before == after) {
    return "";
  }
  std::string out;
  fmt::format_to(std::back_inserter(out), "--- {}\n+++ {}\n", before ? path : "/dev/null",
                 after ? path : "/dev/null");
  const std::string a = before.value_or("");
  const std::string b = after.value_or("");
  PrintHunks(Compare(LinesOf(a), LinesOf(b)), out);
  return out;
}

}  // namespace kgpu::engine
