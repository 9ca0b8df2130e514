// Keeps our files in the dynamic CDI folder true to the inventory.
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
  std::string folder = std::string(kDynamicFolder);  // made when missing
  // All folders that engines read, lowest precedence first; `folder` is added
  // when it is not among them.
  std::vector<std::string> folders = {std::string(kStaticFolder), std::string(kDynamicFolder)};
  doc::Format format = doc::Format::kJson;
  // How long a device that is gone stays in the spec: a container that has it may be started again
  // while the driver is exchanged.
  std::chrono::seconds grace{600};
  // Of each kind, while it has devices: more than 16 GPUs in seven parts.
  size_t most_kept = 128;
  // Kinds without grace: a node that is gone is no use to a container that starts again.
  std::vector<std::string> fleeting_kinds;
  // kMemory where the folder does not outlive the boot anyhow.
  sys::Durability durability = sys::Durability::kDisk;
};

struct PublishReport {
  std::vector<std::string> written;  // paths below the root; a file that was right already is none
  std::vector<std::string> removed;
  std::vector<std::string> notes;  // for people: kept names, kinds left to others, with the fix
  std::vector<report::Finding> findings;  // what verification found after writing; empty is good
  std::optional<WallTime> next_expiry;    // publish again then: a kept name runs out
};

// Writes one file per kind, "kgpu-<vendor>-<class>.json", as a whole or not at all, and reads it
// back. Names that vanish from a spec stay in it for the grace period (their times lie beside it in
// a file engines do not read); one file and one rename, so that no name is ever missing or
// declared twice in between. Not thread-safe. `root`, `engine` and `clock` outlive it.
class Publisher {
 public:
  // `root` holds the CDI folders; `engine` is the file system as container engines see it.
  Publisher(const sys::Root& root, const sys::Root& engine, const Clock& clock,
            PublisherOptions options = {});
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Makes the folder hold `specs`. A spec without devices means that there are none of its kind
  // now: its old devices are kept for the grace period, then the file goes. A folder that is not
  // there is only made for devices. Kinds of other vendors
  // are left to a file of somebody else that declares them, and ours is withdrawn.
  // Errors: InvalidArgument (a spec is not valid), FailedPrecondition (read-only folder),
  // PermissionDenied, ResourceExhausted (full), Unavailable (somebody rewrites our file). The old
  // files are whole in every case.
  StatusOr<PublishReport> Publish(const std::vector<Spec>& specs);

  // Removes every file of ours. Errors: as Publish.
  StatusOr<PublishReport> Withdraw();

  // "/var/run/cdi/kgpu-kgpu.dev-gpu.json" for kind "kgpu.dev/gpu".
  std::string PathOf(std::string_view kind) const;

 private:
  using Expiries = std::map<std::string, WallTime>;  // by device name

  Status MakeFolder() const;
  // PathOf without its ending.
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
  // A file that is not there is no error.
  Status Remove(const std::string& path, PublishReport& report) const;
  Status Verify(const std::string& path, const Spec& spec, const Expiries& kept,
                PublishReport& report) const;
  // `path` as this process opens it, links of its folder followed below the root.
  StatusOr<std::string> RealPath(const std::string& path) const;

  const sys::Root& root_;
  const sys::Root& engine_;
  const Clock& clock_;
  PublisherOptions options_;
};

}  // namespace kgpu::cdi
