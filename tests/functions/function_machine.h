// A simulated GPU host on which functions run for real: the built agent and function service,
// podman with storage of its own, runc, and an image with the built watchdog and a C++ handler.
#pragma once

#include <boost/json/array.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/e2e/sim_host.h"
#include "tests/engines/box.h"

namespace kgpu::engines {

class FunctionMachine {
 public:
  // `programs` of this build, and a C library, are in the functions' image.
  explicit FunctionMachine(const std::string& profile,
                           const std::vector<std::string>& programs = {});

  // The configuration of the node, from `apiVersion` and `kind` on: before the first Up.
  void Configure(const std::string& pools);

  // `kgpu fn up`; also after a daemon was killed. `run_flags`: of every `podman run`.
  void Up(const std::vector<std::string>& run_flags = {});
  // `kgpu fn WORDS…`; `input` is its standard input.
  e2e::Result Fn(std::vector<std::string> words, const std::string& input = "");
  // A config.yaml with a function that has these lines besides its name and image. Gives the file's
  // path.
  std::string WriteConfig(const std::string& lines, const std::string& network = "none",
                          const std::string& name = "hello");

  // A secret that only root may read, as a whole in the place of the one before it.
  void WriteSecret(const std::string& name, const std::string& bytes);

  // Kills with SIGKILL: the first process of some container, or the daemon behind a socket.
  void KillContainer();
  void KillAgent() { KillDaemon("agent"); }
  void KillService() { KillDaemon("service"); }

  e2e::Result Podman(std::vector<std::string> words) const;
  // Of the functions' containers that run: the id of the loan in each one's labels.
  std::vector<std::string> RunningLoans() const;
  // The agent's ledger: ids, and the GPUs or slots of each.
  std::map<std::string, std::vector<std::string>> LedgerLoans() const;
  // The slots of its slices, by holder: "fn/hello/4f1c" → "GPU-…::0".
  std::map<std::string, std::string> LedgerSlots() const;
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
  // "agent" or "service"; 0: none answers.
  int64_t ProcessOf(const std::string& what);
  void KillDaemon(const std::string& what);
  std::vector<std::string> PodmanFlags() const;

  e2e::SimHost host_;
  EngineBox box_;
};

}  // namespace kgpu::engines
