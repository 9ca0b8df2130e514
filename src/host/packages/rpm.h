// Packages of the RPM families, through dnf, yum or zypper.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/host/packages/calls.h"
#include "src/host/packages/package_list.h"
#include "src/host/packages/package_manager.h"
#include "src/host/packages/rpm_front.h"

namespace kgpu::packages {

// Weak dependencies follow the host's configuration; packages that nothing needs any more stay. rpm
// itself decides which packages need those to be removed: its output is the same on all hosts, and
// it has the last word. Source: dnf(8), yum(8), zypper(8), rpm(8).
class RpmManager final : public PackageManager {
 public:
  // `program` is the front end's full path.
  RpmManager(const sys::Root& host, sys::ProgramRunner& runner, Front front, std::string program);

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
  // The front end's command line for an install verb, or for its dry run.
  std::vector<std::string> ArgumentsFor(const std::vector<std::string>& verb,
                                        const std::vector<std::string>& missing) const;
  StatusOr<Foreseen> Try(const std::vector<std::string>& missing) const;
  Status RemoveNow(const std::vector<std::string>& keys, const PackageList& list) const;
  // Errors: FailedPrecondition (other packages would be removed, or installed, with them).
  Status CheckRemoval(const std::vector<std::string>& keys, const PackageList& list) const;
  // What needs `keys` according to rpm, as rpm names it; empty: nothing.
  StatusOr<std::vector<std::string>> NeederOf(const std::vector<std::string>& keys) const;
  // What else the front end would change if it removed `keys`: it has its own rules, such as
  // protected packages and packages that belong together.
  StatusOr<std::vector<std::string>> OthersOfTrial(const std::vector<std::string>& keys,
                                                   const PackageList& list) const;

  Calls calls_;
  Front front_;
  std::string program_;
  std::string rpm_;
};

}  // namespace kgpu::packages
