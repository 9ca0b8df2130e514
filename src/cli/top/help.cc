#include "src/cli/top/help.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace kgpu::top {

Page HelpPage(const View& view) {
  std::vector<std::string> lines = {
      "up, down, j, k    select a row",
      "PgUp, PgDn        a screen up or down",
      "Home, End, g, G   the first or last row",
      "Enter, space      open or close the row",
      "a                 open or close all rows",
      "e                 explain: why a pod has its GPUs; health and history of a GPU",
      "/                 show rows with a text: a pod, namespace, model, \"unhealthy\"",
      "Esc               clear the filter; leave a page",
  };
  if (!view.groupings.empty()) {
    lines.push_back(fmt::format("b                 group by {}", view.groupings));
  }
  lines.emplace_back("s, S              the next or previous order");
  for (const SortKey& sort : view.sorts) {
    lines.push_back(fmt::format("{}                 sort by {}", sort.key, sort.name));
  }
  for (const char* line : {"r                 reverse the order", "Ctrl-L            draw again",
                           "?                 this help", "q                 quit"}) {
    lines.emplace_back(line);
  }
  return {.title = "kgpu top: keys", .lines = std::move(lines)};
}

}  // namespace kgpu::top
