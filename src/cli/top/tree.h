// Rows that contain others: what a filter leaves, and what is open. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/cli/top/view.h"
#include "src/platform/terminal/line.h"

namespace kgpu::top {

struct Item {
  std::string id{};
  std::string text{};  // in which a filter looks, beside the texts of the items around it
  std::string name{};  // safe to show
  terminal::Style style{};
  terminal::Line figures{};  // behind the name
  Target target{};
  bool opens = false;       // by itself
  bool is_message = false;  // its name is a sentence, and may be longer than a name
  std::vector<Item> children{};
};

// The rows of `items`: those that the filter matches with all below them, and those around them.
// Names take `name_width` columns, messages as many as they need.
std::vector<Row> RowsOf(const std::vector<Item>& items, const ListState& state, size_t name_width,
                        const terminal::Look& look);

}  // namespace kgpu::top
