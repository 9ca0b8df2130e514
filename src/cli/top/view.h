// The contents of a list: its header, its columns, and rows that can be selected. A view of
// something makes one from data and state; state.h and frame.h know no more than this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/terminal/line.h"

namespace kgpu::top {

enum class TargetKind : uint8_t { kNone, kGpu, kPod };

// The subject that a row can explain.
struct Target {
  TargetKind kind = TargetKind::kNone;
  std::string name{};  // the UUID of a GPU, "namespace/name" of a pod
  bool operator==(const Target&) const = default;
};

struct Row {
  std::string id{};  // stays the same from one answer to the next
  terminal::Line line{};
  Target target{};
  bool is_expandable = false;
};

// An order of rows, and the key that chooses it.
struct SortKey {
  char key = 0;
  std::string_view name{};
};

struct View {
  std::vector<terminal::Line> header{};
  terminal::Line columns{};  // titles
  std::vector<Row> rows{};
  std::span<const SortKey> sorts{};
  std::string_view groupings{};  // what `b` changes; empty: nothing
  std::string nothing{};         // instead of rows
};

// A person's choices about a list.
struct ListState {
  std::string selected{};  // id of a row; empty: the first
  size_t index = 0;        // of that row, when it was shown last
  size_t offset = 0;       // of the first row on the screen
  std::string filter{};
  bool is_typing = false;  // the filter
  size_t sort = 0;         // of View::sorts
  bool is_reversed = false;
  bool is_folded = false;           // what is open by itself is closed
  std::set<std::string> toggled{};  // ids of rows that are not as they are by themselves
  size_t grouping = 0;

  bool IsOpen(const std::string& id, bool is_open_by_itself) const {
    return (is_open_by_itself && !is_folded) != toggled.contains(id);
  }
};

// Whether each word of `filter` occurs in `text`, whatever the case of ASCII letters.
bool Matches(std::string_view filter, std::string_view text);

// "▾ " for an open row, "▸ " for a closed one, blanks for one without children.
std::string FoldMark(bool is_expandable, bool is_open, const terminal::Look& look);

}  // namespace kgpu::top
