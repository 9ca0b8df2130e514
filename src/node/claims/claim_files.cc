#include "src/node/claims/claim_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "src/container/cdi/spec_text.h"
#include "src/node/claims/claim_spec.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::claims {
namespace {

// About 300 bytes for each device; a node has some hundred claims.
constexpr size_t kMostBytes = size_t{8} << 20;

}  // namespace

ClaimFiles::ClaimFiles(const sys::Root& host, ClaimFilesOptions options)
    : host_(host),
      options_(std::move(options)),
      record_(fmt::format("{}/{}", options_.state_dir, kRecordFile), {.most_bytes = kMostBytes}) {
}

StatusOr<LoadedClaims> ClaimFiles::Load() const {
  Status damage;
  ASSIGN_OR_RETURN(std::optional<dra::Checkpoint> found,
                   record_.ReadOrSetAside(dra::ParseCheckpoint, damage));
  LoadedClaims loaded{.record = {.boot_id = options_.boot_id},
                      .problem = std::string(Message(damage))};
  // Without a record, another driver may have prepared claims of containers that run.
  loaded.record.has_lost = !damage.ok() || !found;
  if (found && !options_.boot_id.empty() && found->boot_id == options_.boot_id) {
    loaded.record = *std::move(found);
  }
  if (damage.ok()) {
    RemoveUnknownSpecs(loaded.record);
  }
  return loaded;
}

Status ClaimFiles::Add(std::string_view uid, const cdi::Spec& spec,
                       const dra::Checkpoint& record) const {
  RETURN_IF_ERROR(Renew(uid, spec));
  if (Status written = record_.Write(dra::PrintCheckpoint(record)); !written.ok()) {
    RemoveSpec(uid);
    return written;
  }
  return OkStatus();
}

Status ClaimFiles::Record(const dra::Checkpoint& record) const {
  return record_.Write(dra::PrintCheckpoint(record));
}

Status ClaimFiles::Renew(std::string_view uid, const cdi::Spec& spec) const {
  if (spec.devices.empty()) {
    return OkStatus();  // the claim has devices of other drivers alone
  }
  RETURN_IF_ERROR(cdi::Validate(spec));
  ASSIGN_OR_RETURN(const std::string path, SpecPath(uid));
  const std::string text = cdi::PrintSpec(spec, doc::Format::kJson);
  const StatusOr<std::string> old =
      host_.ReadFile(fmt::format("{}/{}", options_.cdi_folder, SpecFileOf(uid)));
  if (old.ok() && *old == text) {
    return OkStatus();
  }
  constexpr mode_t kMode = 0644;
  return sys::WriteFileAtomically(path, text, kMode, sys::Durability::kMemory);
}

Status ClaimFiles::Remove(std::string_view uid, const dra::Checkpoint& record) const {
  RETURN_IF_ERROR(record_.Write(dra::PrintCheckpoint(record)));
  RemoveSpec(uid);
  return OkStatus();
}

// Engines and we may see the folder under different roots, and /var/run is a link.
StatusOr<std::string> ClaimFiles::SpecPath(std::string_view uid) const {
  ASSIGN_OR_RETURN(const std::string folder, host_.FollowLinks(options_.cdi_folder));
  return fmt::format("{}/{}", folder, SpecFileOf(uid));
}

// A spec that stays names a claim that no container asks for.
void ClaimFiles::RemoveSpec(std::string_view uid) const {
  const StatusOr<std::string> path = SpecPath(uid);
  if (path.ok() && unlink(path->c_str()) != 0 && errno != ENOENT) {
    KGPU_LOG(kWarning, "CDI spec of a claim not removed", {"file", *path},
             {"reason", Message(ErrnoStatus(errno, "remove"))});
  }
}

void ClaimFiles::RemoveUnknownSpecs(const dra::Checkpoint& record) const {
  const auto names = host_.ListDir(options_.cdi_folder);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    const std::string uid(UidOfSpecFile(name));
    if (!uid.empty() && !record.claims.contains(uid)) {
      RemoveSpec(uid);
    }
  }
}

}  // namespace kgpu::claims
