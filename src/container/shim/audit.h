// The audit log of who got GPUs: one line per grant and refusal, in files that only grow until they
// are rotated.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::shim {

inline constexpr size_t kAuditLimit = size_t{1} << 20;

struct AuditEntry {
  bool is_granted = false;
  std::string_view container = {};
  std::string_view bundle = {};
  std::string_view source = {};   // which part of the spec made the request
  std::string_view asked = {};    // in the words of the spec
  std::string_view devices = {};  // the devices given
  std::string_view reason = {};
};

// The file for an entry; `grants` is the file for grants. Any image can cause refusals over and
// over: in a shared file they would push out the grants.
std::string AuditFile(std::string_view grants, bool is_granted);

// "time=… event=gpu-granted container=… …", with a newline. Quotes values as needed, so that
// nothing in them can start a line or write to a terminal; each written value is truncated at 4
// KiB.
std::string AuditLine(const AuditEntry& entry, WallTime now);

// Appends with one write to the file at `path`, creating it and its folder if missing. First
// renames a file over kAuditLimit to <path>.1, replacing an older one. Does not follow a link.
// Errors: PermissionDenied, FailedPrecondition (read-only), ResourceExhausted (full), …
Status AppendAudit(const std::string& path, std::string_view line);

}  // namespace kgpu::shim
