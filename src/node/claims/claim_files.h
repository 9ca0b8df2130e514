// The files of prepared claims: one CDI spec each, and the record of all of them. Blocks on the
// disk; thread: any, one at a time.
#pragma once

#include <string>
#include <string_view>

#include "src/container/cdi/spec.h"
#include "src/node/dra/checkpoint.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/state_file.h"

namespace kgpu::claims {

inline constexpr std::string_view kRecordFile = "claims.json";  // in the state folder

struct ClaimFilesOptions {
  std::string state_dir = "/var/lib/kgpu";  // of this process
  std::string cdi_folder = "/var/run/cdi";  // below the host's root
  std::string boot_id{};                    // empty: not known
};

// The claims that were found at the start.
struct LoadedClaims {
  dra::Checkpoint record{};
  std::string problem{};  // for people: why claims of before are not known
};

class ClaimFiles {
 public:
  // `host` must outlive it.
  ClaimFiles(const sys::Root& host, ClaimFilesOptions options);

  // Reads the record. Claims of an earlier boot are left out, since no container of them runs. A
  // damaged record is set aside. Removes specs of claims that are not in it. Errors: those after
  // which reading again may help.
  StatusOr<LoadedClaims> Load() const;
  // First the spec, then the record that names it: a kill in between leaves a spec that the next
  // start removes. If the record cannot be written, the spec goes.
  Status Add(std::string_view uid, const cdi::Spec& spec, const dra::Checkpoint& record) const;
  // The record alone: of a claim that no container can have yet.
  Status Record(const dra::Checkpoint& record) const;
  // The spec alone, where it is not as it should be.
  Status Renew(std::string_view uid, const cdi::Spec& spec) const;
  // First the record, then the spec, without which the claim is still given back.
  Status Remove(std::string_view uid, const dra::Checkpoint& record) const;

 private:
  StatusOr<std::string> SpecPath(std::string_view uid) const;
  void RemoveSpec(std::string_view uid) const;
  void RemoveUnknownSpecs(const dra::Checkpoint& record) const;

  const sys::Root& host_;
  const ClaimFilesOptions options_;
  const sys::StateFile record_;
};

}  // namespace kgpu::claims
