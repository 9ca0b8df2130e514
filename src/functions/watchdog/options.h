// The settings of kgpu-fnwatch: from its environment, and from flags, which win.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::watchdog {

struct Options {
  std::vector<std::string> command{};  // argv of a worker
  std::vector<std::string> listen{":8080"};
  std::vector<std::string> grpc{":50051"};
  size_t concurrency = 1;
  size_t processes = 1;
  std::optional<size_t> queue{};  // nothing: four times the concurrency
  std::chrono::milliseconds timeout{60'000};
  std::chrono::milliseconds start_timeout{300'000};
  std::chrono::milliseconds grace{10'000};
  uint64_t max_body = uint64_t{16} << 20;
  uint64_t max_output = uint64_t{64} << 20;
  bool wants_help = false;
  bool wants_version = false;

  size_t queue_size() const { return queue.value_or(4 * concurrency); }
};

// The value of an environment variable; nothing if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// `arguments` without the program's name: --listen=:8080 or --listen :8080; what follows -- is the
// command. Errors: InvalidArgument naming the flag or variable, its value and what it may be.
StatusOr<Options> ReadOptions(std::span<const std::string> arguments,
                              const Environment& environment);

// The table of variables and flags, for --help.
std::string OptionsHelp();

}  // namespace kgpu::watchdog
