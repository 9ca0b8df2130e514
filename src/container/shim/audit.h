// The record of who got GPUs: one line for each grant and refusal, in files that only grow until
// they are put aside.
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
  std::string_view source = {};   // which part of the spec asked
  std::string_view asked = {};    // in the words of the spec
  std::string_view devices = {};  // what was given
  std::string_view reason = {};
};

// The file of an entry, where `grants` is that of grants. Any image can have itself refused, over
// and over: in one file that would push the grants out.
std::string AuditFile(std::string_view grants, bool is_granted);

// "time=… event=gpu-granted container=… …", with a newline. Values are quoted where they need it,
// and nothing in them can start a line or write to a terminal; the written form of each is
// cut at 4 KiB.
std::string AuditLine(const AuditEntry& entry, WallTime now);

// Appends with one write to the file at `path`, making it and its folder where they are missing. A
// file past kAuditLimit is renamed to <path>.1 first, replacing an older one. A link is not
// followed. Errors: PermissionDenied, FailedPrecondition (read-only), ResourceExhausted (full), …
Status AppendAudit(const std::string& path, std::string_view line);

}  // namespace kgpu::shim
