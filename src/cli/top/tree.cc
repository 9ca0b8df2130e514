#include "src/cli/top/tree.h"

#include <algorithm>
#include <utility>

#include "src/platform/terminal/width.h"

namespace kgpu::top {
namespace {

// Narrower names are indented less.
constexpr size_t kWideName = 26;

class RowBuilder {
 public:
  RowBuilder(const ListState& state, size_t name_width, const terminal::Look& look)
      : state_(state), name_width_(name_width), look_(look) {}

  void AddAll(const std::vector<Item>& items, size_t depth, const std::string& around,
              bool is_matched) {
    for (const Item& item : items) {
      Add(item, depth, around, is_matched);
    }
  }
  std::vector<Row> Take() { return std::move(rows_); }

 private:
  static std::string PathText(const Item& item, const std::string& around) {
    return around + " " + item.text;
  }

  // Whether the item or one below it matches.
  bool IsShown(const Item& item, const std::string& around) const {
    const std::string text = PathText(item, around);
    return Matches(state_.filter, text) ||
           std::ranges::any_of(item.children, [&](const Item& one) { return IsShown(one, text); });
  }

  void Add(const Item& item, size_t depth, const std::string& around, bool is_matched) {
    const std::string text = PathText(item, around);
    const bool matches = is_matched || Matches(state_.filter, text);
    if (!matches && !IsShown(item, around)) {
      return;
    }
    // An item that is shown for what is below it is open.
    const bool is_open = !matches || state_.IsOpen(item.id, item.opens);
    Row row{.id = item.id, .target = item.target, .is_expandable = !item.children.empty()};
    const std::string before = std::string(depth * (name_width_ < kWideName ? 1 : 2), ' ') +
                               FoldMark(row.is_expandable, is_open, look_);
    if (item.is_message) {
      row.line.Add(before + item.name, item.style);
    } else {
      const size_t indent = std::min(terminal::TextWidth(before), name_width_);
      row.line.AddCell(before, indent, look_, item.style);
      row.line.Add(FitName(item.name, name_width_ - indent, look_), item.style);
    }
    row.line.Append(item.figures);
    rows_.push_back(std::move(row));
    if (is_open) {
      AddAll(item.children, depth + 1, text, matches);
    }
  }

  const ListState& state_;
  const size_t name_width_;
  const terminal::Look& look_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Row> RowsOf(const std::vector<Item>& items, const ListState& state, size_t name_width,
                        const terminal::Look& look) {
  RowBuilder builder(state, name_width, look);
  builder.AddAll(items, 0, "", state.filter.empty());
  return builder.Take();
}

}  // namespace kgpu::top
