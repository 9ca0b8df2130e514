// The page behind `?`.
#pragma once

#include "src/cli/top/state.h"
#include "src/cli/top/view.h"

namespace kgpu::top {

Page HelpPage(const View& view);

}  // namespace kgpu::top
