// A parsed module for tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "testing/cuda/ptx.h"

namespace kgpu::ptx {

inline constexpr char kHead[] = ".version 6.0\n.target sm_30\n.address_size 64\n";

struct Parsed {
  std::unique_ptr<Module> module = std::make_unique<Module>();
  bool is_good = false;
  std::string error;
};

inline Parsed ParseText(std::string_view text) {
  Parsed parsed;
  char error[128] = {};
  parsed.is_good = Parse(text.data(), text.size(), parsed.module.get(), error, sizeof(error));
  parsed.error = error;
  return parsed;
}

// A module of one kernel `k` with a parameter `out`, registers of every type, and `body`.
inline Parsed ParseBody(std::string_view body) {
  std::string text = kHead;
  text +=
      ".visible .entry k(.param .u64 out) {\n"
      ".reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<9>;\n"
      "ld.param.u64 %rd0, [out];\n";
  text += body;
  text += "\n}\n";
  return ParseText(text);
}

}  // namespace kgpu::ptx
