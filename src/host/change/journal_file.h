// A journal: the JSON file on the host that tells what kgpu has begun there. It is written before
// anything is touched, so that a kill at any instant can be gone on with or taken back.
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
  // `backups` is the folder with the first texts of files; empty: none are kept. All texts are
  // literals. Texts of more than `most_bytes` are neither read nor written.
  constexpr JournalFile(std::string_view path, size_t most_bytes, std::string_view backups = {})
      : path_(path), most_bytes_(most_bytes), backups_(backups) {}

  // The object as JSON, with the format that all journals have. `fields` has no "format".
  static std::string Print(boost::json::object fields);
  // Errors: InvalidArgument, naming `file` and the field (also: of another format).
  StatusOr<boost::json::value> Parse(std::string_view text, std::string_view file) const;

  // Nothing where there is none. `parse` gets the text and the name of the file. Errors: those of
  // `parse`, with what to do, and of reading.
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

  // For root's eyes only. Errors: those of Disk::Write; OutOfRange; InvalidArgument (bytes in it
  // that JSON cannot hold).
  Status Write(std::string_view text, Disk& disk) const;
  // With what killed writers left beside it.
  Status Remove(Disk& disk) const;

 private:
  Status WithWay(const Status& status, const sys::Root& host) const;

  std::string_view path_;
  size_t most_bytes_;
  std::string_view backups_;
};

}  // namespace kgpu::change
