#include "src/container/engine/runtimes.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "src/container/engine/config_parts.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::engine {
namespace {

namespace json = boost::json;
using edit::Document;
using edit::Key;

constexpr std::string_view kNvidiaProgram = "nvidia-container-runtime";

// The keys under which an engine's configuration names its runtimes and the default one.
struct RuntimeKeys {
  Key runtimes;
  std::vector<Key> programs;  // below a runtime's own key: an empty one is that itself
  Key default_name;
};

std::vector<RuntimeKeys> KeysOf(Kind kind) {
  switch (kind) {
    case Kind::kDocker:
      return {{{"runtimes"}, {{"path"}, {"options", "BinaryName"}}, {"default-runtime"}}};
    case Kind::kCrio:
      return {{{"crio", "runtime", "runtimes"},
               {{"runtime_path"}},
               {"crio", "runtime", "default_runtime"}}};
    case Kind::kPodman:
      return {{{"engine", "runtimes"}, {{}}, {"engine", "runtime"}}};
    case Kind::kContainerd:
      break;
  }
  std::vector<RuntimeKeys> keys;
  for (const char* plugin : {"cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"}) {
    const Key containerd = {"plugins", plugin, "containerd"};
    keys.push_back({containerd / "runtimes",
                    {{"options", "BinaryName"}},
                    containerd / "default_runtime_name"});
  }
  return keys;
}

// A text, or the first of a list of texts.
std::string FirstText(const json::value* value) {
  if (value != nullptr && value->is_string()) {
    return std::string(value->get_string());
  }
  const std::vector<std::string> texts = doc::TextsOf(value);
  return texts.empty() ? "" : texts.front();
}

std::string_view FileName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Of those that keep to runc's command line and isolate as runc does.
bool IsLikeRunc(std::string_view program) {
  const std::string_view name = FileName(program);
  return name.starts_with("runc") || name.starts_with("crun") || name.starts_with("youki");
}

// The runtimes that an engine uses without any configuration. CRI-O's is crun since 1.31.
std::vector<std::string> UsualRuntimes(const Engine& engine) {
  const bool is_crun = engine.kind == Kind::kPodman ||
                       (engine.kind == Kind::kCrio && engine.version >= Version{1, 31, 0});
  if (is_crun) {
    return {"crun", "runc"};
  }
  return {"runc", "crun"};
}

}  // namespace

bool ConfiguredRuntime::IsOfNvidia() const {
  return FileName(program).starts_with(kNvidiaProgram);
}

bool ConfiguredRuntime::IsOurs() const {
  return FileName(program) == kShimId;
}

StatusOr<RuntimeTables> RuntimeTables::Read(const Engine& engine, const EngineFiles& files,
                                            std::vector<DaemonFlag> flags) {
  RuntimeTables tables(engine.kind, std::move(flags));
  tables.texts_ = InOrder(engine, files);
  for (const NamedText& text : tables.texts_) {
    ASSIGN_OR_RETURN(Document document,
                     Document::Open(text.text, text.path, SyntaxOf(engine, text.path)));
    tables.documents_.push_back(std::move(document));
  }
  return tables;
}

// Docker's "--add-runtime NAME=PROGRAM", which the file's entry of that name overrides; CRI-O's
// "--runtimes NAME:PROGRAM:…", which overrides the files.
ConfiguredRuntime RuntimeTables::FindFlag(const std::string& name) const {
  ConfiguredRuntime found;
  found.name = name;
  const char sign = kind_ == Kind::kDocker ? '=' : ':';
  for (const DaemonFlag& flag : Named(flags_, {"--add-runtime", "--runtimes"})) {
    const std::vector<std::string_view> parts = Split(flag.value, sign);
    if (parts.size() > 1 && parts[0] == name) {
      found.program = parts[1];
      found.file = flag.where;
      found.where = flag.where;
    }
  }
  return found;
}

ConfiguredRuntime RuntimeTables::Find(const std::string& name) const {
  ConfiguredRuntime found = FindFlag(name);
  if (kind_ == Kind::kCrio && !found.program.empty()) {
    return found;
  }
  const std::vector<RuntimeKeys> keys = KeysOf(kind_);
  for (size_t i = 0; i < documents_.size(); ++i) {
    for (const RuntimeKeys& layout : keys) {
      for (const Key& program : layout.programs) {
        Key key = layout.runtimes / name;
        std::ranges::copy(program, std::back_inserter(key));
        if (std::string text = FirstText(documents_[i].Find(key)); !text.empty()) {
          found.program = std::move(text);
          found.file = texts_[i].path;
          found.where = documents_[i].Where(key);
        }
      }
    }
  }
  return found;
}

