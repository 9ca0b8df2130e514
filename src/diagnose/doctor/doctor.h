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
  std::vector<std::string> unreadable;  // what could not be looked at
  size_t checks = 0;                    // how many were run
  size_t skipped = 0;                   // how many have nothing to look at here
  // Skipped since this is a container that sees only its own files: nothing is known of the host.
  bool is_host_hidden = false;
};

// Pure. `only`: ids of checks; empty: all. Errors: NotFound (no such check).
StatusOr<Diagnosis> Diagnose(const Facts& facts, const std::vector<std::string>& only);

struct Fixed {
  std::vector<std::string> done;  // a text each: the file and its lines; of a dry run, to be done
  std::vector<Status> failed;     // the others, each naming its file
};

// Writes the files that findings want, and keeps what stood there beside each as
// "<file>.before-kgpu". One that cannot be written hinders no other. Refuses a file that has
// changed since it was looked at and, when run as root, one that another user could put another
// file in the place of. Nothing is written while another kgpu changes the host.
Fixed Fix(const Diagnosis& diagnosis, const sys::Root& host, change::Disk& disk, bool is_dry_run);

}  // namespace kgpu::doctor
