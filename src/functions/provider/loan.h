// GPUs, or slices of their memory, that the agent has lent to a replica.
#pragma once

#include <string>
#include <vector>

namespace kgpu::functions {

// A file of the host that a container with memory slices gets: the limit, and what enforces it.
struct LoanMount {
  std::string source{};
  std::string target{};
  bool is_read_only = true;
  bool operator==(const LoanMount&) const = default;
};

struct Loan {
  std::string id{};                    // empty: no loan, since no GPU is needed
  std::string holder{};                // "fn/<function>/<replica>"
  std::vector<std::string> devices{};  // CDI names: "kgpu.dev/gpu=GPU-…"
  std::vector<std::string> uuids{};
  std::vector<LoanMount> mounts{};  // none for whole GPUs
  std::string problem{};            // why a GPU of it is unhealthy, for people
  bool operator==(const Loan&) const = default;
};

inline constexpr char kHolderPrefix[] = "fn/";

}  // namespace kgpu::functions
