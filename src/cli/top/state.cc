#include "src/cli/top/state.h"

#include <algorithm>
#include <utility>

#include "src/cli/top/help.h"
#include "src/platform/base/utf8.h"

namespace kgpu::top {
namespace {

using terminal::Key;
using terminal::KeyKind;

constexpr size_t kMostFilter = 200;  // bytes

// Where a key moves `at` among `count` places, `rows` of which are on the screen; nothing: it is no
// such key.
std::optional<size_t> Moved(const Key& key, size_t at, size_t count, size_t rows) {
  const size_t last = count == 0 ? 0 : count - 1;
  if (key.kind == KeyKind::kUp || key.Is('k')) {
    return at == 0 ? 0 : at - 1;
  }
  if (key.kind == KeyKind::kDown || key.Is('j')) {
    return std::min(at + 1, last);
  }
  if (key.kind == KeyKind::kPageUp) {
    return at - std::min(at, rows);
  }
  if (key.kind == KeyKind::kPageDown) {
    return std::min(at + rows, last);
  }
  if (key.kind == KeyKind::kHome || key.Is('g')) {
    return 0;
  }
  if (key.kind == KeyKind::kEnd || key.Is('G')) {
    return last;
  }
  return std::nullopt;
}

void OnTyping(const Key& key, ListState& list) {
  switch (key.kind) {
    case KeyKind::kText:
      if (list.filter.size() < kMostFilter) {
        list.filter += key.text;
      }
      return;
    case KeyKind::kBackspace:
      if (!list.filter.empty()) {
        list.filter = CutUtf8(list.filter, list.filter.size() - 1);
      }
      return;
    case KeyKind::kClear:
      list.filter.clear();
      return;
    case KeyKind::kEscape:
      list.filter.clear();
      list.is_typing = false;
      return;
    default:
      list.is_typing = false;  // the key itself does nothing more
      return;
  }
}

// Closes the page by resetting `shown`.
Request OnPageKey(const Key& key, size_t rows, std::optional<Page>& shown) {
  if (!shown) {
    return {};
  }
  Page& page = *shown;
  if (key.kind == KeyKind::kEscape || key.Is('q') || key.Is('?') || key.kind == KeyKind::kLeft) {
    shown.reset();
    return {};
  }
  const size_t places = page.folded.size() > rows ? page.folded.size() - rows + 1 : 1;
  const Key moved = key.Is(' ') ? Key{.kind = KeyKind::kPageDown} : key;
  page.offset = Moved(moved, page.offset, places, rows).value_or(page.offset);
  return key.kind == KeyKind::kRedraw ? Request{.kind = RequestKind::kRedraw} : Request{};
}

void Toggle(const Row& row, ListState& list) {
  if (row.is_expandable && list.toggled.erase(row.id) == 0) {
    list.toggled.insert(row.id);
  }
}

bool ChooseSort(const Key& key, const View& view, ListState& list) {
  if (key.Is('s') || key.Is('S')) {
    const size_t count = std::max<size_t>(view.sorts.size(), 1);
    list.sort = (list.sort + (key.Is('s') ? 1 : count - 1)) % count;
    return true;
  }
  const auto chosen =
      std::ranges::find_if(view.sorts, [&](const SortKey& one) { return key.Is(one.key); });
  if (chosen == view.sorts.end()) {
    return false;
  }
  list.sort = static_cast<size_t>(chosen - view.sorts.begin());
  return true;
}

// Keys that change what the list shows.
bool ChangeList(const Key& key, const View& view, ListState& list) {
  if (key.Is('/')) {
    list.is_typing = true;
  } else if (key.kind == KeyKind::kEscape) {
    list.filter.clear();
  } else if (key.Is('r')) {
    list.is_reversed = !list.is_reversed;
  } else if (key.Is('a')) {
    list.is_folded = !list.is_folded;
    list.toggled.clear();
  } else if (key.Is('b') && !view.groupings.empty()) {
    ++list.grouping;
    list.toggled.clear();
  } else {
    return ChooseSort(key, view, list);
  }
  return true;
}

Request OnListKey(const Key& key, const View& view, size_t rows, State& state) {
  ListState& list = state.list;
  if (const auto index = Moved(key, list.index, view.rows.size(), rows); index) {
    list.index = *index;
    list.selected = view.rows.empty() ? "" : view.rows[*index].id;
    return {};
  }
  const Row* row = list.index < view.rows.size() ? &view.rows[list.index] : nullptr;
  if (row != nullptr && (key.kind == KeyKind::kEnter || key.Is(' '))) {
    Toggle(*row, list);
    return {};
  }
  if (row != nullptr && key.Is('e') && row->target.kind != TargetKind::kNone) {
    return {.kind = RequestKind::kExplain, .target = row->target};
  }
  ChangeList(key, view, list);
  return {};
}

}  // namespace

Request OnKey(const Key& key, const View& view, size_t rows, State& state) {
  if (state.page) {
    return OnPageKey(key, rows, state.page);
  }
  Settle(view, rows, state.list);
  if (state.list.is_typing) {
    OnTyping(key, state.list);
    return {};
  }
  if (key.Is('q')) {
    return {.kind = RequestKind::kQuit};
  }
  if (key.kind == KeyKind::kRedraw) {
    return {.kind = RequestKind::kRedraw};
  }
  if (key.Is('?')) {
    state.page = HelpPage(view);
    return {};
  }
  return OnListKey(key, view, rows, state);
}

namespace {

// The row with an id, else the innermost one around it: its id begins that of the other.
std::optional<size_t> FindRow(const View& view, const std::string& id) {
  std::optional<size_t> around;
  for (size_t i = 0; i < view.rows.size(); ++i) {
    const std::string& row = view.rows[i].id;
    if (row == id) {
      return i;
    }
    if (id.starts_with(row + "/") && (!around || row.size() > view.rows[*around].id.size())) {
      around = i;
    }
  }
  return around;
}

}  // namespace

void Settle(const View& view, size_t rows, ListState& list) {
  if (view.rows.empty()) {
    list.index = 0;
    list.offset = 0;
    return;
  }
  list.index = FindRow(view, list.selected).value_or(std::min(list.index, view.rows.size() - 1));
  list.selected = view.rows[list.index].id;
  const size_t shown = std::max<size_t>(rows, 1);
  const size_t last_offset = view.rows.size() > shown ? view.rows.size() - shown : 0;
  list.offset = std::min(list.offset, last_offset);
  if (list.index < list.offset) {
    list.offset = list.index;
  } else if (list.index >= list.offset + shown) {
    list.offset = list.index - shown + 1;
  }
}

}  // namespace kgpu::top
