// Debian's and Ubuntu's packages, through apt-get and dpkg.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/host/packages/calls.h"
#include "src/host/packages/package_list.h"
#include "src/host/packages/package_manager.h"

namespace kgpu::packages {

// Installs no recommended packages, removes and autoremoves nothing, keeps configuration files that
// an admin changed, and starts no service below a root that is not ours. Source: apt-get(8),
// apt.conf(5), dpkg(1).
class AptManager final : public PackageManager {
 public:
  AptManager(const sys::Root& host, sys::ProgramRunner& runner);

  StatusOr<std::map<std::string, std::string>> Installed() override;
  StatusOr<std::set<std::string>> Unfinished() override;
  StatusOr<Foreseen> Foresee(const std::vector<std::string>& names) override;
  Status Install(const std::vector<std::string>& names) override;
  Status Remove(const std::vector<std::string>& names) override;
  StatusOr<std::vector<std::string>> GoWith(const std::vector<std::string>& names) override;
  StatusOr<std::vector<std::string>> ChangedConfigs(const std::vector<std::string>& names) override;
  Status TakeOff(const std::vector<std::string>& names) override;

 private:
  StatusOr<PackageList> List() const;
  // Finishes what a killed dpkg left. What it cannot finish, apt-get does with --fix-broken: its
  // result is ignored.
  Status Configure() const;
  bool WasInterrupted() const;
  StatusOr<sys::RunResult> AptGet(const std::vector<std::string>& arguments,
                                  std::chrono::seconds deadline) const;
  // The installed packages, after finishing what a killed run left.
  StatusOr<PackageList> Settled() const;
  StatusOr<Foreseen> Simulate(const PackageList& list,
                              const std::vector<std::string>& missing) const;
  // Removes `names`, with their configuration except for those in `configured`.
  Status PurgeBut(const std::vector<std::string>& names,
                  const std::set<std::string>& configured) const;
  // Removes `names` by apt-get, then what it leaves by dpkg; `verb` is "purge" or "remove".
  Status RemoveNow(const std::string& verb, const std::vector<std::string>& names) const;
  Status RemoveBy(const std::string& verb, const std::vector<std::string>& names) const;
  // Errors: FailedPrecondition (other packages would be removed, or installed, with them).
  Status CheckRemoval(const std::vector<std::string>& names, bool has_unfinished) const;

  Calls calls_;
  std::string apt_get_;
  std::string dpkg_;
  std::string dpkg_query_;
};

}  // namespace kgpu::packages
