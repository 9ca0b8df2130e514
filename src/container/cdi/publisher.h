// Keeps our files in the dynamic CDI folder in step with the inventory.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/container/cdi/check.h"
#include "src/container/cdi/folder.h"
#include "src/container/cdi/spec.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/doc/doc.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::cdi {

struct PublisherOptions {
  std::string folder = std::string(kDynamicFolder);  // created if missing
  // All folders that engines read, lowest precedence first; `folder` is appended if it is not among
  // them.
  std::vector<std::string> folders = {std::string(kStaticFolder), std::string(kDynamicFolder)};
  doc::Format format = doc::Format::kJson;
  // How long a vanished device stays in the spec: a container that has it may be restarted while
  // the driver is replaced.
  std::chrono::seconds grace{600};
  // Per kind, while it has devices: enough for 16 GPUs with seven MIG devices each, and more.
  size_t most_kept = 128;
  // Kinds without a grace period: a vanished node is of no use to a container that starts again.
  std::vector<std::string> fleeting_kinds;
  // kMemory if the folder does not survive a reboot anyway.
  sys::Durability durability = sys::Durability::kDisk;
};

struct PublishReport {
  std::vector<std::string> written;  // paths below the root; without files that did not change
  std::vector<std::string> removed;
  std::vector<std::string> notes;  // for people: kept names, kinds left to others, with the fix
  std::vector<report::Finding> findings;  // from the verification after writing; empty: all is ok
  std::optional<WallTime> next_expiry;    // when a kept name expires: publish again then
};

// Writes one file per kind, "kgpu-<vendor>-<class>.json", completely or not at all, and reads it
// back. Names that vanish from a spec stay in it for the grace period (their times are in a file
// beside it, which engines do not read); with one file and one rename, no name is ever missing or
// declared twice in between. Not thread-safe. `root`, `engine` and `clock` must outlive it.
class Publisher {
 public:
  // `root` contains the CDI folders; `engine` is the file system as container engines see it.
  Publisher(const sys::Root& root, const sys::Root& engine, const Clock& clock,
            PublisherOptions options = {});
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Makes the folder contain `specs`. A spec without devices means that there are none of its
  // kind now: its old devices are kept for the grace period, then the file is removed. A
  // missing folder is only created for devices. If somebody else's file declares a kind of
  // another vendor, that file stays, and ours is withdrawn. Errors: InvalidArgument (an
  // invalid spec), FailedPrecondition (read-only folder), PermissionDenied, ResourceExhausted
  // (full), Unavailable (somebody rewrites our file). After any error, the old files are
  // intact.
  StatusOr<PublishReport> Publish(const std::vector<Spec>& specs);

  // "/var/run/cdi/kgpu-kgpu.dev-gpu.json" for kind "kgpu.dev/gpu".
  std::string PathOf(std::string_view kind) const;

 private:
  using Expiries = std::map<std::string, WallTime>;  // by device name

  Status MakeFolder() const;
  // PathOf without its suffix.
  std::string StemOf(std::string_view kind) const;
  Spec OldSpec(std::string_view kind, const FolderContents& contents, PublishReport& report) const;
  Status PublishKind(Spec spec, const FolderContents& contents, PublishReport& report);
  struct Vanished {
    const Device* device = nullptr;
    WallTime expiry;
  };
  std::vector<Vanished> FindVanished(const Spec& spec, const Spec& old) const;
  Expiries KeepVanished(Spec& spec, const Spec& old, PublishReport& report) const;
  Expiries ReadExpiries(std::string_view kind) const;
  Status WriteExpiries(std::string_view kind, const Expiries& expiries) const;
  Status WriteFile(const std::string& path, std::string_view bytes, PublishReport& report) const;
  Status RemoveKind(std::string_view kind, PublishReport& report) const;
  // Not an error if there is no such file.
  Status Remove(const std::string& path, PublishReport& report) const;
  Status Verify(const std::string& path, const Spec& spec, const Expiries& kept,
                PublishReport& report) const;
  // `path` as this process opens it, with links of its folder followed below the root.
  StatusOr<std::string> RealPath(const std::string& path) const;

  const sys::Root& root_;
  const sys::Root& engine_;
  const Clock& clock_;
  PublisherOptions options_;
};

}  // namespace kgpu::cdi
