#include "src/platform/commands/fold.h"

#include <algorithm>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/base/utf8.h"

namespace kgpu::commands {
namespace {

// Less is left for a description: then it stands below the first word instead.
constexpr size_t kMinDescription = 20;

// Where what continues `line` begins.
size_t HangingIndent(std::string_view line, size_t width) {
  const size_t first = std::min(line.find_first_not_of(' '), line.size());
  const size_t gap = line.find("  ", first);
  if (gap == std::string_view::npos) {
    return first;
  }
  const size_t column = CountCharacters(line.substr(0, line.find_first_not_of(' ', gap)));
  return column + kMinDescription <= width ? column : first + 2;
}

void AppendFolded(std::string_view line, size_t width, std::string& out) {
  const size_t indent = HangingIndent(line, width);
  size_t begin = std::min(line.find_first_not_of(' '), line.size());
  size_t column = begin;
  out.append(begin, ' ');
  bool is_at_begin = true;
  while (begin < line.size()) {
    const size_t end = std::min(line.find(' ', begin), line.size());
    const size_t next = std::min(line.find_first_not_of(' ', end), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    if (!is_at_begin && column + CountCharacters(word) > width) {
      out.erase(out.find_last_not_of(' ') + 1);
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    }
    out += word;
    out.append(next - end, ' ');
    column += CountCharacters(word) + (next - end);
    is_at_begin = false;
    begin = next;
  }
}

}  // namespace

std::string FoldHelp(std::string_view help, size_t width) {
  std::string out;
  bool is_first = true;
  for (const std::string_view line : Split(help, '\n')) {
    out += std::exchange(is_first, false) ? "" : "\n";
    if (CountCharacters(line) <= width) {
      out += line;
    } else {
      AppendFolded(line, width, out);
    }
  }
  return out;
}

}  // namespace kgpu::commands
