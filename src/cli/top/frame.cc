#include "src/cli/top/frame.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/platform/terminal/width.h"

namespace kgpu::top {
namespace {

using terminal::Color;
using terminal::Line;
using terminal::Look;
using terminal::Safe;
using terminal::Size;

constexpr size_t kFooter = 1;
constexpr size_t kMark = 1;  // column before each row
// Where the screen is lower, the header gives way to rows.
constexpr size_t kLeastRows = 3;
// Lines of a page are not folded any narrower.
constexpr size_t kLeastColumns = 20;

size_t HeaderOf(const View& view, const Size& size) {
  const size_t others = kFooter + kLeastRows + 1;
  return std::min(view.header.size(), size.rows > others ? size.rows - others : 0);
}

std::string NothingText(const View& view, const ListState& list) {
  if (!list.filter.empty()) {
    return fmt::format("no row contains \"{}\": Esc clears the filter", list.filter);
  }
  return view.nothing;
}

std::string PositionText(size_t offset, size_t rows, size_t count) {
  return count <= rows
             ? ""
             : fmt::format("{}-{} of {}", offset + 1, std::min(offset + rows, count), count);
}

// `left` and, as far as it has room, `right` at the end.
Line Ends(const Line& left, const std::string& right, size_t columns, const Look& look) {
  if (right.empty() || columns < right.size() + 2) {
    return left.FitTo(columns, look);
  }
  Line line = left.FitTo(columns - right.size() - 1, look);
  line.AddBlanks(1);
  line.Add(right);
  return line;
}

Line ListFooter(const View& view, const ListState& list, size_t rows, const Size& size,
                const Look& look) {
  Line line;
  if (list.is_typing) {
    line.Add(fmt::format("filter: {}{}", Safe(list.filter, look), look.is_utf8 ? "▏" : "_"),
             {.color = Color::kYellow, .is_bold = true});
    line.Add("  Enter keeps it  Esc clears it");
  } else {
    if (!list.filter.empty()) {
      line.Add(fmt::format("filter: {}  ", Safe(list.filter, look)), {.color = Color::kYellow});
    }
    line.Add("? help  q quit  e explain  / filter");
    if (list.sort < view.sorts.size()) {
      line.Add(fmt::format("  s sort: {}{}", view.sorts[list.sort].name,
                           list.is_reversed ? " reversed" : ""));
    }
    line.Add(view.groupings.empty() ? "  Enter open" : "  b group  Enter open");
  }
  return Ends(line, PositionText(list.offset, rows, view.rows.size()), size.columns, look);
}

void AddRows(const View& view, const ListState& list, size_t rows, const Size& size,
             const Look& look, std::vector<Line>& lines) {
  for (size_t i = list.offset; i < std::min(list.offset + rows, view.rows.size()); ++i) {
    const bool is_selected = i == list.index;
    Line row(is_selected ? ">" : " ");
    row.Append(view.rows[i].line);
    const Line fitted = row.FitTo(size.columns, look);
    lines.push_back(is_selected ? fitted.Reversed() : fitted);
  }
}

std::vector<Line> ListFrame(const View& view, State& state, const Size& size, const Look& look) {
  const size_t rows = RowsFor(view, state, size);
  Settle(view, rows, state.list);
  std::vector<Line> lines;
  lines.reserve(size.rows);
  const size_t header = HeaderOf(view, size);
  for (size_t i = 0; i < header; ++i) {
    lines.push_back(view.header[i].FitTo(size.columns, look));
  }
  Line columns(" ");
  columns.Append(view.columns);
  lines.push_back(columns.FitTo(size.columns, look));
  const size_t before = lines.size();
  AddRows(view, state.list, rows, size, look, lines);
  if (view.rows.empty()) {
    lines.push_back(
        Line("  " + Safe(NothingText(view, state.list), look)).FitTo(size.columns, look));
  }
  lines.resize(before + rows);
  lines.push_back(ListFooter(view, state.list, rows, size, look));
  return lines;
}

// A line of a page in pieces of at most `columns`, broken at blanks where there are some; pieces
// after the first are indented as the line is, and a little more.
void AddFolded(std::string_view text, size_t columns, std::vector<std::string>& folded) {
  const size_t indent = std::min(text.find_first_not_of(' '), columns / 2);
  std::string before;
  while (terminal::TextWidth(before) + terminal::TextWidth(text) > columns) {
    const size_t room = columns > before.size() ? columns - before.size() : 1;
    const std::string_view most = terminal::CutToWidth(text, room);
    const size_t blank = most.rfind(' ');
    const bool has_blank = blank != std::string_view::npos && blank > most.size() / 2;
    const std::string_view piece = most.empty() ? text.substr(0, 1)
                                   : has_blank  ? most.substr(0, blank)
                                                : most;
    folded.push_back(before + std::string(piece));
    text.remove_prefix(piece.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    before.assign(indent + 2, ' ');
  }
  folded.push_back(before + std::string(text));
}

std::vector<Line> PageFrame(Page& page, size_t rows, const Size& size, const Look& look) {
  page.folded.clear();
  for (const std::string& line : page.lines) {
    AddFolded(line, std::max<size_t>(size.columns, kLeastColumns), page.folded);
  }
  page.offset = std::min(page.offset, page.folded.size() > rows ? page.folded.size() - rows : 0);
  std::vector<Line> lines;
  lines.push_back(Line(Safe(page.title, look), {.is_bold = true}).FitTo(size.columns, look));
  for (size_t i = page.offset; i < std::min(page.offset + rows, page.folded.size()); ++i) {
    lines.push_back(Line(page.folded[i]).FitTo(size.columns, look));
  }
  lines.resize(rows + 1);
  Line left(page.is_complete ? "q back  up, down, space scroll" : "q back  asking …");
  if (!look.is_utf8 && !page.is_complete) {
    left = Line("q back  asking ...");
  }
  lines.push_back(
      Ends(left, PositionText(page.offset, rows, page.folded.size()), size.columns, look));
  return lines;
}

}  // namespace

size_t ColumnsFor(const Size& size) {
  return size.columns > kMark ? size.columns - kMark : 1;
}

size_t RowsFor(const View& view, const State& state, const Size& size) {
  const size_t taken = state.page ? kFooter + 1 : HeaderOf(view, size) + 1 + kFooter;
  return size.rows > taken ? size.rows - taken : 1;
}

std::vector<Line> FrameOf(const View& view, State& state, const Size& size, const Look& look) {
  std::vector<Line> lines = state.page
                                ? PageFrame(*state.page, RowsFor(view, state, size), size, look)
                                : ListFrame(view, state, size, look);
  lines.resize(std::min(lines.size(), size.rows));
  return lines;
}

std::string TextOf(const View& view, const Look& look) {
  std::string text;
  const auto add = [&](const Line& line) { text += Render(line, look) + "\n"; };
  for (const Line& line : view.header) {
    add(line);
  }
  add(view.columns);
  for (const Row& row : view.rows) {
    add(row.line);
  }
  if (view.rows.empty() && !view.nothing.empty()) {
    text += view.nothing + "\n";
  }
  return text;
}

}  // namespace kgpu::top
