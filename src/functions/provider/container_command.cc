#include "src/functions/provider/container_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/functions/provider/secret_files.h"
#include "src/platform/base/duration.h"
#include "src/platform/doc/doc.h"

namespace kgpu::functions {
namespace {

using Argv = std::vector<std::string>;

constexpr char kWatchdogFolder[] = "/run/kgpu-fn";
constexpr char kMeshFolder[] = "/run/kgpu-mesh";
constexpr char kSecretFolder[] = "/etc/openfx";
constexpr char kLogSize[] = "10mb";

Argv Command(const EngineSettings& engine, const Argv& words) {
  Argv argv = {engine.podman};
  argv.insert(argv.end(), engine.flags.begin(), engine.flags.end());
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

void Add(Argv& words, const Argv& more) {
  words.insert(words.end(), more.begin(), more.end());
}

void AddLimits(Argv& words, const EngineSettings& engine, const Function& function) {
  words.push_back(fmt::format("--pids-limit={}", function.pids));
  if (const int64_t memory = function.limits.memory.value_or(0); memory > 0) {
    words.push_back(fmt::format("--memory={}b", memory));
    // The same for memory and swap together: the limit is one of memory, not of how much is
    // swapped.
    words.push_back(fmt::format("--memory-swap={}b", memory));
  }
  if (const int64_t memory = function.requests.memory.value_or(0); memory > 0) {
    words.push_back(fmt::format("--memory-reservation={}b", memory));
  }
  if (const int64_t millis = function.limits.cpu_millis.value_or(0); millis > 0) {
    words.push_back(fmt::format("--cpus={}.{:03}", millis / 1000, millis % 1000));
  }
  if (const int64_t millis = function.requests.cpu_millis.value_or(0); millis > 0) {
    // As a kubelet translates it; 2 is the least that the kernel accepts.
    words.push_back(fmt::format("--cpu-shares={}", std::max<int64_t>(millis * 1024 / 1000, 2)));
  }
  if (engine.max_open_files > 0) {
    words.push_back(fmt::format("--ulimit=nofile={0}:{0}", engine.max_open_files));
  }
  if (engine.max_processes > 0) {
    words.push_back(fmt::format("--ulimit=nproc={0}:{0}", engine.max_processes));
  }
}

void AddConfinement(Argv& words, const Function& function) {
  Add(words, {"--cap-drop=all", "--security-opt=no-new-privileges"});
  if (function.has_read_only_root) {
    // Its /tmp stays writable, in memory.
    Add(words, {"--read-only", "--read-only-tmpfs=true"});
  }
  if (function.network == NetworkAccess::kNone) {
    words.emplace_back("--network=none");
  }
}

// A function without a network reaches nobody, other functions included.
bool CanCallOthers(const ProviderFolders& folders, const Function& function) {
  return !folders.mesh.empty() && function.network != NetworkAccess::kNone;
}

void AddEnvironment(Argv& words, const ProviderFolders& folders, const Function& function) {
  for (const auto& [name, value] : function.environment) {
    words.push_back(fmt::format("--env={}={}", name, value));
  }
  const Calls& calls = function.calls;
  // After the author's: they are the provider's to set.
  Add(words,
      {fmt::format("--env=KGPU_FN_LISTEN={}/fn.sock", kWatchdogFolder), "--env=KGPU_FN_GRPC=off",
       fmt::format("--env=KGPU_FN_CONCURRENCY={}", calls.concurrency),
       fmt::format("--env=KGPU_FN_PROCESSES={}", calls.processes),
       fmt::format("--env=KGPU_FN_TIMEOUT={}", FormatDuration(calls.timeout)),
       fmt::format("--env=KGPU_FN_NAME={}", function.name)});
  if (calls.max_input) {
    words.push_back(fmt::format("--env=KGPU_FN_MAX_BODY={}", *calls.max_input));
  }
  if (calls.max_output) {
    words.push_back(fmt::format("--env=KGPU_FN_MAX_OUTPUT={}", *calls.max_output));
  }
  if (CanCallOthers(folders, function)) {
    words.push_back("--env=KGPU_FN_MESH=" + MeshSocket(kMeshFolder));
  }
}

void AddMounts(Argv& words, const ProviderFolders& folders, const ReplicaContainer& container) {
  words.push_back(fmt::format("--mount=type=bind,source={},target={}",
                              ReplicaFolder(folders, container.replica), kWatchdogFolder));
  if (CanCallOthers(folders, container.function)) {
    words.push_back(fmt::format("--mount=type=bind,readonly,source={},target={}",
                                MeshFolder(folders), kMeshFolder));
  }
  for (const LoanMount& mount : container.loan.mounts) {
    words.push_back(fmt::format("--mount=type=bind,{}source={},target={}",
                                mount.is_read_only ? "readonly," : "", mount.source, mount.target));
  }
  if (!container.function.secrets.empty()) {
    words.push_back(fmt::format("--mount=type=bind,readonly,source={},target={}",
                                SecretFolder(folders, container.replica), kSecretFolder));
  }
}

// The command with all that containers of `container`'s function get.
Argv Finished(Argv words, const EngineSettings& engine, const ProviderFolders& folders,
              const ReplicaContainer& container) {
  AddConfinement(words, container.function);
  AddLimits(words, engine, container.function);
  AddEnvironment(words, folders, container.function);
  AddMounts(words, folders, container);
  for (const std::string& device : container.loan.devices) {
    words.push_back("--device=" + device);
  }
  Add(words, engine.run_flags);
  words.push_back(container.image);
  return Command(engine, words);
}

}  // namespace

std::string ContainerName(std::string_view function, std::string_view replica) {
  return fmt::format("kgpu-fn-{}-{}", function, replica);
}

std::string ReplicaFolder(const ProviderFolders& folders, std::string_view replica) {
  return fmt::format("{}/{}/socket", folders.run, replica);
}

std::string WatchdogSocket(const ProviderFolders& folders, std::string_view replica) {
  return fmt::format("{}/fn.sock", ReplicaFolder(folders, replica));
}

std::string MeshFolder(const ProviderFolders& folders) {
  return folders.mesh + "/socket";
}

std::string MeshSocket(std::string_view folder) {
  return fmt::format("{}/fn.sock", folder);
}

// Beside the folder that the container can write to.
std::string PidFile(const ProviderFolders& folders, std::string_view replica) {
  return fmt::format("{}/{}/pid", folders.run, replica);
}

std::string LogFile(const ProviderFolders& folders, std::string_view function,
                    std::string_view replica) {
  return fmt::format("{}/{}/{}.log", folders.logs, function, replica);
}

std::vector<std::string> RunCommand(const EngineSettings& engine, const ProviderFolders& folders,
                                    const ReplicaContainer& container) {
  const Function& function = container.function;
  Argv words = {"run", "--detach", "--pull=never",
                "--name=" + ContainerName(function.name, container.replica),
                "--hostname=" + function.name};
  for (const auto& [key, value] : function.labels) {
    words.push_back(fmt::format("--label={}={}", key, value));
  }
  // After the author's: the last one of a name counts.
  Add(words, {fmt::format("--label={}={}", kFunctionLabel, function.name),
              fmt::format("--label={}={}", kReplicaLabel, container.replica),
              fmt::format("--label={}={}", kLoanLabel, container.loan.id),
              fmt::format("--label={}={}", kHashLabel, container.hash), "--restart=no",
              "--log-driver=k8s-file",
              fmt::format("--log-opt=path={}", LogFile(folders, function.name, container.replica)),
              fmt::format("--log-opt=max-size={}", kLogSize),
              "--pidfile=" + PidFile(folders, container.replica)});
  return Finished(std::move(words), engine, folders, container);
}

std::vector<std::string> TrialCommand(const EngineSettings& engine, const ProviderFolders& folders,
                                      const ReplicaContainer& container) {
  const Function& function = container.function;
  return Finished(
      {"run", "--rm", "--pull=never", "--name=" + ContainerName(function.name, container.replica),
       "--hostname=" + function.name, "--log-driver=none"},
      engine, folders, container);
}

std::vector<std::string> RemoveCommand(const EngineSettings& engine, const std::string& name,
                                       std::chrono::milliseconds grace) {
  const int64_t seconds = (grace.count() + 999) / 1000;
  return Command(engine, {"rm", "--force", "--ignore", fmt::format("--time={}", seconds), name});
}

std::vector<std::string> ListCommand(const EngineSettings& engine) {
  return Command(
      engine, {"ps", "--all", fmt::format("--filter=label={}", kFunctionLabel), "--format=json"});
}

std::vector<std::string> InspectCommand(const EngineSettings& engine, const std::string& name) {
  return Command(
      engine, {"container", "inspect", "--format={{.State.ExitCode}} {{.State.OOMKilled}}", name});
}

std::vector<std::string> ImageIdCommand(const EngineSettings& engine, const std::string& image) {
  return Command(engine, {"image", "inspect", "--format={{.Id}}", image});
}

std::vector<std::string> PullCommand(const EngineSettings& engine, const std::string& image,
                                     const std::string& auth_file) {
  Argv words = {"pull", "--quiet"};
  if (!auth_file.empty()) {
    words.push_back("--authfile=" + auth_file);
  }
  words.push_back(image);
  return Command(engine, words);
}

bool IsInRegistry(std::string_view image) {
  return !image.starts_with("localhost/");
}

}  // namespace kgpu::functions
