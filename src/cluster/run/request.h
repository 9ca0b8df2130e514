// What somebody who just wants a GPU asks for: `kgpu run`.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::run {

inline constexpr std::string_view kManager = "kgpu-run";

enum class RunKind : uint8_t { kJob, kShell, kJupyter };
// "job", "shell", "jupyter".
std::string_view ToString(RunKind kind);

// A claim of the namespace, and where containers see it.
struct Mount {
  std::string claim{};
  std::string path{};
  bool operator==(const Mount&) const = default;
};

struct RunRequest {
  RunKind kind = RunKind::kJob;
  std::string name{};
  std::string space = "default";
  std::string image{};
  std::vector<std::string> command{};  // arguments of the image's entrypoint; empty: its own
  int64_t gpus = 1;
  std::vector<std::string> models{};  // any of them, the first is preferred; empty: any model
  int64_t memory_mib = 0;             // of each GPU, at least
  std::string resource{};             // empty: chosen from what the nodes offer
  std::string claim{};                // a ResourceClaim that has the GPUs; empty: none
  std::string cuda{};                 // that the image needs; empty: found out
  std::map<std::string, std::string> environment{};
  std::vector<Mount> mounts{};
  bool has_image_user = false;  // the user that the image names, maybe root
  // Of Jupyter.
  bool has_own_claim = false;  // makes a claim of its own
  std::string storage = "10Gi";
  int64_t node_port = 30061;  // 0: the cluster chooses
  std::string token{};
};

// Errors: InvalidArgument naming the flag, the value and the rule.
Status CheckRequest(const RunRequest& request);

// "40Gi", "80G", "40960Mi": in MiB, rounded up. Errors: InvalidArgument.
StatusOr<int64_t> ParseGpuMemory(std::string_view flag, std::string_view text);
// "NAME=value". Errors: InvalidArgument.
StatusOr<std::pair<std::string, std::string>> ParseVariable(std::string_view text);
// "CLAIM:/path", or "CLAIM" for `path`. Errors: InvalidArgument.
StatusOr<Mount> ParseMount(std::string_view text, std::string_view path);

}  // namespace kgpu::run
