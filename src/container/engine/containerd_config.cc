// containerd's config.toml. How its files are read and merged: containerd, services/server/config
// (1.x) and cmd/containerd/server/config (2.x); keys of the CRI plugin: docs/cri/config.md there.
#include <fnmatch.h>

#include <boost/json.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/config_parts.h"
#include "src/container/engine/containerd_cri.h"
#include "src/container/engine/layers.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::engine {
namespace {

namespace json = boost::json;
using edit::Document;
using edit::Key;

bool IsAtLeast(const ContainerdVersion& version, int major, int minor) {
  return version.major > major || (version.major == major && version.minor >= minor);
}

// The version assumed for a file without a version line.
constexpr int64_t kNoVersion = 1;

int64_t ConfigVersionOf(const Document& file) {
  const json::value* version = file.Find({"version"});
  return version != nullptr && version->is_int64() ? version->get_int64() : kNoVersion;
}

// The version for a new file.
int64_t NewConfigVersion(const ContainerdVersion& version) {
  return IsAtLeast(version, 2, 0) ? 3 : 2;
}

// A text of comments only is as good as none: it may become of any version.
bool IsEmpty(const Document& file) {
  return file.tree().get_object().empty();
}

// Common slips: a version in quotes, which containerd does not start with, and none at all, with
// which it takes the file for version 1 and never looks at the table.
Status CheckVersionLine(const Document& file) {
  const json::value* version = file.Find({"version"});
  if (version != nullptr && !version->is_int64()) {
    return InvalidArgument("{}: version must be an unquoted number, e.g. `version = 2`",
                           file.Where({"version"}));
  }
  const Key newer = {"plugins", "io.containerd.grpc.v1.cri"};
  if (version == nullptr && file.Find(newer) != nullptr) {
    return FailedPrecondition(
        "{}: this table needs config version 2, but the file has no version, so containerd reads "
        "it as version 1: add `version = 2` as its first line",
        file.Where(newer));
  }
  return OkStatus();
}

void NoteDisabledCri(const Document& main, std::vector<std::string>& notes) {
  for (const std::string& plugin : doc::TextsOf(main.Find({"disabled_plugins"}))) {
    if (IsCriPlugin(plugin)) {
      notes.push_back(
          fmt::format("{}: disabled_plugins contains \"{}\": no kubelet can use this containerd "
                      "until you remove it",
                      main.Where({"disabled_plugins"}), plugin));
    }
  }
}

// The first of `imports` that names `path`; their number when none does. Source: resolveImports.
size_t ImportOf(const std::vector<std::string>& imports, std::string_view main_path,
                const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(main_path).parent_path();
  const auto names = [&](const std::string& import) {
    const std::string pattern = (folder / import).lexically_normal();
    return fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0;
  };
  return static_cast<size_t>(std::ranges::find_if(imports, names) - imports.begin());
}

void AddEdit(const Document& document, const NamedText& file, std::vector<FileEdit>& edits) {
  if (!document.changes().empty()) {
    edits.push_back({.path = file.path, .kind = TextKind::kToml, .edit = Finish(document, {})});
  }
}

// Before 2.1: a file's table of a plugin replaces those of the files before it, so all keys go into
// the last file that has one.
struct Target {
  NamedText file;
  int64_t version = kNoVersion;  // of the configuration
  bool is_new = false;
};

StatusOr<Target> TargetOf(const ContainerdInput& input) {
  ASSIGN_OR_RETURN(const Document main,
                   Document::Open(input.main.text, input.main.path, TextKind::kToml));
  RETURN_IF_ERROR(CheckVersionLine(main));
  Target target{.file = input.main, .version = ConfigVersionOf(main), .is_new = IsEmpty(main)};
  if (target.is_new) {
    target.version = NewConfigVersion(input.version);
  } else if (target.version == 1 && IsAtLeast(input.version, 2, 0)) {
    return FailedPrecondition(
        "{}: has config version 1, whose plugin tables containerd 2.0 does not read: run "
        "`containerd config migrate`",
        main.Where({"version"}));
  }
  RETURN_IF_ERROR(Annotate(CriTable(target.version).status(), "{}", main.Where({"version"})));
  const int64_t version = target.version;
  for (const NamedText& file : input.imported) {
    ASSIGN_OR_RETURN(const Document imported,
                     Document::Open(file.text, file.path, TextKind::kToml));
    // containerd 1.x goes by the main file's version, 2.0 by each file's own.
    const bool goes_by_own = IsAtLeast(input.version, 2, 0);
    const int64_t own = goes_by_own ? ConfigVersionOf(imported) : version;
    const StatusOr<Key> table = CriTable(own);
    if (table.ok() && imported.Find(*table) != nullptr) {
      target = {.file = file, .version = own, .is_new = false};
    }
  }
  return target;
}

StatusOr<std::vector<FileEdit>> EditOneFile(const ContainerdInput& input, const Settings& settings,
                                            std::vector<std::string>& notes) {
  ASSIGN_OR_RETURN(const Target target, TargetOf(input));
  ASSIGN_OR_RETURN(Layers layers, Layers::Open({target.file}, 0));
  Document& own = layers.own();
  if (target.is_new) {
    RETURN_IF_ERROR(own.Set({"version"}, target.version));
  }
  if (target.file.path != input.main.path) {
    notes.push_back(
        fmt::format("{} is imported and has a table of the CRI plugin: before containerd 2.1 it "
                    "replaces the whole table of {}, so kgpu edits the imported file",
                    target.file.path, input.main.path));
  }
  ASSIGN_OR_RETURN(const Key table, CriTable(target.version));
  const size_t before = own.changes().size();
  RETURN_IF_ERROR(
      SetCri(layers, {.table = table, .version = input.version, .notes = &notes}, settings));
  std::vector<FileEdit> edits;
  if (own.changes().size() > before) {
    AddEdit(own, target.file, edits);
  }
  return edits;
}

// `input`'s files in the order in which containerd reads them; the drop-in is the one at `own`.
struct Order {
  std::vector<NamedText> files;
  size_t own = 0;
};

Order OrderOf(const ContainerdInput& input, const std::vector<std::string>& imports) {
  const auto place = [&](const std::string& path) {
    return std::pair(ImportOf(imports, input.main.path, path), path);
  };
  Order order{.files = {input.main}, .own = 0};
  for (const NamedText& file : input.imported) {
    // Imports of an imported file are read last.
    const bool is_nested = place(file.path).first == imports.size();
    if (order.own == 0 && (is_nested || place(file.path) > place(input.drop_in.path))) {
      order.own = order.files.size();
      order.files.push_back(input.drop_in);
    }
    order.files.push_back(file);
  }
  if (order.own == 0) {
    order.own = order.files.size();
    order.files.push_back(input.drop_in);
  }
  return order;
}

Status CheckDropInVersion(const Document& drop_in, int64_t version) {
  if (IsEmpty(drop_in) || ConfigVersionOf(drop_in) == version) {
    return OkStatus();
  }
  return FailedPrecondition(
      "{}: has config version {}, but the main file has {}: run `kgpu runtime revert`, then "
      "configure again",
      drop_in.Where({"version"}), ConfigVersionOf(drop_in), version);
}

// A pattern, though it names one file: containerd does not start when a file that is named without
// one is not there.
std::string ImportFor(std::string path) {
  constexpr std::string_view kEnding = ".toml";
  if (path.ends_with(kEnding)) {
    path.insert(path.size() - kEnding.size(), "*");
  }
  return path;
}

// From 2.1 on: keys are merged, so a drop-in with our keys alone is enough.
StatusOr<std::vector<FileEdit>> EditDropIn(const ContainerdInput& input, const Settings& settings,
                                           std::vector<std::string>& notes) {
  ASSIGN_OR_RETURN(Document main,
                   Document::Open(input.main.text, input.main.path, TextKind::kToml));
  RETURN_IF_ERROR(CheckVersionLine(main));
  const bool is_new = IsEmpty(main);
  // Tables of plugins are no longer read from a file of version 1; of a newer drop-in they are.
  const bool is_old = ConfigVersionOf(main) == 1;
  const int64_t version =
      is_new || is_old ? NewConfigVersion(input.version) : ConfigVersionOf(main);
  const StatusOr<Key> table = CriTable(version);
  RETURN_IF_ERROR(Annotate(table.status(), "{}", main.Where({"version"})));
  std::vector<std::string> imports = doc::TextsOf(main.Find({"imports"}));
  if (input.is_main_generated) {
    imports.push_back(std::filesystem::path(input.drop_in.path).replace_filename("*.toml"));
  }
  const Order order = OrderOf(input, imports);
  // Programs that generate `main` also write drop-ins: ours does not rely on any of them.
  ASSIGN_OR_RETURN(Layers layers,
                   Layers::Open(order.files, order.own, input.is_main_generated ? order.own : 0));
  RETURN_IF_ERROR(CheckDropInVersion(layers.own(), version));
  layers.BeginWith(kOurComment, version);
  RETURN_IF_ERROR(
      SetCri(layers, {.table = *table, .version = input.version, .notes = &notes}, settings));

  std::vector<FileEdit> edits;
  for (size_t i = order.own; i < order.files.size(); ++i) {
    AddEdit(layers.documents()[i], order.files[i], edits);
  }
  const bool is_read = ImportOf(imports, input.main.path, input.drop_in.path) < imports.size();
  if (!layers.own().text().empty() && !is_read) {
    if (is_new) {
      RETURN_IF_ERROR(main.Set({"version"}, version));
    }
    RETURN_IF_ERROR(main.AddItem({"imports"}, ImportFor(input.drop_in.path)));
    AddEdit(main, input.main, edits);
  }
  return edits;
}

}  // namespace

