// What the container runtime below the kubelet is, and whether it proves that it reads CDI specs.
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
  std::vector<std::string> cdi_folders;  // that it reads; empty: unknown, the usual two
  std::string default_runtime;           // "runc", "nvidia"; empty: unknown
  std::vector<std::string> runtimes;     // by name, as configured; empty: unknown
  // Whether the default runtime is one of NVIDIA's, which injects by NVIDIA_VISIBLE_DEVICES.
  bool is_nvidia_default = false;
  std::string evidence;  // for people: what shows whether it reads CDI
  bool operator==(const RuntimeFacts&) const = default;
};

// From the answers of Version and of a verbose Status: `config` is its info["config"], JSON, or
// empty. Source: containerd's CRI configuration (enableCDI from 1.7, on by default from 2.0),
// CRI-O (CDI in the CRI from 1.23). Never fails: what is unknown proves nothing.
RuntimeFacts JudgeRuntime(std::string_view name, std::string_view version, std::string_view config);

// Sockets where runtimes listen, below the host's root, most likely first.
inline constexpr std::array<std::string_view, 4> kUsualSockets = {
    "run/containerd/containerd.sock", "run/crio/crio.sock", "run/k3s/containerd/containerd.sock",
    "run/cri-dockerd.sock"};

// A question in progress; destroying it drops the answer.
class Question {
 public:
  virtual ~Question() = default;
};

// Asks the runtime at `socket` (a path of this process) and calls `done` on the loop. Errors:
// NotFound, Unavailable, PermissionDenied (no such socket, nobody answers), DeadlineExceeded,
// Unimplemented (no CRI v1 there).
std::unique_ptr<Question> AskRuntime(EventLoop& loop, const std::string& socket,
                                     std::chrono::milliseconds deadline,
                                     std::function<void(StatusOr<RuntimeFacts>)> done);

}  // namespace kgpu::cri
