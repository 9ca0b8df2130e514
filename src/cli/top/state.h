// The list or page on the screen, the choices of a person, and how keys change them. Pure: the
// caller draws, asks and starts programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/top/view.h"
#include "src/platform/terminal/keys.h"

namespace kgpu::top {

// A text in place of the list: an explanation, or the help.
struct Page {
  std::string title{};
  std::vector<std::string> lines{};   // safe to show
  std::vector<std::string> folded{};  // the same in the width of the screen: FrameOf makes them
  size_t offset = 0;
  bool is_complete = true;  // false: more lines follow
};

struct State {
  ListState list{};
  std::optional<Page> page{};
};

enum class RequestKind : uint8_t { kNone, kQuit, kExplain, kRedraw };

// A key's request to the caller.
struct Request {
  RequestKind kind = RequestKind::kNone;
  Target target{};  // of kExplain
};

// `view` is what is shown, of which `rows` fit on the screen.
Request OnKey(const terminal::Key& key, const View& view, size_t rows, State& state);

// Finds the selected row in a view: the one with its id, else the one around it, else the nearest
// at its place; and scrolls so that it is among the `rows` on the screen.
void Settle(const View& view, size_t rows, ListState& list);

}  // namespace kgpu::top
