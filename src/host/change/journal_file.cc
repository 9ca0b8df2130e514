#include "src/host/change/journal_file.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <utility>

#include <fmt/format.h>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/utf8.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/fields.h"

namespace kgpu::change {
namespace {

constexpr int64_t kFormat = 1;

}  // namespace

std::string JournalFile::Print(boost::json::object fields) {
  fields["format"] = kFormat;
  return doc::Print(std::move(fields), doc::Format::kJson);
}

StatusOr<boost::json::value> JournalFile::Parse(std::string_view text,
                                                std::string_view file) const {
  ASSIGN_OR_RETURN(boost::json::value tree,
                   doc::Parse(text, doc::Format::kJson, file, {.bytes = most_bytes_}));
  doc::Fields fields(tree, std::string(file));
  const int64_t format = fields.Number("format");
  RETURN_IF_ERROR(fields.status());
  if (format != kFormat) {
    return InvalidArgument("{}: written by another version of kgpu (format {}): use that version",
                           file, format);
  }
  return tree;
}

Status JournalFile::WithWay(const Status& status, const sys::Root& host) const {
  return MakeStatus(status.code(),
                    fmt::format("{}; restore it from a copy, or remove it: the changes it records "
                                "can then not be undone{}",
                                Message(status),
                                backups_.empty() ? ""
                                                 : fmt::format("; the original files are in {}",
                                                               host.At(backups_))));
}

Status JournalFile::Write(std::string_view text, Disk& disk) const {
  if (const auto bad = FindInvalidUtf8(text); bad) {
    return InvalidArgument("{}: a recorded name is not UTF-8 (byte {})", path_, *bad);
  }
  if (text.size() > most_bytes_) {
    return OutOfRange("{}: would have {} bytes, limit {}", path_, text.size(), most_bytes_);
  }
  return disk.Write(std::string(path_), text, kRootOnly);
}

Status JournalFile::Remove(Disk& disk) const {
  RETURN_IF_ERROR(disk.Tidy(std::string(path_)));
  return disk.Remove(std::string(path_));
}

}  // namespace kgpu::change
