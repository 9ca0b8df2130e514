#include "src/container/cdi/publisher.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <set>
#include <utility>

#include "src/container/cdi/names.h"
#include "src/container/cdi/spec_text.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::cdi {
namespace {

constexpr std::string_view kOwnPrefix = "kgpu-";
constexpr std::string_view kOwnVendor = "kgpu.dev/";
constexpr std::string_view kExpiryEnding = ".kept";

std::string_view NameOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// The fix for errors with this code; the text already has the reason.
std::string_view Fix(StatusCode code) {
  switch (code) {
    case StatusCode::kResourceExhausted:
      return ": free disk space there; the old file is unchanged";
    case StatusCode::kFailedPrecondition:
      return ": remount it writable or use another folder; the old file is unchanged";
    case StatusCode::kPermissionDenied:
      return ": run as root or use another folder; the old file is unchanged";
    default:
      return "";
  }
}

Status WithFix(const Status& status) {
  return status.ok()
             ? status
             : MakeStatus(status.code(), fmt::format("{}{}", Message(status), Fix(status.code())));
}

// The first few, and how many more.
std::string ListNames(const std::map<std::string, WallTime>& kept) {
  constexpr size_t kMostNames = 8;
  std::vector<std::string> names;
  for (const auto& [name, expiry] : kept) {
    if (names.size() == kMostNames) {
      break;
    }
    names.push_back(name);
  }
  const std::string list = Join(names, ", ");
  return kept.size() > kMostNames ? fmt::format("{} and {} more", list, kept.size() - kMostNames)
                                  : list;
}

std::string_view EndingOf(doc::Format format) {
  return format == doc::Format::kJson ? ".json" : ".yaml";
}

doc::Format OtherFormat(doc::Format format) {
  return format == doc::Format::kJson ? doc::Format::kYaml : doc::Format::kJson;
}

int64_t Seconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace

std::string Publisher::StemOf(std::string_view kind) const {
  std::string name = fmt::format("{}{}", kOwnPrefix, kind);
  std::ranges::replace(name, '/', '-');
  return fmt::format("{}/{}", options_.folder, name);
}

std::string Publisher::PathOf(std::string_view kind) const {
  return StemOf(kind) + std::string(EndingOf(options_.format));
}

Publisher::Publisher(const sys::Root& root, const sys::Root& engine, const Clock& clock,
                     PublisherOptions options)
    : root_(root), engine_(engine), clock_(clock), options_(std::move(options)) {
  if (std::ranges::find(options_.folders, options_.folder) == options_.folders.end()) {
    options_.folders.push_back(options_.folder);
  }
}

StatusOr<std::string> Publisher::RealPath(const std::string& path) const {
  // Not the path as it stands: seen from a container, an absolute link such as /var/run → /run
  // would lead out of the host's root.
  ASSIGN_OR_RETURN(const std::string folder, root_.Resolve(path.substr(0, path.rfind('/'))));
  return root_.At(fmt::format("{}/{}", folder, NameOf(path)));
}

Status Publisher::MakeFolder() const {
  std::string made;
  for (const std::string_view name : Split(options_.folder, '/')) {
    if (name.empty()) {
      continue;
    }
    made += fmt::format("/{}", name);
    if (root_.Exists(made)) {
      continue;
    }
    ASSIGN_OR_RETURN(const std::string real, RealPath(made));
    constexpr mode_t kMode = 0755;
    if (mkdir(real.c_str(), kMode) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, fmt::format("create folder {}", real));
    }
  }
  return OkStatus();
}

StatusOr<PublishReport> Publisher::Publish(const std::vector<Spec>& specs) {
  const auto is_empty = [](const Spec& spec) { return spec.devices.empty(); };
  if (std::ranges::all_of(specs, is_empty) && !root_.Exists(options_.folder)) {
    return PublishReport();
  }
  RETURN_IF_ERROR(WithFix(MakeFolder()));
  const FolderContents contents = ReadFolders(root_, options_.folders);
  PublishReport report;
  report.notes = contents.problems;
  for (const Spec& spec : specs) {
    RETURN_IF_ERROR(WithFix(PublishKind(spec, contents, report)));
  }
  return report;
}

