// `kgpu doctor`: every check of a host, from the hardware upwards.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/container/engine/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/setup/doctor/check.h"
#include "src/setup/doctor/facts.h"

namespace kgpu::doctor {

std::vector<Check> AllChecks();
// Errors: NotFound, with the nearest id.
StatusOr<Check> FindCheck(std::string_view id);

struct Diagnosis {
  std::vector<Finding> findings;    // in the order of the checks
  std::vector<std::string> unseen;  // what could not be looked at
  size_t checks = 0;                // how many were run
};

// Pure. `only`: ids of checks; empty: all. Errors: NotFound (no such check).
StatusOr<Diagnosis> Diagnose(const Facts& facts, const std::vector<std::string>& only);

// Of all findings; info where there are none.
Severity WorstOf(const Diagnosis& diagnosis);
// Whether nothing keeps GPUs from being used: no finding is an error or a warning.
bool IsWell(const Diagnosis& diagnosis);

struct Fixed {
  std::vector<std::string> done;  // a text each: the file and its lines; of a dry run, to be done
  std::vector<Status> failed;     // the others, each naming its file
};

// Writes the files that findings want, and keeps what stood there beside each as
// "<file>.before-kgpu". One that can not be written hinders no other. Refuses a file that has
// changed since it was looked at and, when run as root, one that another user could put another
// file in the place of.
Fixed Fix(const Diagnosis& diagnosis, const sys::Root& host, engine::Disk& disk, bool is_dry_run);

}  // namespace kgpu::doctor
