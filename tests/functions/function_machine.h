// A simulated GPU host on which functions run for real: the built agent and function service,
// podman with storage of its own, runc, and an image with the built watchdog and a C++ handler.
#pragma once

#include <sys/types.h>

#include <boost/json/array.hpp>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/e2e/sim_host.h"
#include "tests/engines/box.h"

namespace kgpu::engines {

class FunctionMachine {
 public:
  // `programs` of this build, and a C library, are in the functions' image. `state_mib`: the size
  // of a disk of the daemons' state alone, which needs a mount namespace of the test; 0: it has
  // none.
  explicit FunctionMachine(const std::string& profile,
                           const std::vector<std::string>& programs = {}, int state_mib = 0);
  ~FunctionMachine();
  FunctionMachine(const FunctionMachine&) = delete;
  FunctionMachine& operator=(const FunctionMachine&) = delete;

  // The configuration of the node, from `apiVersion` and `kind` on. The first one comes before Up.
  void Configure(const std::string& pools);

  // `kgpu fn up`; also after a daemon was killed. `run_flags`: of every `podman run`.
  void Up(const std::vector<std::string>& run_flags = {});
  static constexpr std::chrono::seconds kLimit{180};
  // `kgpu fn WORDS…`; `input` is its standard input. It is killed after `limit`.
  e2e::Result Fn(std::vector<std::string> words, const std::string& input = "",
                 std::chrono::seconds limit = kLimit);
  // A config.yaml with a function that has these lines besides its name and image. Gives the file's
  // path.
  std::string WriteConfig(const std::string& lines, const std::string& network = "none",
                          const std::string& name = "hello");

  // A secret that only root may read, as a whole in the place of the one before it.
  void WriteSecret(const std::string& name, const std::string& bytes);

  // Kills with SIGKILL: a daemon, or the process of that name which `which` counts to, such as
  // "kgpu-fnwatch", the first of each container. False: there is none.
  void KillAgent() { KillDaemon(agent_socket()); }
  void KillService() { KillDaemon(service_socket()); }
  bool KillProcess(std::string_view name, size_t which = 0) const;
  // Whether podman finds its low-level runtime.
  void SetRuntime(bool is_there) const;
  // Of the state; nothing if it has no disk of its own.
  void FillDisk(bool is_full) const;
  // `kgpu-sim VERB <host> arguments…`; false if it refuses.
  bool Simulate(const std::string& verb, std::vector<std::string> arguments = {}) const;

  std::string agent_socket() const { return host_.path() + "/run/kgpu/agent.sock"; }
  std::string service_socket() const { return host_.path() + "/run/kgpu/functions.sock"; }
  // The process that listens on the socket; 0: none.
  static pid_t ListenerOf(const std::string& socket);

  e2e::Result Podman(std::vector<std::string> words) const;
  // Of the functions' containers that run: the id of the loan in each one's labels.
  std::vector<std::string> RunningLoans() const;
  // The agent's ledger: ids, and the GPUs or slots of each.
  std::map<std::string, std::vector<std::string>> LedgerLoans() const;
  // The slots of its slices, by holder: "fn/hello/4f1c" → "GPU-…::0".
  std::map<std::string, std::string> LedgerSlots() const;
  // The ledger and the logs of both daemons, for a failure.
  std::string StateTexts() const;
  // Folders of replicas that exist.
  std::vector<std::string> ReplicaFolders() const;
  // Until `holds`, by asking again and again: the daemons tell nobody when they are done.
  template <typename Condition>
  bool Until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
    }
    return true;
  }

 private:
  void MakeImage(const std::vector<std::string>& programs);
  boost::json::array LedgerEntries() const;  // empty: no ledger yet
  void KillDaemon(const std::string& socket);
  std::vector<std::string> PodmanFlags() const;
  std::string StateFolder() const { return host_.path() + "/var/lib/kgpu"; }

  e2e::SimHost host_;
  const bool has_disk_;
  EngineBox box_;
};

}  // namespace kgpu::engines