// Our own file of `kind`, in either format; empty if none can be read.
Spec Publisher::OldSpec(std::string_view kind, const FolderContents& contents,
                        PublishReport& report) const {
  Spec old;
  const std::string stem = StemOf(kind);
  for (const SpecFile& file : contents.files) {
    if (file.path != stem + ".json" && file.path != stem + ".yaml") {
      continue;
    }
    if (file.problem.empty()) {
      old = file.spec;
    } else {
      report.notes.push_back(fmt::format("{}; rewritten", file.problem));
    }
  }
  return old;
}

Status Publisher::PublishKind(Spec spec, const FolderContents& contents, PublishReport& report) {
  const std::string path = PathOf(spec.kind);
  const Spec old = OldSpec(spec.kind, contents, report);
  std::vector<std::string> others = FilesOfKind(contents, spec.kind);
  // By name alone: /run/cdi and /var/run/cdi are often one folder.
  std::erase_if(others,
                [](const std::string& other) { return NameOf(other).starts_with(kOwnPrefix); });
  if (!others.empty()) {
    const std::string list = Join(others, ", ");
    if (!spec.kind.starts_with(kOwnVendor)) {
      if (!spec.devices.empty()) {
        report.notes.push_back(
            fmt::format("kind {} is left to {}: a device declared by two files cannot be used; "
                        "remove that file to use kgpu's",
                        spec.kind, list));
      }
      return RemoveKind(spec.kind, report);
    }
    report.notes.push_back(
        fmt::format("kind {} is also declared by {}: remove that file", spec.kind, list));
  }
  const bool is_fleeting =
      std::ranges::find(options_.fleeting_kinds, spec.kind) != options_.fleeting_kinds.end();
  const Expiries kept = is_fleeting ? Expiries() : KeepVanished(spec, old, report);
  if (spec.devices.empty()) {
    return RemoveKind(spec.kind, report);
  }
  spec.version = MinimumVersion(spec);
  RETURN_IF_ERROR(Annotate(Validate(spec), "spec of kind {}", spec.kind));
  RETURN_IF_ERROR(WriteExpiries(spec.kind, kept));
  RETURN_IF_ERROR(WriteFile(path, PrintSpec(spec, options_.format), report));
  const std::string_view other_ending = EndingOf(OtherFormat(options_.format));
  RETURN_IF_ERROR(Remove(StemOf(spec.kind) + std::string(other_ending), report));
  return Verify(path, spec, kept, report);
}

// Moves the devices of `old` that `spec` lacks into `spec`, unless their time has run out.
Publisher::Expiries Publisher::KeepVanished(Spec& spec, const Spec& old,
                                            PublishReport& report) const {
  const bool is_all_gone = spec.devices.empty();
  Expiries kept;
  for (const Vanished& gone : FindVanished(spec, old)) {
    kept.emplace(gone.device->name, gone.expiry);
    spec.devices.push_back(*gone.device);
    report.next_expiry = std::min(report.next_expiry.value_or(WallTime::max()), gone.expiry);
  }
  if (is_all_gone && !kept.empty()) {
    spec.edits = old.edits;
  }
  if (!kept.empty()) {
    report.notes.push_back(
        fmt::format("kind {}: {} removed; kept for running containers for at most another {} s",
                    spec.kind, ListNames(kept), options_.grace.count()));
  }
  return kept;
}

// In the order of `old`. While there are others, those that vanished last: MIG devices that are
// made and destroyed all day have a new name each time, and each change goes through all that is
// kept.
std::vector<Publisher::Vanished> Publisher::FindVanished(const Spec& spec, const Spec& old) const {
  const WallTime now = clock_.WallNow();
  const Expiries earlier = ReadExpiries(spec.kind);
  const bool is_all_gone = spec.devices.empty();
  std::set<std::string_view> present;
  for (const Device& device : spec.devices) {
    present.insert(device.name);
  }
  std::vector<Vanished> vanished;
  for (const Device& device : old.devices) {
    // "all" is what is there now; only with nothing there the old one is as good as its parts.
    if (present.contains(device.name) || (device.name == "all" && !is_all_gone)) {
      continue;
    }
    const auto known = earlier.find(device.name);
    // A wall clock that was set back must not make a name immortal.
    const WallTime expiry =
        std::min(known == earlier.end() ? WallTime::max() : known->second, now + options_.grace);
    if (expiry > now) {
      vanished.push_back({.device = &device, .expiry = expiry});
    }
  }
  if (!is_all_gone && vanished.size() > options_.most_kept) {
    // Times are whole seconds. For equal times, the one that vanished later comes first.
    std::ranges::stable_sort(vanished, std::greater(), &Vanished::expiry);
    vanished.resize(options_.most_kept);
    std::ranges::sort(vanished, {}, &Vanished::device);
  }
  return vanished;
}

