// A Debian with a few packages, changed by the programs that AptManager runs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/platform/sys/run.h"

namespace kgpu::packages {

class FakeDebian final : public sys::ProgramRunner {
 public:
  struct Offer {
    std::string version;
    std::vector<std::string> depends;
  };
  struct Entry {
    char state = 'i';  // the second letter of dpkg-query's abbreviation
    std::string version;
    bool operator==(const Entry&) const = default;
  };

  std::map<std::string, Offer> archive;
  std::map<std::string, Entry> installed;
  std::set<std::string> broken_scripts;    // packages that fail to configure
  std::set<std::string> stubborn;          // packages that apt-get cannot remove
  std::map<std::string, Entry> meanwhile;  // what another installs before our next installation
  bool is_locked = false;
  bool is_killed = false;  // the next change ends at its deadline, packages unpacked
  std::vector<std::vector<std::string>> argvs;
  std::vector<sys::RunRequest> requests;

  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override;
  // The calls that change something.
  std::vector<std::vector<std::string>> Changes() const;

 private:
  StatusOr<sys::RunResult> AptGet(const std::vector<std::string>& argv);
  StatusOr<sys::RunResult> Install(const std::vector<std::string>& names);
  sys::RunResult SimulateInstall(const std::vector<std::string>& names);
  sys::RunResult Remove(const std::vector<std::string>& names, bool is_purge, bool is_simulated);
  void TakeOff(const std::string& name, bool is_purge);
  sys::RunResult Dpkg(const std::vector<std::string>& argv);
  sys::RunResult Configure();
  bool Unpack(const std::string& name);
};

}  // namespace kgpu::packages
