// The command lines of podman, as values.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/provider/loan.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

inline constexpr char kFunctionLabel[] = "kgpu.dev/function";
inline constexpr char kReplicaLabel[] = "kgpu.dev/replica";
inline constexpr char kLoanLabel[] = "kgpu.dev/loan";
inline constexpr char kHashLabel[] = "kgpu.dev/config-hash";

// How containers are started on this host.
struct EngineSettings {
  std::string podman = "/usr/bin/podman";
  std::vector<std::string> flags{};      // before podman's command: "--root", …
  std::vector<std::string> run_flags{};  // of `podman run`: "--cgroup-parent=…"
  // Limits of the container's processes that podman itself may set; 0: podman's default.
  uint64_t max_open_files = 0;
  uint64_t max_processes = 0;
  bool operator==(const EngineSettings&) const = default;
};

// Folders of this host. All absolute.
struct ProviderFolders {
  std::string run;      // "/run/kgpu/functions": a folder per replica, with the watchdog's socket
  std::string secrets;  // "/var/lib/kgpu/functions/secrets"
  std::string logs;     // "/var/lib/kgpu/functions/logs"
  std::string mesh{};   // "/run/kgpu/functions-mesh"; empty: functions cannot call others
  std::string queue{};  // "/var/lib/kgpu/functions/queue": asynchronous calls
};

// One container to start.
struct ReplicaContainer {
  const Function& function;
  std::string image;    // its id
  std::string replica;  // its id
  Loan loan;
  std::string hash;  // of the deployment: a container with another one is outdated
};

// "kgpu-fn-<function>-<replica>".
std::string ContainerName(std::string_view function, std::string_view replica);
// The folder that the container sees as /run/kgpu-fn; the watchdog's socket; the number of its
// first process; its log.
std::string ReplicaFolder(const ProviderFolders& folders, std::string_view replica);
std::string WatchdogSocket(const ProviderFolders& folders, std::string_view replica);
std::string PidFile(const ProviderFolders& folders, std::string_view replica);
std::string LogFile(const ProviderFolders& folders, std::string_view function,
                    std::string_view replica);

// The folder that containers see as /run/kgpu-mesh, and the socket in it, on which the service
// takes calls from functions.
std::string MeshFolder(const ProviderFolders& folders);
std::string MeshSocket(std::string_view folder);

// `podman run --detach …`, with everything that `function` requests. Its secrets are in the
// replica's SecretFolder: see CopySecrets.
std::vector<std::string> RunCommand(const EngineSettings& engine, const ProviderFolders& folders,
                                    const ReplicaContainer& container);
// `podman run --rm …` for one call, in the foreground: without the labels by which the service
// finds its containers.
std::vector<std::string> TrialCommand(const EngineSettings& engine, const ProviderFolders& folders,
                                      const ReplicaContainer& container);
// Ends the container within `grace` and removes it; succeeds if there is none.
std::vector<std::string> RemoveCommand(const EngineSettings& engine, const std::string& name,
                                       std::chrono::milliseconds grace);
// All containers of functions, as JSON.
std::vector<std::string> ListCommand(const EngineSettings& engine);
// Prints "<exit code> <whether it was out of memory>".
std::vector<std::string> InspectCommand(const EngineSettings& engine, const std::string& name);
// Prints the id of an image.
std::vector<std::string> ImageIdCommand(const EngineSettings& engine, const std::string& image);
// Fetches an image of a registry; `auth_file` may be empty.
std::vector<std::string> PullCommand(const EngineSettings& engine, const std::string& image,
                                     const std::string& auth_file);
// False for images that exist on this host only: "localhost/…".
bool IsInRegistry(std::string_view image);

}  // namespace kgpu::functions