Publisher::Expiries Publisher::ReadExpiries(std::string_view kind) const {
  // Lines of "<seconds since 1970> <device name>". A damaged file only starts the grace again.
  Expiries expiries;
  const StatusOr<std::string> text = root_.ReadFile(StemOf(kind) + std::string(kExpiryEnding));
  if (!text.ok()) {
    return expiries;
  }
  for (const std::string_view line : Split(*text, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    const std::optional<uint64_t> seconds = words.size() == 2 ? ParseUint(words[0]) : std::nullopt;
    if (seconds && *seconds <= kLastCount<std::chrono::seconds>) {
      expiries.emplace(std::string(words[1]), WallTime(std::chrono::seconds(*seconds)));
    }
  }
  return expiries;
}

Status Publisher::WriteExpiries(std::string_view kind, const Expiries& expiries) const {
  const std::string path = StemOf(kind) + std::string(kExpiryEnding);
  if (expiries.empty()) {
    PublishReport unreported;
    return Remove(path, unreported);
  }
  std::string text;
  for (const auto& [name, expiry] : expiries) {
    text += fmt::format("{} {}\n", Seconds(expiry), name);
  }
  PublishReport unreported;
  return WriteFile(path, text, unreported);
}

Status Publisher::WriteFile(const std::string& path, std::string_view bytes,
                            PublishReport& report) const {
  // Engines watch the folder: a file that is right already is left alone.
  const StatusOr<std::string> old = root_.ReadFile(path, kSpecLimit);
  if (old.ok() && *old == bytes) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string real, RealPath(path));
  RETURN_IF_ERROR(sys::WriteFileAtomically(real, bytes, 0644, options_.durability));
  report.written.push_back(path);
  return OkStatus();
}

Status Publisher::RemoveKind(std::string_view kind, PublishReport& report) const {
  for (const doc::Format format : {doc::Format::kJson, doc::Format::kYaml}) {
    RETURN_IF_ERROR(Remove(StemOf(kind) + std::string(EndingOf(format)), report));
  }
  return WriteExpiries(kind, {});
}

Status Publisher::Remove(const std::string& path, PublishReport& report) const {
  // Most are not there; and on a read-only file system even those cannot be unlinked.
  if (root_.LinkStat(path).status().code() == StatusCode::kNotFound) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string real, RealPath(path));
  if (unlink(real.c_str()) == 0) {
    report.removed.push_back(path);
  } else if (errno != ENOENT) {
    return ErrnoStatus(errno, fmt::format("remove {}", real));
  }
  return OkStatus();
}

Status Publisher::Verify(const std::string& path, const Spec& spec, const Expiries& kept,
                         PublishReport& report) const {
  const std::string whole = root_.At(path);
  const StatusOr<std::string> text = root_.ReadFile(path, kSpecLimit);
  if (!text.ok()) {
    return Annotate(text.status(), "verifying the written file");
  }
  StatusOr<Spec> read = ParseSpec(*text, options_.format, whole);
  if (!read.ok() || *read != spec) {
    return Unavailable(
        "{} differs from what was just written: stop the other program that writes it", whole);
  }
  // A device that is kept may name nodes and files that no longer exist: engines reject it with a
  // message of their own.
  std::erase_if(read->devices,
                [&kept](const Device& device) { return kept.contains(device.name); });
  if (read->devices.empty()) {
    return OkStatus();
  }
  for (report::Finding& finding : CheckSpec(*read, engine_)) {
    report.findings.push_back(std::move(finding));
  }
  return OkStatus();
}

}  // namespace kgpu::cdi
