// A screen full of lines from a view and what a person has chosen. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/cli/top/state.h"
#include "src/cli/top/view.h"
#include "src/platform/terminal/line.h"
#include "src/platform/terminal/painter.h"

namespace kgpu::top {

// Columns for a row: one of the screen marks the selected one.
size_t ColumnsFor(const terminal::Size& size);
// Rows of the list that fit, or lines of the page.
size_t RowsFor(const View& view, const State& state, const terminal::Size& size);

// At most `size.rows` lines of `size.columns` each. Settles the list first.
std::vector<terminal::Line> FrameOf(const View& view, State& state, const terminal::Size& size,
                                    const terminal::Look& look);

// All of the view, however long, for a pipe or a file: without marks of a selection, each line
// with its end.
std::string TextOf(const View& view, const terminal::Look& look);

}  // namespace kgpu::top