StatusOr<std::vector<FileEdit>> EditContainerd(const ContainerdInput& input,
                                               const Settings& settings) {
  RETURN_IF_ERROR(CheckSettings(settings));
  ASSIGN_OR_RETURN(const Document main,
                   Document::Open(input.main.text, input.main.path, TextKind::kToml));
  std::vector<std::string> notes;
  NoteDisabledCri(main, notes);
  const bool is_merging =
      !input.drop_in.path.empty() && (input.is_main_generated || IsAtLeast(input.version, 2, 1));
  if (!is_merging && !input.drop_in.text.empty()) {
    return FailedPrecondition(
        "{}: needs containerd 2.1 or newer; in {}.{} its tables would replace those of the main "
        "file: run `kgpu runtime revert` first",
        input.drop_in.path, input.version.major, input.version.minor);
  }
  StatusOr<std::vector<FileEdit>> edits =
      is_merging ? EditDropIn(input, settings, notes) : EditOneFile(input, settings, notes);
  RETURN_IF_ERROR(edits.status());
  if (edits->empty()) {
    // Nothing to write, but perhaps something to report.
    edits->push_back({.path = input.main.path,
                      .kind = TextKind::kToml,
                      .edit = {.text = input.main.text, .changes = {}, .notes = {}}});
  }
  edits->front().edit.notes = std::move(notes);
  return edits;
}

}  // namespace kgpu::engine
