#include "src/container/engine/state.h"

#include <boost/json/value.hpp>

#include <array>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/edit/change.h"

namespace kgpu::engine {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 3> kPhases = {"applying", "applied", "reverting"};
constexpr std::array<std::string_view, 3> kReaches = {"nothing", "reload", "restart"};
constexpr std::array<std::string_view, 4> kKinds = {"json", "toml", "toml-template", "whole"};

json::value FileJson(const FileRecord& file) {
  return json::object{{"path", doc::View(file.path)},
                      {"backup", doc::View(file.backup)},
                      {"kind", doc::View(kKinds[file.kind ? static_cast<size_t>(*file.kind) : 3])},
                      {"changes", edit::ChangesToJson(file.changes)},
                      {"ours", doc::Texts(file.ours)}};
}

json::value RecordJson(const Record& record) {
  json::array files;
  for (const FileRecord& file : record.files) {
    files.push_back(FileJson(file));
  }
  json::object links;
  for (const auto& [path, target] : record.links) {
    links[doc::View(path)] = doc::View(target);
  }
  return json::object{
      {"phase", doc::View(kPhases[static_cast<size_t>(record.phase)])},
      {"files", std::move(files)},
      {"links", std::move(links)},
      {"madeFolders", doc::Texts(record.made_folders)},
      {"usesRuntime", record.uses_runtime},
      {"unitChange", record.has_unit_change},
      {"reach", doc::View(kReaches[static_cast<size_t>(record.reach)])},
      {"reachReason", doc::View(record.reach_reason)},
      {"pending", doc::View(kReaches[static_cast<size_t>(record.pending)])},
      {"changedAt", record.changed_at},
      {"runtime", doc::View(record.expected.runtime)},
      {"default", record.expected.is_default},
      {"cdi", record.expected.cdi ? json::value(*record.expected.cdi) : json::value()}};
}

StatusOr<FileRecord> ReadFileRecord(const json::value& value, std::string where) {
  doc::Fields fields(value, std::move(where));
  FileRecord file;
  file.path = fields.Text("path");
  file.backup = fields.Text("backup");
  const size_t kind = fields.Word("kind", kKinds);
  file.kind = kind < 3 ? std::optional(static_cast<TextKind>(kind)) : std::nullopt;
  file.ours = fields.Texts("ours");
  const json::value& changes = fields.Get("changes");
  RETURN_IF_ERROR(fields.status());
  ASSIGN_OR_RETURN(file.changes, edit::ChangesFromJson(changes, fields.where() + ".changes"));
  return file;
}

StatusOr<Record> ReadRecord(const json::value& value, const std::string& where) {
  doc::Fields fields(value, where);
  Record record;
  record.phase = static_cast<Phase>(fields.Word("phase", kPhases));
  record.links = fields.TextMap("links");
  record.made_folders = fields.Texts("madeFolders");
  record.uses_runtime = fields.Bool("usesRuntime");
  record.has_unit_change = fields.Bool("unitChange");
  record.reach = static_cast<Reach>(fields.Word("reach", kReaches));
  record.reach_reason = fields.Text("reachReason");
  record.pending = static_cast<Reach>(fields.Word("pending", kReaches));
  record.changed_at = fields.Number("changedAt");
  record.expected.runtime = fields.Text("runtime");
  record.expected.is_default = fields.Bool("default");
  if (const json::value& cdi = fields.Get("cdi"); cdi.is_bool()) {
    record.expected.cdi = cdi.get_bool();
  }
  const json::value& files = fields.Get("files");
  RETURN_IF_ERROR(fields.status());
  if (!files.is_array()) {
    return InvalidArgument("{}.files: must be a list", where);
  }
  for (size_t i = 0; i < files.get_array().size(); ++i) {
    ASSIGN_OR_RETURN(FileRecord file,
                     ReadFileRecord(files.get_array()[i], fmt::format("{}.files[{}]", where, i)));
    record.files.push_back(std::move(file));
  }
  return record;
}

}  // namespace

std::string PrintState(const State& state) {
  json::object engines;
  for (const auto& [id, record] : state) {
    engines[doc::View(id)] = RecordJson(record);
  }
  return change::JournalFile::Print({{"engines", std::move(engines)}});
}

StatusOr<State> ParseState(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const json::value tree, kStateJournal.Parse(text, file));
  doc::Fields fields(tree, std::string(file));
  const json::value& engines = fields.Get("engines");
  RETURN_IF_ERROR(fields.status());
  if (!engines.is_object()) {
    return InvalidArgument("{}: engines: must be an object", file);
  }
  State state;
  for (const auto& engine : engines.get_object()) {
    const std::string id(engine.key().data(), engine.key().size());
    ASSIGN_OR_RETURN(state[id],
                     ReadRecord(engine.value(), fmt::format("{}: {}", file, Printable(id, 60))));
  }
  return state;
}

StatusOr<State> ReadState(const sys::Root& host) {
  ASSIGN_OR_RETURN(std::optional<State> state, kStateJournal.Read(host, ParseState));
  return std::move(state).value_or(State());
}

}  // namespace kgpu::engine
