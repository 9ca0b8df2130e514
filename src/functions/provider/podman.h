// Containers of functions, through podman's command line: every call starts a program, and is over
// when that has ended. Lives on the loop's thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/provider/container_command.h"
#include "src/functions/provider/programs.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// A container that `podman ps` lists.
struct FoundContainer {
  std::string name{};
  std::string function{};  // these four: its labels
  std::string replica{};
  std::string loan{};
  std::string hash{};
  bool is_running = false;
  int64_t pid = 0;  // of its first process; 0: it does not run
  bool operator==(const FoundContainer&) const = default;
};

// Errors: InvalidArgument (not what podman prints).
StatusOr<std::vector<FoundContainer>> ParseContainers(std::string_view json);

// The problem of a `podman run`, with a fix where the OCI runtime does not work on this host: the
// other one may, as crun does without cgroup version 1, and runc without newer kernels.
std::string WithRuntimeFix(std::string_view problem);

class Podman {
 public:
  using Done = std::function<void(Status)>;

  // `programs` must outlive this.
  Podman(Programs& programs, EngineSettings settings)
      : programs_(programs), settings_(std::move(settings)) {}

  const EngineSettings& settings() const { return settings_; }

  // Errors: FailedPrecondition (podman refuses: its last line).
  void Run(const ProviderFolders& folders, const ReplicaContainer& container, Done done);
  // OK if there is no such container any more.
  void Remove(const std::string& name, std::chrono::milliseconds grace, Done done);
  void List(std::function<void(StatusOr<std::vector<FoundContainer>>)> done);
  // Why a container ended, for people: "exit code 137, out of memory"; empty if nobody knows.
  void Explain(const std::string& name, std::function<void(std::string)> done);
  using ImageDone = std::function<void(StatusOr<std::string>)>;
  // Fetches the image unless it is here, and gives its id. Errors: NotFound (with the fix).
  void FetchImage(const std::string& image, const std::string& auth_file, const ImageDone& done);

 private:
  void FindImage(const std::string& image, ImageDone done);

  Programs& programs_;
  const EngineSettings settings_;
};

}  // namespace kgpu::functions