ConfiguredRuntime RuntimeTables::FindDefault() const {
  ConfiguredRuntime found;
  const std::vector<RuntimeKeys> keys = KeysOf(kind_);
  for (size_t i = 0; i < documents_.size(); ++i) {
    for (const RuntimeKeys& layout : keys) {
      if (std::string text = FirstText(documents_[i].Find(layout.default_name)); !text.empty()) {
        found.name = FileName(text);
        found.program = std::move(text);
        found.file = texts_[i].path;
        found.where = documents_[i].Where(layout.default_name);
      }
    }
  }
  for (const DaemonFlag& flag : Named(flags_, {"--default-runtime"})) {
    found = {.name = flag.value, .program = {}, .file = flag.where, .where = flag.where};
  }
  const bool is_path = found.program.find('/') != std::string::npos;
  if (is_path || found.name.empty()) {
    return found;
  }
  const ConfiguredRuntime named = Find(found.name);
  found.program.clear();  // it was the name
  return named.program.empty() ? found : named;
}

// The last one that the files have.
const json::value* RuntimeTables::FindTable(const std::string& name) const {
  const json::value* table = nullptr;
  for (const Document& document : documents_) {
    for (const RuntimeKeys& layout : KeysOf(kind_)) {
      const json::value* found = document.Find(layout.runtimes / name);
      table = found != nullptr ? found : table;
    }
  }
  return table;
}

bool RuntimeTables::Has(const std::string& name) const {
  return FindTable(name) != nullptr || !FindFlag(name).program.empty();
}

std::string RuntimeTables::FindShim(const std::string& name) const {
  const json::value* table = FindTable(name);
  const json::object* fields = table == nullptr ? nullptr : table->if_object();
  if (fields != nullptr && kind_ != Kind::kPodman && kind_ != Kind::kCrio) {
    for (const char* key : {"runtime_path", "runtimeType", "runtime_type"}) {
      if (std::string text = FirstText(fields->if_contains(key)); !text.empty()) {
        return text;
      }
    }
  }
  return {};
}

namespace {

// Runtimes that an engine has without any table of them.
bool IsBuiltIn(Kind kind, std::string_view name) {
  switch (kind) {
    case Kind::kDocker:
      return name == "runc" || name.starts_with("io.containerd.") || name.starts_with('/');
    case Kind::kContainerd:
      return name == "runc";
    case Kind::kCrio:
      return name == "runc" || name == "crun";
    case Kind::kPodman:
      break;
  }
  return true;
}

// The program that starts containers of a runtime that names none: its shim, or a program of its
// own name; empty: unknown. Source: containerd, pkg/shim, BinaryName: "io.containerd.kata.v2" is
// containerd-shim-kata-v2.
std::string ProgramWithout(const Engine& engine, const RuntimeTables& tables,
                           const std::string& name) {
  if (engine.kind == Kind::kCrio || (engine.kind == Kind::kPodman && IsLikeRunc(name))) {
    return name;
  }
  if (engine.kind == Kind::kPodman) {
    return {};  // it knows several programs for some names
  }
  std::string shim = tables.FindShim(name);
  if (shim.empty() && engine.kind == Kind::kDocker && name.find('.') != std::string::npos) {
    shim = name;
  }
  if (shim.starts_with('/')) {
    return shim;
  }
  const std::vector<std::string_view> parts = Split(shim, '.');
  if (parts.size() != 4 || !parts[3].starts_with('v')) {
    return {};  // "io.containerd.runtime.v1.linux", of old
  }
  // The engine brings this shim along, which starts runc.
  return parts[2] == "runc" ? "runc" : fmt::format("containerd-shim-{}-{}", parts[2], parts[3]);
}

}  // namespace

std::optional<std::string> ExplainMissingDefault(const sys::Root& host, const Engine& engine,
                                                 const RuntimeTables& tables) {
  const ConfiguredRuntime usual = tables.FindDefault();
  // The files that are read do not have the tables that a distribution adds to its own one.
  const bool is_all_known = engine.distribution.empty();
  if (usual.program.empty() && !usual.name.empty() && is_all_known && !tables.Has(usual.name) &&
      !IsBuiltIn(engine.kind, usual.name)) {
    return fmt::format(
        "{}: the default runtime {} is not defined: {}", usual.where, usual.name,
        engine.kind == Kind::kContainerd ? "no container starts" : "the engine does not start");
  }
  std::string program = usual.program;
  if (program.empty() && !usual.name.empty()) {
    program = ProgramWithout(engine, tables, usual.name);
  }
  if (program.empty() || !FindForEngine(host, engine, program).empty()) {
    return std::nullopt;
  }
  return fmt::format("{}: the default runtime {} is {}, which does not exist: no container starts",
                     usual.where, usual.name, Printable(program));
}

RealRuntime FindRealRuntime(const sys::Root& host, const Engine& engine,
                            const RuntimeTables& tables) {
  RealRuntime real;
  const auto want = [&real](const std::string& program) {
    const bool is_new = std::ranges::find(real.wanted, program) == real.wanted.end();
    if (is_new && IsLikeRunc(program)) {
      real.wanted.push_back(program);
    }
  };
  const ConfiguredRuntime usual = tables.FindDefault();
  want(usual.program);
  if (usual.program.empty()) {
    want(usual.name);
  }
  for (const std::string& name : UsualRuntimes(engine)) {
    want(tables.Find(name).program);
    want(name);
  }
  for (const std::string& program : real.wanted) {
    real.path = FindForEngine(host, engine, program);
    if (!real.path.empty()) {
      break;
    }
  }
  return real;
}

}  // namespace kgpu::engine
