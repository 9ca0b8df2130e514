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
constexpr std::array<std::string_view, 4> kPhases = {"installing", "installed", "going-back",
                                                     "removed"};
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
  const bool is_ours = file.backup.starts_with(fmt::format("{}/", kBackupFolder)) &&
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
                         {"steps", std::move(steps)},
                         {"plan", PlanToJson(journal.plan)}};
  if (journal.former) {
    object["former"] =
        json::object{{"plan", PlanToJson(journal.former->plan)}, {"began", journal.former->began}};
  }
  return object;
}

StatusOr<Former> ReadFormer(const json::value& value, const std::string& where) {
  doc::Fields fields(value, where);
  Former former;
  former.began = fields.Number("began");
  const json::value& plan = fields.Get("plan");
  RETURN_IF_ERROR(fields.status());
  ASSIGN_OR_RETURN(former.plan, PlanFromJson(plan, where + ".plan"));
  return former;
}

// Earlier versions stacked drivers: each journal had those of the replaced drivers below it.
Status CheckOneDriver(doc::Fields& fields) {
  if (!fields.Has("below") && !(fields.Has("addsKernel") && fields.Bool("addsKernel"))) {
    return OkStatus();
  }
  return FailedPrecondition(
      "{}: below: an older kgpu installed several drivers over each other: run kgpu driver remove "
      "with that kgpu, then kgpu driver install with this one",
      fields.where());
}

StatusOr<Journal> ReadTree(const json::value& tree, const std::string& where) {
  doc::Fields fields(tree, where);
  RETURN_IF_ERROR(CheckOneDriver(fields));
  Journal journal;
  journal.phase = static_cast<Phase>(fields.Word("phase", kPhases));
  journal.began = fields.Number("began");
  journal.failure = fields.Text("failure");
  journal.keeps = fields.Has("keeps") && fields.Bool("keeps");
  journal.restarts = fields.Has("restarts") && fields.Bool("restarts");
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
  if (fields.Has("former")) {
    ASSIGN_OR_RETURN(journal.former, ReadFormer(fields.Get("former"), where + ": former"));
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

std::string PrintJournal(const Journal& journal) {
  return change::JournalFile::Print(JournalJson(journal));
}

StatusOr<Journal> ParseJournal(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const json::value tree, kFile.Parse(text, file));
  return ReadTree(tree, std::string(file));
}

StatusOr<std::optional<Journal>> ReadJournal(const sys::Root& host) {
  return kFile.Read(host, ParseJournal);
}

Status WriteJournal(const Journal& journal, change::Disk& disk) {
  return kFile.Write(PrintJournal(journal), disk);
}

}  // namespace kgpu::driver_install
