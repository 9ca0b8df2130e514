#include "src/gpu/health/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::health {
namespace {

constexpr mode_t kMode = 0640;

StatusOr<size_t> SizeOf(int fd, const std::string& path) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) {
    return ErrnoStatus(errno, fmt::format("stat {}", path));
  }
  if (!S_ISREG(info.st_mode)) {
    return FailedPrecondition("{}: not a regular file: move it away", path);
  }
  return static_cast<size_t>(info.st_size);
}

// Whether the last byte ends a line; an empty file has no line to end.
bool EndsLine(int fd, size_t size) {
  char last = '\n';
  return size == 0 || (pread(fd, &last, 1, static_cast<off_t>(size) - 1) == 1 && last == '\n');
}

}  // namespace

bool IsRepeat(const JournalEntry& entry) {
  return entry.event && entry.event->kind == HealthEventKind::kSeen;
}

std::vector<JournalEntry> Select(std::vector<JournalEntry> entries, const JournalFilter& filter) {
  std::erase_if(entries, [&filter](const JournalEntry& entry) {
    const bool is_too_old = filter.since && entry.when < *filter.since;
    const bool is_another = filter.gpu && entry.event && entry.event->gpu != filter.gpu;
    return is_too_old || is_another;
  });
  return entries;
}

std::vector<JournalEntry> KeepNewest(std::vector<JournalEntry> entries, size_t bytes) {
  std::vector<bool> is_kept(entries.size());
  size_t used = 0;
  for (const bool repeats : {false, true}) {
    for (size_t i = entries.size(); i-- > 0;) {
      if (IsRepeat(entries[i]) != repeats) {
        continue;
      }
      used += PrintJournalLine(entries[i]).size();
      if (used > bytes) {
        break;
      }
      is_kept[i] = true;
    }
  }
  std::vector<JournalEntry> kept;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (is_kept[i]) {
      kept.push_back(std::move(entries[i]));
    }
  }
  return kept;
}

Journal::Journal(std::string folder, Limits limits)
    : folder_(std::move(folder)),
      path_(fmt::format("{}/{}", folder_, kJournalFile)),
      limits_(limits) {
}

Status Journal::Append(std::span<const JournalEntry> entries) const {
  if (entries.empty()) {
    return OkStatus();
  }
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("make {}", folder_));
  }
  const UniqueFd fd(::open(
      path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kMode));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", path_));
  }
  ASSIGN_OR_RETURN(const size_t size, SizeOf(fd.get(), path_));
  std::string text = EndsLine(fd.get(), size) ? "" : "\n";
  for (const JournalEntry& entry : entries) {
    text += PrintJournalLine(entry);
  }
  if (size + text.size() > limits_.bytes) {
    return Compact(entries);
  }
  if (size == 0) {
    // A file that was made is kept by a power cut only once its folder is on the disk, too.
    RETURN_IF_ERROR(sys::SyncFolder(folder_));
  }
  return AppendTo(fd.get(), size, text);
}

Status Journal::AppendTo(int fd, size_t size, std::string_view text) const {
  Status status = sys::WriteAll(fd, text);
  if (status.ok() && fdatasync(fd) != 0) {
    status = ErrnoStatus(errno, "sync");
  }
  if (!status.ok()) {
    // Half a line would stay, and half of the entries would be there twice after the next write.
    if (ftruncate(fd, static_cast<off_t>(size)) != 0) {
      status = Annotate(status, "an incomplete line was left");
    }
  }
  return Annotate(status, "write {}", path_);
}

Status Journal::Compact(std::span<const JournalEntry> more) const {
  ASSIGN_OR_RETURN(JournalText journal, Read());
  std::ranges::copy(more, std::back_inserter(journal.entries));
  std::string text;
  for (const JournalEntry& entry : KeepNewest(std::move(journal.entries), limits_.bytes / 2)) {
    text += PrintJournalLine(entry);
  }
  return sys::WriteFileAtomically(path_, text, kMode);
}

StatusOr<JournalText> Journal::Read() const {
  ASSIGN_OR_RETURN(const std::string text, ReadText());
  return ParseJournal(text);
}

StatusOr<Journal::Boots> Journal::FindBoot(std::string_view boot_id) const {
  ASSIGN_OR_RETURN(const std::string text, ReadText());
  const std::string line =
      PrintJournalLine({.when = {}, .event = {}, .boot_id = std::string(boot_id)});
  // From its kind on, which follows the time.
  if (text.find(std::string_view(line).substr(line.find(R"("kind")"))) != std::string::npos) {
    return Boots::kThis;
  }
  return text.empty() ? Boots::kNone : Boots::kOthers;
}

StatusOr<std::string> Journal::ReadText() const {
  const UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.is_valid()) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return std::string();
    }
    return ErrnoStatus(errno, fmt::format("open {}", path_));
  }
  ASSIGN_OR_RETURN(const size_t size, SizeOf(fd.get(), path_));
  // Whatever was done to the file: its end is the newest.
  const size_t skipped = size > limits_.bytes ? size - limits_.bytes : 0;
  if (lseek(fd.get(), static_cast<off_t>(skipped), SEEK_SET) < 0) {
    return ErrnoStatus(errno, fmt::format("read {}", path_));
  }
  StatusOr<std::string> text = sys::ReadAll(fd.get(), limits_.bytes * 2);
  if (!text.ok()) {
    return Annotate(text.status(), "read {}", path_);
  }
  if (skipped > 0) {
    text->erase(0, std::min(text->find('\n'), text->size()));
  }
  return text;
}

}  // namespace kgpu::health
