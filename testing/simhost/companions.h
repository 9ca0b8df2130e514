// Devices of a simulated host that GPU programs use besides GPUs, as in `create --with`.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::simhost {

struct Companions {
  unsigned imex_channels = 0;
  bool has_gds = false;
  bool has_gdrcopy = false;
  unsigned rdma_cards = 0;
  bool operator==(const Companions&) const = default;
};

// "gds,gdrcopy,mofed=2,imex=4": words in any order, one of each without a number; "none" or "":
// nothing. Errors: InvalidArgument, naming the word and the known ones.
StatusOr<Companions> ParseCompanions(std::string_view text);
// The same text back; "none" for nothing.
std::string ToString(const Companions& companions);

}  // namespace kgpu::simhost
