// Something that is watched: asked again and again, and shown as a list.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "src/cli/top/state.h"
#include "src/cli/top/view.h"
#include "src/platform/terminal/line.h"

namespace kgpu::top {

// Thread: the loop's.
class Source {
 public:
  virtual ~Source() = default;

  // Asks beside the loop, and calls `done` once, not from here: with an answer, or with the reason
  // in the next view. Destroying the source cancels it.
  virtual void Ask(std::function<void()> done) = 0;
  // How long to wait after an answer.
  virtual std::chrono::milliseconds every() const = 0;
  virtual View Show(const ListState& state, size_t columns, const terminal::Look& look) const = 0;

  // The page that explains a row, as far as it is known here.
  virtual Page PageOf(const Target& target, const terminal::Look& look) const = 0;
  // The command of kgpu whose output is the rest of that page.
  virtual std::vector<std::string> CommandFor(const Target& target) const = 0;
};

}  // namespace kgpu::top
