#include "src/functions/provider/logs.h"

#include <sys/inotify.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"

namespace kgpu::functions {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKeptLogs = 8;
// Longer than any line of conmon, which divides what a program prints.
constexpr size_t kLongestLine = size_t{64} << 10;
constexpr uint32_t kChanges = IN_CREATE | IN_MODIFY | IN_MOVED_TO;

std::string FolderOf(const ProviderFolders& folders, const std::string& function) {
  return fmt::format("{}/{}", folders.logs, function);
}

// Without files that conmon is replacing just now.
std::vector<fs::path> LogFilesIn(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".log") {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

// The last kMaxLogText bytes of [from, to).
std::string ReadRange(const fs::path& path, size_t from, size_t to) {
  std::ifstream file(path, std::ios::binary);
  if (!file || to <= from) {
    return "";
  }
  const size_t length = std::min(to - from, kMaxLogText);
  std::string text(length, '\0');
  file.seekg(static_cast<std::streamoff>(to - length));
  file.read(text.data(), static_cast<std::streamsize>(length));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

struct LogPiece {
  std::string_view stream;
  bool is_continued = false;
  LogLine line;
};

std::optional<LogPiece> ParseLogPiece(std::string_view line) {
  const size_t stream = line.find(' ');
  const size_t tag = stream == std::string_view::npos ? stream : line.find(' ', stream + 1);
  const size_t text = tag == std::string_view::npos ? tag : line.find(' ', tag + 1);
  if (text == std::string_view::npos || text != tag + 2) {
    return std::nullopt;
  }
  const StatusOr<WallTime> time = ParseTime(line.substr(0, stream));
  if (!time.ok()) {
    return std::nullopt;
  }
  const bool is_continued = line[tag + 1] == 'P';
  return LogPiece{line.substr(stream + 1, tag - stream - 1),
                  is_continued,
                  {*time, std::string(line.substr(text + 1)) + (is_continued ? "" : "\n")}};
}

// The watchdog logs to the same stream.
bool IsOfWatchdog(std::string_view line) {
  return line.starts_with("time=") && line.find(" level=") != std::string_view::npos;
}

}  // namespace

std::vector<LogLine> ParseLogLines(std::string_view text) {
  std::vector<LogLine> lines;
  // By stream: the line that the next piece continues. conmon divides long ones.
  std::map<std::string_view, size_t> unfinished;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      break;
    }
    if (std::optional<LogPiece> piece = ParseLogPiece(text.substr(0, end))) {
      const auto begun = unfinished.find(piece->stream);
      if (begun != unfinished.end()) {
        lines[begun->second].text += piece->line.text;
      } else {
        lines.push_back(std::move(piece->line));
      }
      if (!piece->is_continued) {
        unfinished.erase(piece->stream);
      } else if (begun == unfinished.end()) {
        unfinished[piece->stream] = lines.size() - 1;
      }
    }
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string LastLines(const ProviderFolders& folders, const std::string& function,
                      const std::string& replica, size_t lines) {
  constexpr size_t kRead = size_t{64} << 10;
  constexpr size_t kMostBytes = size_t{2} << 10;
  const fs::path path = LogFile(folders, function, replica);
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (error) {
    return "";
  }
  std::vector<std::string> last;
  const size_t from = size > kRead ? size - kRead : 0;
  for (LogLine& line : ParseLogLines(ReadRange(path, from, size))) {
    if (!IsOfWatchdog(line.text) && !Trim(line.text).empty()) {
      last.push_back(std::move(line.text));
    }
  }
  std::string text;
  for (size_t i = last.size() - std::min(lines, last.size()); i < last.size(); ++i) {
    text += last[i];
  }
  return std::string(Trim(text.substr(text.size() - std::min(text.size(), kMostBytes))));
}

std::string ReadLogs(const ProviderFolders& folders, const std::string& function,
                     const LogRequest& request) {
  std::vector<LogLine> lines;
  for (const fs::path& path : LogFilesIn(FolderOf(folders, function))) {
    std::error_code error;
    const uintmax_t size = fs::file_size(path, error);
    std::vector<LogLine> more = ParseLogLines(ReadRange(path, 0, error ? 0 : size));
    std::ranges::move(more, std::back_inserter(lines));
  }
  return JoinLogLines(std::move(lines), request);
}

void PruneLogs(const ProviderFolders& folders, const std::string& function) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code error;
  for (const fs::path& path : LogFilesIn(FolderOf(folders, function))) {
    // A replica that is quiet is not one that has ended.
    if (fs::exists(ReplicaFolder(folders, path.stem().string()), error)) {
      continue;
    }
    files.emplace_back(fs::last_write_time(path, error), path);
  }
  std::ranges::sort(files, std::greater<>());
  for (size_t i = kKeptLogs; i < files.size(); ++i) {
    fs::remove(files[i].second, error);
  }
}

void RemoveLogs(const ProviderFolders& folders, const std::string& function) {
  std::error_code ignored;
  fs::remove_all(FolderOf(folders, function), ignored);
}

StatusOr<std::unique_ptr<LogReader>> LogFollower::Start(EventLoop& loop,
                                                        const ProviderFolders& folders,
                                                        const std::string& function,
                                                        std::function<bool(std::string_view)> write,
                                                        std::function<void()> ended) {
  const std::string folder = FolderOf(folders, function);
  std::error_code error;
  fs::create_directories(folder, error);
  std::unique_ptr<LogFollower> follower(
      new LogFollower(folder, std::move(write), std::move(ended)));
  ASSIGN_OR_RETURN(
      follower->watch_,
      sys::Inotify::Create(loop, [self = follower.get()](const auto&) { self->OnChange(); }));
  RETURN_IF_ERROR(follower->watch_->Watch(folder, kChanges).status());
  follower->GoToEnd();
  return follower;
}

LogFollower::LogFollower(std::string folder, std::function<bool(std::string_view)> write,
                         std::function<void()> ended)
    : folder_(std::move(folder)), write_(std::move(write)), ended_(std::move(ended)) {
}

// Behind the last whole line, without reading what is before it.
void LogFollower::GoToEnd() {
  for (const fs::path& path : LogFilesIn(folder_)) {
    struct stat info{};
    if (stat(path.c_str(), &info) != 0) {
      continue;
    }
    const auto size = static_cast<size_t>(info.st_size);
    const std::string end = ReadRange(path, size - std::min(size, kLongestLine), size);
    const size_t newline = end.rfind('\n');
    const size_t open = newline == std::string::npos ? 0 : end.size() - newline - 1;
    positions_[path.string()] = {.inode = info.st_ino, .offset = size - open};
  }
}

void LogFollower::OnChange() {
  const std::string text = TakeNew();
  if (!text.empty() && !write_(text)) {
    if (const std::function<void()> ended = std::exchange(ended_, nullptr)) {
      ended();  // destroys this
    }
  }
}

// Whole lines only: what follows the last newline is read next time.
std::string LogFollower::TakeNew() {
  std::vector<LogLine> lines;
  const std::vector<fs::path> files = LogFilesIn(folder_);
  std::erase_if(positions_, [&files](const auto& position) {
    return !std::ranges::binary_search(files, fs::path(position.first));
  });
  for (const fs::path& path : files) {
    struct stat info{};
    if (stat(path.c_str(), &info) != 0) {
      continue;
    }
    Position& position = positions_[path.string()];
    // conmon starts a new file under the same name when one has reached its limit.
    if (position.inode != info.st_ino || position.offset > static_cast<size_t>(info.st_size)) {
      position = {.inode = info.st_ino};
    }
    // Not what is written meanwhile: it would be read again.
    const auto size = static_cast<size_t>(info.st_size);
    const std::string text = ReadRange(path, position.offset, size);
    const size_t end = text.rfind('\n');
    if (end == std::string::npos) {
      continue;
    }
    position.offset = size - (text.size() - end - 1);
    std::vector<LogLine> more = ParseLogLines(std::string_view(text).substr(0, end + 1));
    std::ranges::move(more, std::back_inserter(lines));
  }
  return JoinLogLines(std::move(lines), {});
}

}  // namespace kgpu::functions
