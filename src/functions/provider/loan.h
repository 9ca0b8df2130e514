// GPUs that the agent has lent to a replica.
#pragma once

#include <string>
#include <vector>

namespace kgpu::functions {

struct Loan {
  std::string id{};                    // empty: no loan, since no GPU is needed
  std::string holder{};                // "fn/<function>/<replica>"
  std::vector<std::string> devices{};  // CDI names: "kgpu.dev/gpu=GPU-…"
  std::vector<std::string> uuids{};
  std::string problem{};  // why a GPU of it is unhealthy, for people
  bool operator==(const Loan&) const = default;
};

inline constexpr char kHolderPrefix[] = "fn/";

}  // namespace kgpu::functions
