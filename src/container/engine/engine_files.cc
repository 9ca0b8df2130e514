#include "src/container/engine/engine_files.h"

#include <sys/stat.h>

#include <boost/json/value.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "src/container/engine/config_parts.h"
#include "src/container/engine/imports.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/edit/document.h"

namespace kgpu::engine {
namespace {

namespace json = boost::json;

constexpr size_t kMostConfigBytes = size_t{4} << 20;
constexpr std::string_view kRegistryFolder = "/etc/containerd/certs.d";

std::string PathIn(std::string_view folder, std::string_view name) {
  return (std::filesystem::path(folder) / name).string();
}

// The files of a drop-in folder in the order of their names, without ours.
StatusOr<std::vector<NamedText>> ReadFolder(const sys::Root& host, const std::string& folder,
                                            std::string_view ours, std::string_view ending) {
  std::vector<NamedText> files;
  const auto names = host.ListDir(folder);
  if (!names.ok()) {
    return files;  // a folder that is not there is an empty one
  }
  for (const std::string& name : *names) {
    const std::string path = PathIn(folder, name);
    if (path == ours || name.starts_with('.') || !name.ends_with(ending)) {
      continue;
    }
    ASSIGN_OR_RETURN(std::string text, host.ReadFile(path, kMostConfigBytes));
    files.push_back({path, std::move(text)});
  }
  return files;
}

// `usual` by its name, in the engine's folder.
std::string DropInOf(const Engine& engine, std::string_view usual) {
  return PathIn(engine.drop_in_folder, usual.substr(usual.rfind('/') + 1));
}

// The name that is read after those of others, in the folder of `path`.
std::string LastOf(const std::string& path) {
  const std::filesystem::path usual(path);
  return (usual.parent_path() / fmt::format("zz-kgpu{}", usual.extension().string())).string();
}

std::string LastIfThere(const sys::Root& host, std::string usual) {
  std::string last = LastOf(usual);
  return host.Exists(last) ? last : usual;
}

std::string DropInPath(const sys::Root& host, const Engine& engine) {
  if (engine.drop_in_folder.empty()) {
    return "";
  }
  switch (engine.kind) {
    case Kind::kDocker:
      break;
    case Kind::kContainerd:
      return LastIfThere(host, DropInOf(engine, kContainerdDropIn));
    case Kind::kCrio:
      return LastIfThere(host, DropInOf(engine, kCrioDropIn));
    case Kind::kPodman:
      return LastIfThere(host, DropInOf(engine, kPodmanDropIn));
  }
  return "";
}

// The files that are read beside Engine::config_file and our drop-in.
StatusOr<std::vector<NamedText>> ReadOthers(const sys::Root& host, const Engine& engine,
                                            const EngineFiles& files) {
  const bool is_k0s = engine.distribution == "k0s" && HasOnlyDropIn(engine);
  if (engine.kind == Kind::kCrio || engine.kind == Kind::kPodman || is_k0s) {
    const std::string_view ending = is_k0s ? ".toml" : engine.kind == Kind::kPodman ? ".conf" : "";
    return ReadFolder(host, engine.drop_in_folder, files.drop_in_path, ending);
  }
  if (engine.kind == Kind::kContainerd && files.generated) {
    return ReadImports(host, {engine.generated_file, *files.generated}, files.drop_in_path);
  }
  if (engine.kind == Kind::kContainerd && engine.generated_file.empty() && files.main) {
    return ReadImports(host, {engine.config_file, *files.main}, files.drop_in_path);
  }
  return std::vector<NamedText>();
}

FileStep StepOf(const std::string& path, const std::optional<std::string>& before, TextKind kind,
                TextEdit edit) {
  FileStep step;
  step.path = path;
  step.before = before;
  step.after = std::move(edit.text);
  step.kind = kind;
  step.changes = std::move(edit.changes);
  return step;
}

// One file, one edit: a step where it changes something.
std::vector<FileStep> OneStep(const std::string& path, const std::optional<std::string>& before,
                              TextKind kind, TextEdit edit, std::vector<std::string>& notes) {
  std::ranges::copy(edit.notes, std::back_inserter(notes));
  std::vector<FileStep> steps;
  if (!edit.changes.empty()) {
    steps.push_back(StepOf(path, before, kind, std::move(edit)));
  }
  return steps;
}

std::optional<std::string> TextNow(const Engine& engine, const EngineFiles& files,
                                   const std::string& path) {
  if (path == engine.config_file) {
    return files.main;
  }
  const auto other = std::ranges::find(files.others, path, &NamedText::path);
  return other == files.others.end() ? files.drop_in : std::optional(other->text);
}

StatusOr<std::vector<FileStep>> EditContainerdFiles(const Engine& engine, const EngineFiles& files,
                                                    const Settings& settings,
                                                    std::vector<std::string>& notes) {
  ContainerdInput input;
  if (engine.version) {
    input.version = {static_cast<int>(engine.version->major),
                     static_cast<int>(engine.version->minor)};
  }
  input.main = {engine.config_file, files.main.value_or("")};
  if (HasOnlyDropIn(engine)) {
    input.main = {engine.generated_file, files.generated.value_or("")};
    input.is_main_generated = true;
  }
  input.imported = files.others;
  input.drop_in = {files.drop_in_path, files.drop_in.value_or("")};
  ASSIGN_OR_RETURN(std::vector<FileEdit> edits, EditContainerd(input, settings));
  std::vector<FileStep> steps;
  for (FileEdit& edit : edits) {
    std::ranges::copy(edit.edit.notes, std::back_inserter(notes));
    if (!edit.edit.changes.empty()) {
      steps.push_back(
          StepOf(edit.path, TextNow(engine, files, edit.path), edit.kind, std::move(edit.edit)));
    }
  }
  return steps;
}

// Version 3 files have the images' settings in a plugin of their own.
edit::Key PluginKey(int config_version) {
  if (config_version >= 3) {
    return {"plugins", "io.containerd.cri.v1.images"};
  }
  return {"plugins", config_version == 2 ? "io.containerd.grpc.v1.cri" : "cri"};
}

// The keys of Docker, and of each containerd version that has one.
std::vector<edit::Key> CdiKeys() {
  return {{"features", "cdi"},
          {"plugins", "io.containerd.grpc.v1.cri", "enable_cdi"},
          {"plugins", "io.containerd.cri.v1.runtime", "enable_cdi"}};
}

edit::Key Below(edit::Key key, std::string_view name) {
  key.emplace_back(name);
  return key;
}

edit::Key RegistryKey(int config_version) {
  return Below(PluginKey(config_version), "registry");
}

int ConfigVersion(const edit::Document& document, const Engine& engine) {
  if (const json::value* version = document.Find({"version"}); version && version->is_int64()) {
    return static_cast<int>(version->get_int64());
  }
  const bool is_empty = Trim(document.text()).empty();
  const bool is_new = engine.version && *engine.version >= Version{2, 0};
  return is_empty ? (is_new ? 3 : 2) : 1;
}

// The first folder of `config_path` in one text; empty if it is not set.
StatusOr<std::string> ConfigPath(const edit::Document& document, const Engine& engine) {
  const edit::Key registry = RegistryKey(ConfigVersion(document, engine));
  const json::value* path = document.Find(Below(registry, "config_path"));
  if (path != nullptr && path->is_string() && !path->get_string().empty()) {
    const std::string folders(path->get_string().data(), path->get_string().size());
    return folders.substr(0, folders.find(':'));
  }
  for (const char* old : {"mirrors", "configs"}) {
    if (document.Find(Below(registry, old)) != nullptr) {
      return FailedPrecondition(
          "{}: {} is set, and containerd rejects config_path beside it: first move its settings to "
          "hosts.toml files, or add the registries to it manually",
          document.Where(Below(registry, old)), edit::Dotted(Below(registry, old)));
    }
  }
  return std::string();
}

}  // namespace

edit::Syntax SyntaxOf(const Engine& engine, std::string_view path) {
  if (engine.kind == Kind::kDocker) {
    return edit::Syntax::kJson;
  }
  return engine.is_template && path == engine.config_file ? edit::Syntax::kTomlTemplate
                                                          : edit::Syntax::kToml;
}

bool HasOnlyDropIn(const Engine& engine) {
  return engine.kind == Kind::kContainerd && !engine.generated_file.empty() &&
         !engine.drop_in_folder.empty();
}

std::vector<NamedText> InOrder(const Engine& engine, const EngineFiles& files) {
  std::vector<NamedText> texts = files.others;
  if (engine.distribution == "k0s" && HasOnlyDropIn(engine)) {
    // The generated file is made of these alone, and names no places.
  } else if (HasOnlyDropIn(engine)) {
    texts.insert(texts.begin(), {engine.generated_file, files.generated.value_or("")});
  } else if (engine.kind != Kind::kCrio) {  // its others include the main file
    texts.insert(texts.begin(), {engine.config_file, files.main.value_or("")});
  }
  if (files.drop_in_path.empty()) {
    return texts;
  }
  const auto later = std::ranges::find_if(
      texts, [&](const NamedText& text) { return IsLaterDropIn(text.path, files.drop_in_path); });
  texts.insert(later, {files.drop_in_path, files.drop_in.value_or("")});
  return texts;
}

StatusOr<std::optional<std::string>> ReadIfThere(const sys::Root& host, const std::string& path) {
  // A link to /dev/null reads as an empty file, and would be replaced by one.
  if (const auto found = host.Stat(path); found.ok() && !S_ISREG(found->st_mode)) {
    return FailedPrecondition("{}: not a file or a link to one: remove it, or create a file there",
                              path);
  }
  StatusOr<std::string> text = host.ReadFile(path, kMostConfigBytes);
  if (text.ok()) {
    return std::optional(*std::move(text));
  }
  const auto link = host.LinkStat(path);
  if (text.status().code() == StatusCode::kNotFound && link.ok()) {
    return FailedPrecondition("{}: a dangling link: remove the link, or create the file", path);
  }
  if (text.status().code() == StatusCode::kNotFound) {
    return std::optional<std::string>();
  }
  return text.status();
}

StatusOr<EngineFiles> ReadEngineFiles(const sys::Root& host, const Engine& engine) {
  EngineFiles files;
  files.drop_in_path = DropInPath(host, engine);
  ASSIGN_OR_RETURN(files.main, ReadIfThere(host, engine.config_file));
  if (!files.drop_in_path.empty()) {
    ASSIGN_OR_RETURN(files.drop_in, ReadIfThere(host, files.drop_in_path));
  }
  if (!engine.generated_file.empty()) {
    ASSIGN_OR_RETURN(files.generated, ReadIfThere(host, engine.generated_file));
  }
  ASSIGN_OR_RETURN(files.others, ReadOthers(host, engine, files));
  if (engine.kind == Kind::kCrio) {
    files.others.insert(files.others.begin(), {engine.config_file, files.main.value_or("")});
  }
  return files;
}

void UseLastDropIn(EngineFiles& files) {
  if (files.drop_in) {
    const auto later = std::ranges::find_if(files.others, [&](const NamedText& file) {
      return IsLaterDropIn(file.path, files.drop_in_path);
    });
    files.others.insert(later, {files.drop_in_path, *std::exchange(files.drop_in, std::nullopt)});
  }
  files.drop_in_path = LastOf(files.drop_in_path);
}

StatusOr<std::vector<FileStep>> Edit(const Engine& engine, const EngineFiles& files,
                                     const Settings& settings, std::vector<std::string>& notes) {
  const NamedText main{engine.config_file, files.main.value_or("")};
  const NamedText drop_in{files.drop_in_path, files.drop_in.value_or("")};
  if (engine.kind == Kind::kDocker) {
    ASSIGN_OR_RETURN(TextEdit edit, EditDocker(main, settings));
    return OneStep(main.path, files.main, TextKind::kJson, std::move(edit), notes);
  }
  if (engine.is_template && !HasOnlyDropIn(engine)) {
    const int version = engine.config_file.ends_with("config-v3.toml.tmpl") ? 3 : 2;
    ASSIGN_OR_RETURN(TextEdit edit, EditK3sTemplate(main, version, settings));
    return OneStep(main.path, files.main, TextKind::kTomlTemplate, std::move(edit), notes);
  }
  if (engine.kind == Kind::kContainerd) {
    return EditContainerdFiles(engine, files, settings, notes);
  }
  if (engine.kind == Kind::kCrio) {
    ASSIGN_OR_RETURN(TextEdit edit,
                     EditCrio({.files = files.others, .drop_in = drop_in}, settings));
    return OneStep(drop_in.path, files.drop_in, TextKind::kToml, std::move(edit), notes);
  }
  ASSIGN_OR_RETURN(TextEdit edit, EditPodman(drop_in, settings));
  return OneStep(drop_in.path, files.drop_in, TextKind::kToml, std::move(edit), notes);
}

StatusOr<bool> IsCdiOff(const Engine& engine, const EngineFiles& files) {
  bool is_off = false;
  for (const NamedText& text : InOrder(engine, files)) {  // the last one that sets it counts
    ASSIGN_OR_RETURN(const edit::Document document,
                     edit::Document::Open(text.text, text.path, SyntaxOf(engine, text.path)));
    for (const edit::Key& key : CdiKeys()) {
      if (const json::value* value = document.Find(key); value && value->is_bool()) {
        is_off = !value->get_bool();
      }
    }
  }
  return is_off;
}

StatusOr<std::string> UseRegistryFolder(const Engine& engine, const EngineFiles& files,
                                        std::vector<FileStep>& steps) {
  // The file whose table of images counts: the last import that has one, else the main file.
  NamedText target{engine.config_file, files.main.value_or("")};
  for (const NamedText& other : files.others) {
    ASSIGN_OR_RETURN(const edit::Document document,
                     edit::Document::Open(other.text, other.path, edit::Syntax::kToml));
    if (document.Find(PluginKey(ConfigVersion(document, engine))) != nullptr) {
      target = other;
    }
  }
  // Errors are to name places in the text that is there, not in the edited one.
  ASSIGN_OR_RETURN(const edit::Document now,
                   edit::Document::Open(target.text, target.path, edit::Syntax::kToml));
  ASSIGN_OR_RETURN(std::string folder, ConfigPath(now, engine));
  if (!folder.empty()) {
    return folder;
  }
  const auto step = std::ranges::find(steps, target.path, &FileStep::path);
  const bool is_edited = step != steps.end();
  ASSIGN_OR_RETURN(edit::Document document,
                   edit::Document::Open(is_edited ? step->after.value_or("") : target.text,
                                        target.path, edit::Syntax::kToml));
  const int version = ConfigVersion(document, engine);
  if (Trim(document.text()).empty()) {
    RETURN_IF_ERROR(document.Set({"version"}, version));
  }
  RETURN_IF_ERROR(document.Set(Below(RegistryKey(version), "config_path"),
                               json::string(kRegistryFolder.data(), kRegistryFolder.size())));
  FileStep& edited =
      is_edited ? *step
                : steps.emplace_back(StepOf(target.path, TextNow(engine, files, target.path),
                                            TextKind::kToml, TextEdit{}));
  edited.after = document.text();
  std::ranges::copy(document.changes(), std::back_inserter(edited.changes));
  return std::string(kRegistryFolder);
}

}  // namespace kgpu::engine
