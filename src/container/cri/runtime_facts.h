// The container runtime below the kubelet, and whether it provably reads CDI specs.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::cri {

struct RuntimeFacts {
  std::string name;     // "containerd", "cri-o", "docker"
  std::string version;  // "1.7.24"
  bool reads_cdi = false;
  std::vector<std::string> cdi_folders;  // those it reads; empty: unknown, so the usual two
  std::string default_runtime;           // "runc", "nvidia"; empty: unknown
  std::vector<std::string> runtimes;     // by name, as configured; empty: unknown
  // Whether the default runtime is NVIDIA's, which injects by NVIDIA_VISIBLE_DEVICES.
  bool is_nvidia_default = false;
  std::string evidence;  // for people: what proves or disproves that it reads CDI
  bool operator==(const RuntimeFacts&) const = default;
};

// From the responses to Version and a verbose Status: `config` is info["config"], JSON, or empty.
// Source: containerd's CRI configuration (enableCDI from 1.7, on by default from 2.0), CRI-O (CDI
// in the CRI from 1.23). Never fails: unknown values prove nothing.
RuntimeFacts JudgeRuntime(std::string_view name, std::string_view version, std::string_view config);

// Sockets of runtimes, below the host's root, most likely first.
inline constexpr std::array<std::string_view, 4> kUsualSockets = {
    "run/containerd/containerd.sock", "run/crio/crio.sock", "run/k3s/containerd/containerd.sock",
    "run/cri-dockerd.sock"};

// A call in progress; destroying it drops the response.
class Question {
 public:
  virtual ~Question() = default;
};

// Queries the runtime at `socket` (a path of this process) and calls `done` on the loop. Errors:
// NotFound, Unavailable, PermissionDenied (no such socket, nobody answers), DeadlineExceeded,
// Unimplemented (no CRI v1 there).
std::unique_ptr<Question> AskRuntime(EventLoop& loop, const std::string& socket,
                                     std::chrono::milliseconds deadline,
                                     std::function<void(StatusOr<RuntimeFacts>)> done);

}  // namespace kgpu::cri
