// `kgpu doctor`: every check of a host, from the hardware upwards.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/facts.h"
#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::doctor {

std::vector<Check> AllChecks();
// Errors: NotFound, with the nearest id.
StatusOr<Check> FindCheck(std::string_view id);

struct Diagnosis {
  std::vector<Finding> findings;        // in the order of the checks
  std::vector<std::string> unreadable;  // that the checks that were run use
  size_t checks = 0;                    // number of checks that were run
  size_t skipped = 0;                   // number of checks that do not apply here
  // Skipped, since this is a container that only sees its own files, and nothing of the host.
  bool is_host_hidden = false;
};

// Pure. `only`: ids of checks; empty: all. Errors: NotFound (no such check).
StatusOr<Diagnosis> Diagnose(const Facts& facts, const std::vector<std::string>& only);

struct Fixed {
  std::vector<std::string> done;  // a text each: file and lines; in a dry run, what would be done
  std::vector<Status> failed;     // failed writes, each naming its file
};

// Writes the files that findings want, and saves the old content of each as "<file>.before-kgpu".
// A failed write does not stop the others. Refuses a file that has changed since it was read and,
// as root, a file that another user could replace. Writes nothing while another kgpu changes the
// host.
Fixed Fix(const Diagnosis& diagnosis, const sys::Root& host, change::Disk& disk, bool is_dry_run);

}  // namespace kgpu::doctor
