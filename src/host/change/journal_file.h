// A journal: the JSON file on the host that records what kgpu has begun there. It is written before
// anything is changed, so that a kill at any moment can be resumed or reverted.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/root.h"

namespace kgpu::change {

class JournalFile {
 public:
  // `backups` is the folder for the original file contents; empty: none are kept. All arguments
  // must be literals. Texts of more than `most_bytes` are neither read nor written.
  constexpr JournalFile(std::string_view path, size_t most_bytes, std::string_view backups = {})
      : path_(path), most_bytes_(most_bytes), backups_(backups) {}

  constexpr std::string_view path() const { return path_; }

  // The object as JSON, with the "format" field that all journals share. `fields` has no "format".
  static std::string Print(boost::json::object fields);
  // Errors: InvalidArgument, naming `file` and the field (or another format).
  StatusOr<boost::json::value> Parse(std::string_view text, std::string_view file) const;

  // Nothing if there is none. `parse` gets the text and the file's name. Errors: those of `parse`,
  // with the fix, and of reading.
  template <typename Parsed>
  StatusOr<std::optional<Parsed>> Read(const sys::Root& host,
                                       StatusOr<Parsed> (*parse)(std::string_view text,
                                                                 std::string_view file)) const {
    const StatusOr<std::string> text = host.ReadFile(path_, most_bytes_);
    if (text.status().code() == StatusCode::kNotFound) {
      return std::optional<Parsed>();
    }
    RETURN_IF_ERROR(text.status());
    StatusOr<Parsed> parsed = parse(*text, host.At(path_));
    return parsed.ok() ? StatusOr<std::optional<Parsed>>(*std::move(parsed))
                       : WithWay(parsed.status(), host);
  }

  // Readable by root only. Errors: those of Disk::Write; OutOfRange; InvalidArgument (bytes that
  // JSON cannot hold).
  Status Write(std::string_view text, Disk& disk) const;
  // Also removes what killed writers left beside it.
  Status Remove(Disk& disk) const;

 private:
  Status WithWay(const Status& status, const sys::Root& host) const;

  std::string_view path_;
  size_t most_bytes_;
  std::string_view backups_;
};

}  // namespace kgpu::change
