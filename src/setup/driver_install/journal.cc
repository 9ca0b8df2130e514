#include "src/setup/driver_install/journal.h"

#include <boost/json/value.hpp>

#include <array>
#include <utility>

#include "src/host/change/journal_file.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_texts.h"
#include "src/setup/driver_install/plan_json.h"

namespace kgpu::driver_install {
namespace {

namespace json = boost::json;

constexpr change::JournalFile kFile(kJournalFile, size_t{16} << 20, kBackupFolder);

constexpr std::array<std::string_view, 6> kStates = {"pending",     "doing",   "done",
                                                     "passed-over", "undoing", "undone"};
constexpr std::array<std::string_view, 3> kPhases = {"installing", "installed", "going-back"};
constexpr std::array<std::string_view, 3> kFileKinds = {"absent", "file", "link"};

json::object FileJson(const FileBefore& file) {
  return {{"kind", doc::View(kFileKinds[static_cast<size_t>(file.kind)])},
          {"backup", doc::View(file.backup)},
          {"target", doc::View(file.target)},
          {"mode", static_cast<int64_t>(file.attributes.mode)},
          {"uid", static_cast<int64_t>(file.attributes.uid)},
          {"gid", static_cast<int64_t>(file.attributes.gid)}};
}

json::object RecordJson(const StepRecord& record) {
  json::object object = {
      {"state", doc::View(kStates[static_cast<size_t>(record.state)])},
      {"wasDone", record.was_done},
      {"note", doc::View(record.note)},
      {"file", record.file ? json::value(FileJson(*record.file)) : json::value()},
      {"folders", doc::Texts(record.folders)},
      {"packagesBefore", doc::TextMap(record.packages_before)},
      {"foreseen", doc::Texts(record.foreseen.value_or(std::vector<std::string>()))},
      {"configured", doc::Texts(record.configured)},
      {"came", doc::TextMap(record.came)},
      {"replaced", doc::TextMap(record.replaced)},
      {"unfinished", doc::Texts(record.unfinished)},
      {"changedConfigs", doc::Texts(record.changed_configs)},
      {"units", doc::Texts(record.units)},
      {"enabled", doc::Texts(record.enabled)},
      {"modules", doc::Texts(record.modules)},
      {"bootId", doc::View(record.boot_id)}};
  if (!record.foreseen) {
    object.stable_erase("foreseen");
  }
  return object;
}

// A number of an unsigned type of 32 bits.
uint32_t ReadNumber(doc::Fields& fields, std::string_view key, int64_t most) {
  const int64_t number = fields.Number(key);
  if (number < 0 || number > most) {
    fields.Fail(key, fmt::format("must be of 0 to {}", most));
    return 0;
  }
  return static_cast<uint32_t>(number);
}

StatusOr<FileBefore> ReadFileBefore(const json::value& value, const std::string& where) {
  doc::Fields fields(value, where);
  FileBefore file;
  file.kind = static_cast<FileKind>(fields.Word("kind", kFileKinds));
  file.backup = fields.Text("backup");
  file.target = fields.Text("target");
  file.attributes.mode = ReadNumber(fields, "mode", 07777);
  file.attributes.uid = ReadNumber(fields, "uid", UINT32_MAX);
  file.attributes.gid = ReadNumber(fields, "gid", UINT32_MAX);
  // "driver-backup/0-name", or "driver-backup-2/0-name" of what replaced the first.
  const bool is_ours = file.backup.starts_with(kBackupFolder) &&
                       file.backup.find('/', kBackupFolder.size()) != std::string::npos &&
                       file.backup.find("/..") == std::string::npos;
  if (file.kind == FileKind::kFile && !is_ours) {
    fields.Fail("backup", fmt::format("must be a file in {}", kBackupFolder));
  }
  RETURN_IF_ERROR(fields.status());
  return file;
}

// A list that records of before it have none of.
std::vector<std::string> ReadNewTexts(doc::Fields& fields, std::string_view key) {
  return fields.Has(key) ? fields.Texts(key) : std::vector<std::string>();
}

StatusOr<StepRecord> ReadRecord(const json::value& value, const std::string& where) {
  doc::Fields fields(value, where);
  StepRecord record;
  record.state = static_cast<StepState>(fields.Word("state", kStates));
  record.was_done = fields.Bool("wasDone");
  record.note = fields.Text("note");
  record.folders = fields.Texts("folders");
  record.packages_before = fields.TextMap("packagesBefore");
  // Records of before these fields have none: which is not the same as a trial that listed
  // nothing.
  record.foreseen.reset();
  if (fields.Has("foreseen")) {
    record.foreseen = fields.Texts("foreseen");
  }
  record.configured = ReadNewTexts(fields, "configured");
  record.came = fields.TextMap("came");
  record.replaced = fields.TextMap("replaced");
  record.unfinished = ReadNewTexts(fields, "unfinished");
  record.changed_configs = ReadNewTexts(fields, "changedConfigs");
  record.units = fields.Texts("units");
  record.enabled = fields.Texts("enabled");
  record.modules = fields.Texts("modules");
  record.boot_id = fields.Text("bootId");
  const json::value& file = fields.Get("file");
  RETURN_IF_ERROR(fields.status());
  if (!file.is_null()) {
    ASSIGN_OR_RETURN(record.file, ReadFileBefore(file, where + ".file"));
  }
  return record;
}

json::object JournalJson(const Journal& journal) {
  json::array steps;
  for (const StepRecord& record : journal.steps) {
    steps.push_back(RecordJson(record));
  }
  json::object object = {{"phase", doc::View(kPhases[static_cast<size_t>(journal.phase)])},
                         {"began", journal.began},
                         {"failure", doc::View(journal.failure)},
                         {"keeps", journal.keeps},
                         {"restarts", journal.restarts},
                         {"takesAll", journal.takes_all},
                         {"addsKernel", journal.adds_kernel},
                         {"steps", std::move(steps)},
                         {"plan", PlanToJson(journal.plan)}};
  json::array below;
  for (const Journal& one : journal.below) {
    below.push_back(JournalJson(one));
  }
  if (!below.empty()) {
    object["below"] = std::move(below);
  }
  return object;
}

// Without the journals below it.
StatusOr<Journal> ReadOne(const json::value& tree, const std::string& where) {
  doc::Fields fields(tree, where);
  Journal journal;
  journal.phase = static_cast<Phase>(fields.Word("phase", kPhases));
  journal.began = fields.Number("began");
  journal.failure = fields.Text("failure");
  journal.keeps = fields.Has("keeps") && fields.Bool("keeps");
  journal.restarts = fields.Has("restarts") && fields.Bool("restarts");
  journal.takes_all = fields.Has("takesAll") && fields.Bool("takesAll");
  journal.adds_kernel = fields.Has("addsKernel") && fields.Bool("addsKernel");
  const json::value& steps = fields.Get("steps");
  const json::value& plan = fields.Get("plan");
  if (!steps.is_array()) {
    fields.Fail("steps", "must be a list");
  }
  RETURN_IF_ERROR(fields.status());
  ASSIGN_OR_RETURN(journal.plan, PlanFromJson(plan, where + ": plan"));
  if (steps.get_array().size() != journal.plan.steps.size()) {
    return InvalidArgument("{}: steps: {} records of a plan of {} steps", where,
                           steps.get_array().size(), journal.plan.steps.size());
  }
  for (size_t i = 0; i < steps.get_array().size(); ++i) {
    ASSIGN_OR_RETURN(StepRecord record,
                     ReadRecord(steps.get_array()[i], fmt::format("{}: steps[{}]", where, i)));
    journal.steps.push_back(std::move(record));
  }
  return journal;
}

}  // namespace

std::string_view ToString(StepState state) {
  return kStates[static_cast<size_t>(state)];
}

std::string_view ToString(Phase phase) {
  return kPhases[static_cast<size_t>(phase)];
}

std::string BackupFolder(const Journal& journal) {
  return journal.below.empty() ? std::string(kBackupFolder)
                               : fmt::format("{}-{}", kBackupFolder, journal.below.size() + 1);
}

std::string PrintJournal(const Journal& journal) {
  return change::JournalFile::Print(JournalJson(journal));
}

StatusOr<Journal> ParseJournal(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const json::value tree, kFile.Parse(text, file));
  const std::string name(file);
  doc::Fields fields(tree, name);
  const json::value below =
      fields.Has("below") ? fields.Get("below") : json::value(json::array_kind);
  const bool adds_kernel = fields.Has("addsKernel") && fields.Bool("addsKernel");
  // A journal that adds a kernel has no driver of its own, and is on top of one.
  const size_t most = kMostBelow + (adds_kernel ? 1 : 0);
  if (!below.is_array() || below.get_array().size() > most) {
    fields.Fail("below", fmt::format("must be a list of at most {}", most));
  } else if (adds_kernel && below.get_array().empty()) {
    fields.Fail("below", "must contain the driver that a kernel is added to");
  }
  RETURN_IF_ERROR(fields.status());
  ASSIGN_OR_RETURN(Journal journal, ReadOne(tree, name));
  for (size_t i = 0; i < below.get_array().size(); ++i) {
    ASSIGN_OR_RETURN(Journal one,
                     ReadOne(below.get_array()[i], fmt::format("{}: below[{}]", file, i)));
    journal.below.push_back(std::move(one));
  }
  return journal;
}

StatusOr<std::optional<Journal>> ReadJournal(const sys::Root& host) {
  return kFile.Read(host, ParseJournal);
}

Status WriteJournal(const Journal& journal, change::Disk& disk) {
  return kFile.Write(PrintJournal(journal), disk);
}

}  // namespace kgpu::driver_install
