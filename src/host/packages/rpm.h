// Packages of the RPM families, by dnf, yum or zypper.
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

// Weak dependencies are taken as the host is configured; nothing is removed because nothing needs
// it any more. rpm itself is asked who needs what is to be removed: it prints that the same way
// everywhere, and has the last word. Source: dnf(8), yum(8), zypper(8), rpm(8).
class RpmManager final : public PackageManager {
 public:
  // `program` is the front's full path.
  RpmManager(const sys::Root& host, sys::ProgramRunner& runner, Front front, std::string program);

  StatusOr<std::map<std::string, std::string>> Installed() override;
  StatusOr<std::set<std::string>> Unfinished() override;
  StatusOr<Foreseen> Foresee(const std::vector<std::string>& names) override;
  Status Install(const std::vector<std::string>& names) override;
  Status Remove(const std::vector<std::string>& names) override;
  StatusOr<std::vector<std::string>> GoWith(const std::vector<std::string>& names) override;
  StatusOr<std::vector<std::string>> ChangedConfigs(const std::vector<std::string>& names) override;
  Status TakeOff(const std::vector<std::string>& names) override;
  Status Keep(const std::vector<std::string>& names, const std::string& folder) override;
  Status PutBack(const std::string& folder) override;

 private:
  StatusOr<PackageList> List() const;
  // The front's call of an install verb, or of its trial.
  std::vector<std::string> ArgumentsFor(const std::vector<std::string>& verb,
                                        const std::vector<std::string>& missing) const;
  StatusOr<Foreseen> Try(const std::vector<std::string>& missing) const;
  Status RemoveNow(const std::vector<std::string>& keys, const PackageList& list) const;
  // Errors: FailedPrecondition (others would go, or come, with them).
  Status CheckRemoval(const std::vector<std::string>& keys, const PackageList& list) const;
  // What rpm says needs `keys`, as it names it; empty: nothing does.
  StatusOr<std::vector<std::string>> NeederOf(const std::vector<std::string>& keys) const;
  // What the front would change besides when it removed `keys`: it has rules of its own, as what it
  // protects and what it counts as belonging together.
  StatusOr<std::vector<std::string>> OthersOfTrial(const std::vector<std::string>& keys,
                                                   const PackageList& list) const;

  Calls calls_;
  Front front_;
  std::string program_;
  std::string rpm_;
};

}  // namespace kgpu::packages
