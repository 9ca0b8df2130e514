// Files that are written or removed, and what stood there before.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "src/host/change/folders.h"
#include "src/platform/base/status_macros.h"
#include "src/setup/driver_install/actions.h"

namespace kgpu::driver_install {
namespace {

// A file as it is now.
struct FileNow {
  FileKind kind = FileKind::kAbsent;
  std::string bytes;
  std::string target;
  change::Attributes attributes;
};

StatusOr<FileNow> Now(const sys::Root& host, const std::string& path, bool follows) {
  const auto status = follows ? host.Stat(path) : host.LinkStat(path);
  FileNow now;
  if (status.status().code() == StatusCode::kNotFound) {
    return now;
  }
  RETURN_IF_ERROR(status.status());
  if (S_ISLNK(status->st_mode)) {
    now.kind = FileKind::kLink;
    ASSIGN_OR_RETURN(now.target, host.ReadLink(path));
    return now;
  }
  if (!S_ISREG(status->st_mode)) {
    return FailedPrecondition("{}: not a regular file: it is neither replaced nor removed",
                              host.At(path));
  }
  now.kind = FileKind::kFile;
  now.attributes = {status->st_mode & 07777, status->st_uid, status->st_gid};
  ASSIGN_OR_RETURN(now.bytes, host.ReadFile(path, change::kMostFileBytes));
  return now;
}

// The file that the record describes, with its bytes.
StatusOr<FileNow> Before(const sys::Root& host, const FileBefore& record) {
  FileNow before{record.kind, "", record.target, record.attributes};
  if (record.kind == FileKind::kFile) {
    ASSIGN_OR_RETURN(before.bytes, host.ReadFile(record.backup, change::kMostFileBytes));
  }
  return before;
}

bool IsSame(const FileNow& one, const FileNow& other) {
  return one.kind == other.kind && one.bytes == other.bytes && one.target == other.target &&
         (one.kind != FileKind::kFile || one.attributes == other.attributes);
}

Status Restore(const std::string& path, const FileNow& before, change::Disk& disk) {
  switch (before.kind) {
    case FileKind::kAbsent:
      return disk.Remove(path);
    case FileKind::kLink:
      return disk.Link(path, before.target);
    case FileKind::kFile:
      return disk.Replace(path, before.bytes, before.attributes);
  }
  return OkStatus();
}

// Puts back what was there, unless somebody else changed the file since: then it stays.
Status UndoFile(Work& work, const std::string& path, bool follows, bool is_ours_now,
                const FileNow& now) {
  StepRecord& record = work.record();
  if (!record.file) {
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const FileNow before, Before(work.host(), *record.file));
  if (!IsSame(now, before)) {
    if (is_ours_now || (follows && now.kind == FileKind::kAbsent)) {
      RETURN_IF_ERROR(Restore(path, before, work.deps().disk));
    } else {
      ASSIGN_OR_RETURN(const std::string kept, KeepFirstText(work));
      work.Note(fmt::format("{}: changed since the installation: not restored{}{}",
                            work.host().At(path), kept.empty() ? "" : "; the original is in ",
                            kept));
    }
  }
  RETURN_IF_ERROR(change::RemoveFolders(work.deps().disk, record.folders));
  return work.deps().disk.Tidy(path);
}

}  // namespace

StatusOr<std::string> KeepFirstText(Work& work) {
  const auto& file = work.record().file;
  if (!file || file->kind != FileKind::kFile) {
    return std::string();
  }
  const sys::Root& host = work.host();
  ASSIGN_OR_RETURN(const std::string bytes, host.ReadFile(file->backup, change::kMostFileBytes));
  // "7-name" of the backup is "name" among what is kept.
  const std::string numbered = std::filesystem::path(file->backup).filename().string();
  const std::string start =
      fmt::format("{}/{}", kKeptFolder, numbered.substr(numbered.find('-') + 1));
  std::string kept = start;
  for (int number = 2; host.LinkStat(kept).ok(); ++number) {
    if (host.ReadFile(kept, change::kMostFileBytes).value_or("") == bytes) {
      return host.At(kept);  // by a run that was killed
    }
    kept = fmt::format("{}.{}", start, number);
  }
  RETURN_IF_ERROR(work.deps().disk.MakeFolder(std::string(kKeptFolder)));
  RETURN_IF_ERROR(work.deps().disk.Write(kept, bytes, change::kRootOnly));
  return host.At(kept);
}

Status LookBeforeFile(Work& work, const std::string& path, bool follows) {
  ASSIGN_OR_RETURN(const FileNow now, Now(work.host(), path, follows));
  StepRecord& record = work.record();
  FileBefore before{now.kind, "", now.target, now.attributes};
  if (now.kind == FileKind::kFile) {
    change::Disk& disk = work.deps().disk;
    before.backup = fmt::format("{}/{}-{}", kBackupFolder, work.index(),
                                std::filesystem::path(path).filename().string());
    RETURN_IF_ERROR(disk.MakeFolder(std::string(kBackupFolder)));
    RETURN_IF_ERROR(disk.Write(before.backup, now.bytes, change::kRootOnly));
  }
  record.file = std::move(before);
  record.folders = follows ? change::MissingFolders(work.host(), path) : std::vector<std::string>();
  return OkStatus();
}

Status DoWriteFile(Work& work, const driver::WriteFile& file) {
  change::Disk& disk = work.deps().disk;
  RETURN_IF_ERROR(change::MakeFolders(disk, work.record().folders));
  RETURN_IF_ERROR(disk.Tidy(file.path));
  ASSIGN_OR_RETURN(const FileNow now, Now(work.host(), file.path, true));
  change::Attributes wanted{file.mode, geteuid(), getegid()};
  if (now.kind == FileKind::kFile) {
    wanted.uid = now.attributes.uid;
    wanted.gid = now.attributes.gid;
    if (now.bytes == file.text && now.attributes == wanted) {
      return OkStatus();
    }
  }
  return disk.Replace(file.path, file.text, wanted);
}

Status DoRemoveFile(Work& work, const driver::RemoveFile& file) {
  return work.deps().disk.Remove(file.path);
}

Status UndoWriteFile(Work& work, const driver::WriteFile& file) {
  ASSIGN_OR_RETURN(const FileNow now, Now(work.host(), file.path, true));
  const bool is_ours = now.kind == FileKind::kFile && now.bytes == file.text;
  return UndoFile(work, file.path, true, is_ours, now);
}

Status UndoRemoveFile(Work& work, const driver::RemoveFile& file) {
  ASSIGN_OR_RETURN(const FileNow now, Now(work.host(), file.path, false));
  return UndoFile(work, file.path, false, now.kind == FileKind::kAbsent, now);
}

}  // namespace kgpu::driver_install
