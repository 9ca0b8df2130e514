#include "src/host/facts/sight.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "src/platform/base/strings.h"

namespace kgpu::host {

void Sight::Note(const Status& status) {
  if (status.code() != StatusCode::kNotFound) {
    Say(Message(status));
  }
}

void Sight::Say(std::string_view sentence) {
  if (std::ranges::find(unreadable_, sentence) == unreadable_.end()) {
    unreadable_.emplace_back(sentence);
  }
}

std::optional<std::string> Sight::Text(std::string_view path, size_t limit) {
  StatusOr<std::string> text = host_.ReadFile(path, limit);
  if (!text.ok()) {
    Note(text.status());
    return std::nullopt;
  }
  return *std::move(text);
}

std::string Sight::Line(std::string_view path) {
  return std::string(Trim(Text(path).value_or("")));
}

std::optional<uint64_t> Sight::Number(std::string_view path) {
  return ParseUint(Line(path));
}

std::vector<std::string> Sight::Names(std::string_view folder) {
  StatusOr<std::vector<std::string>> names = host_.ListDir(folder);
  if (!names.ok()) {
    Note(names.status());
    return {};
  }
  return *std::move(names);
}

std::optional<std::string> Sight::Tail(std::string_view path, size_t count) {
  const StatusOr<UniqueFd> fd = host_.OpenFile(path, O_RDONLY | O_NONBLOCK);
  if (!fd.ok()) {
    Note(fd.status());
    return std::nullopt;
  }
  const off_t size = lseek(fd->get(), 0, SEEK_END);
  if (size < 0) {
    return std::nullopt;
  }
  const off_t start = size > static_cast<off_t>(count) ? size - static_cast<off_t>(count) : 0;
  std::string bytes(count, '\0');
  const ssize_t got = pread(fd->get(), bytes.data(), bytes.size(), start);
  if (got < 0) {
    return std::nullopt;
  }
  bytes.resize(static_cast<size_t>(got));
  return bytes;
}

}  // namespace kgpu::host
