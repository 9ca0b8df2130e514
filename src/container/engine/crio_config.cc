// A drop-in of crio.conf.d(5). CRI-O reads its files in order; the table of a runtime in a later
// file replaces the whole earlier table. Source: cri-o, pkg/config/config.go.
#include <boost/json.hpp>

#include <algorithm>
#include <utility>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/config_parts.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::engine {
namespace {

namespace json = boost::json;
using edit::Document;
using edit::Key;

Key RuntimeTable() {
  return {"crio", "runtime"};
}

// The effective value among `files`, and the file that has it.
struct Found {
  const json::value* value = nullptr;
  const Document* file = nullptr;
};

Found FindLast(const std::vector<Document>& files, const Key& key) {
  Found found;
  for (const Document& file : files) {
    if (const json::value* value = file.Find(key)) {
      found = {.value = value, .file = &file};
    }
  }
  return found;
}

// Options of the default runtime that shall not be those of ours.
bool IsOwnOption(std::string_view name) {
  constexpr std::string_view kOwn[] = {"runtime_path", "runtime_type", "runtime_config_path",
                                       "inherit_default_runtime", "platform_runtime_paths"};
  return std::ranges::find(kOwn, name) != std::end(kOwn);
}

// The table of the default runtime among `files`; null when none is written out.
const json::value* DefaultRuntime(const std::vector<Document>& files, std::string_view ours) {
  const json::value* name = FindLast(files, RuntimeTable() / "default_runtime").value;
  std::string like = name != nullptr && name->is_string() ? std::string(name->get_string()) : "";
  like = like.empty() || like == ours ? "crun" : like;
  const Key runtimes = RuntimeTable() / "runtimes";
  const json::value* table = FindLast(files, runtimes / like).value;
  return table != nullptr ? table : FindLast(files, runtimes / "runc").value;
}

Status SetRuntime(Document& document, const json::value* like, const NamedRuntime& wanted,
                  std::vector<std::string>& notes) {
  const Key ours = RuntimeTable() / "runtimes" / wanted.name;
  RETURN_IF_ERROR(document.Set(ours / "runtime_path", TextValue(wanted.path)));
  RETURN_IF_ERROR(document.Set(ours / "runtime_type", "oci"));
  const json::object none;
  for (const auto& field : like != nullptr && like->is_object() ? like->get_object() : none) {
    const std::string option(field.key());
    if (document.Find(ours / option) != nullptr || IsOwnOption(option) || IsZero(field.value())) {
      continue;
    }
    if (field.value().is_object()) {
      notes.push_back(fmt::format("{} of the default runtime is not copied", Printable(option)));
      continue;
    }
    RETURN_IF_ERROR(document.Set(ours / option, field.value()));
  }
  // An empty one would be handed to the runtime as `--root ""`.
  if (document.Find(ours / "runtime_root") == nullptr) {
    RETURN_IF_ERROR(document.Set(ours / "runtime_root", "/run/runc"));
  }
  return OkStatus();
}

// A file that is read later and has one of our keys makes the drop-in void.
Status CheckLater(const Document& file, const NamedRuntime& wanted, bool is_default) {
  const Key runtime = RuntimeTable() / "runtimes" / wanted.name;
  const json::value* path = file.Find(runtime / "runtime_path");
  const bool is_ours = path != nullptr && *path == TextValue(wanted.path);
  if (file.Find(runtime) != nullptr && !is_ours) {
    return FailedPrecondition(
        "{}: also defines runtime {}, and CRI-O reads it later: remove that table, or use another "
        "name",
        file.Where(runtime), wanted.name);
  }
  const Key key = RuntimeTable() / "default_runtime";
  const json::value* name = file.Find(key);
  if (is_default && name != nullptr && *name != TextValue(wanted.name)) {
    return FailedPrecondition("{}: also sets default_runtime, and CRI-O reads it later: remove it",
                              file.Where(key));
  }
  return OkStatus();
}

Status SetSpecFolders(Document& document, const std::vector<Document>& files,
                      const std::vector<std::string>& folders) {
  const Key key = RuntimeTable() / "cdi_spec_dirs";
  std::vector<std::string> known = doc::TextsOf(document.Find(key));
  if (known.empty()) {
    known = doc::TextsOf(FindLast(files, key).value);
  }
  if (known.empty()) {
    known = {"/etc/cdi", "/var/run/cdi"};
  }
  const std::vector<std::string> wanted = Union(known, folders);
  return wanted == known ? OkStatus() : document.Set(key, doc::Texts(wanted));
}

}  // namespace

StatusOr<TextEdit> EditCrio(const CrioInput& input, const Settings& settings) {
  RETURN_IF_ERROR(CheckSettings(settings));
  std::vector<Document> files;
  for (const NamedText& file : input.files) {
    ASSIGN_OR_RETURN(Document document, Document::Open(file.text, file.path, TextKind::kToml));
    files.push_back(std::move(document));
  }
  ASSIGN_OR_RETURN(Document document,
                   Document::Open(input.drop_in.text, input.drop_in.path, TextKind::kToml));
  std::vector<std::string> notes;
  if (settings.cdi == false) {
    notes.emplace_back("CRI-O has no setting for CDI: it is always enabled");
  }
  if (!settings.container_annotations.empty()) {
    notes.emplace_back("CRI-O passes on all annotations of a container: nothing to write");
  }
  const bool has_comment = !input.drop_in.text.empty();
  if (!has_comment) {
    RETURN_IF_ERROR(document.SetComment(kOurComment));
  }
  if (settings.runtime.has_value()) {
    const NamedRuntime& wanted = *settings.runtime;
    for (size_t i = 0; i < files.size(); ++i) {
      if (IsLaterDropIn(input.files[i].path, input.drop_in.path)) {
        RETURN_IF_ERROR(CheckLater(files[i], wanted, settings.set_default));
      }
    }
    if (settings.set_default) {
      NoteDefault(FindLast(files, RuntimeTable() / "default_runtime").value, "default_runtime",
                  wanted.name, notes);
      RETURN_IF_ERROR(document.Set(RuntimeTable() / "default_runtime", TextValue(wanted.name)));
    }
    RETURN_IF_ERROR(SetRuntime(document, DefaultRuntime(files, wanted.name), wanted, notes));
  }
  RETURN_IF_ERROR(SetSpecFolders(document, files, settings.cdi_spec_dirs));
  if (!has_comment && document.changes().size() == 1) {
    return TextEdit{.text = input.drop_in.text, .changes = {}, .notes = std::move(notes)};
  }
  return Finish(document, std::move(notes));
}

}  // namespace kgpu::engine
