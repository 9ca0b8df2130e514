#include "src/setup/bringup/record.h"

#include <boost/json/value.hpp>

#include <utility>

#include "src/host/change/journal_file.h"
#include "src/host/change/lock.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::bringup {
namespace {

namespace json = boost::json;

constexpr change::JournalFile kFile(kRecordFile, size_t{1} << 20);

json::object ListsJson(const std::map<std::string, std::vector<std::string>>& lists) {
  json::object object;
  for (const auto& [key, texts] : lists) {
    object[doc::View(key)] = doc::Texts(texts);
  }
  return object;
}

// A field of them. Errors: InvalidArgument, naming it.
Status ReadLists(doc::Fields& fields, std::string_view name, std::string_view file,
                 std::map<std::string, std::vector<std::string>>& lists) {
  const json::value& listed = fields.Get(name);
  RETURN_IF_ERROR(fields.status());
  doc::Fields inner(listed, fmt::format("{}.{}", file, name));
  RETURN_IF_ERROR(inner.status());
  for (const auto& one : listed.get_object()) {
    const std::string key(one.key().data(), one.key().size());
    lists[key] = inner.Texts(key);
  }
  return inner.status();
}

}  // namespace

std::string PrintRecord(const Record& record) {
  return change::JournalFile::Print({{"stages", doc::Texts(record.stages)},
                                     {"files", ListsJson(record.files)},
                                     {"othersAgent", record.has_others_agent},
                                     {"enabledUnit", record.has_enabled_unit},
                                     {"own", ListsJson(record.own)}});
}

StatusOr<Record> ParseRecord(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const json::value tree, kFile.Parse(text, file));
  doc::Fields fields(tree, std::string(file));
  Record record;
  record.stages = fields.Texts("stages");
  // Records of before there were such fields lack them.
  record.has_others_agent = fields.Has("othersAgent") && fields.Bool("othersAgent");
  record.has_enabled_unit = fields.Has("enabledUnit") && fields.Bool("enabledUnit");
  RETURN_IF_ERROR(fields.status());
  RETURN_IF_ERROR(ReadLists(fields, "files", file, record.files));
  if (fields.Has("own")) {
    RETURN_IF_ERROR(ReadLists(fields, "own", file, record.own));
  }
  return record;
}

StatusOr<Record> ReadRecord(const sys::Root& host) {
  ASSIGN_OR_RETURN(std::optional<Record> record, kFile.Read(host, ParseRecord));
  return std::move(record).value_or(Record());
}

Status WriteRecord(change::Disk& disk, const Record& record) {
  return record == Record{} ? kFile.Remove(disk) : kFile.Write(PrintRecord(record), disk);
}

StatusOr<UniqueFd> LockRecord(const sys::Root& host, change::Disk& disk) {
  return change::LockFolder(host, disk, kRecordFolder, "another kgpu node up or down");
}

}  // namespace kgpu::bringup
