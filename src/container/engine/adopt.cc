#include "src/container/engine/adopt.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "src/container/engine/config_parts.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::engine {
namespace {

namespace json = boost::json;
using edit::Document;
using edit::Key;

constexpr std::string_view kNvidiaConfig = "/etc/nvidia-container-runtime/config.toml";
constexpr std::string_view kNvidiaProgram = "nvidia-container-runtime";

// Where an engine's configuration names its runtimes and the default one.
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

// The last program that a file gives the runtime `name`: that one counts.
ForeignRuntime ProgramOf(const std::vector<Document>& documents,
                         const std::vector<NamedText>& files, const std::vector<RuntimeKeys>& keys,
                         const std::string& name) {
  ForeignRuntime found;
  found.name = name;
  for (size_t i = 0; i < documents.size(); ++i) {
    for (const RuntimeKeys& layout : keys) {
      for (const Key& program : layout.programs) {
        Key key = layout.runtimes / name;
        std::ranges::copy(program, std::back_inserter(key));
        if (std::string text = FirstText(documents[i].Find(key)); !text.empty()) {
          found.program = std::move(text);
          found.file = files[i].path;
          found.where = documents[i].Where(key);
        }
      }
    }
  }
  return found;
}

std::string_view FileName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// The default runtime of the last file that sets one. Podman takes a path there, too: that is the
// program itself.
ForeignRuntime DefaultRuntime(const std::vector<Document>& documents,
                              const std::vector<NamedText>& files,
                              const std::vector<RuntimeKeys>& keys) {
  ForeignRuntime found;
  for (size_t i = 0; i < documents.size(); ++i) {
    for (const RuntimeKeys& layout : keys) {
      if (std::string text = FirstText(documents[i].Find(layout.default_name)); !text.empty()) {
        found.name = FileName(text);
        found.program = std::move(text);
        found.file = files[i].path;
        found.where = documents[i].Where(layout.default_name);
      }
    }
  }
  const bool is_path = found.program.find('/') != std::string::npos;
  return is_path ? found : ProgramOf(documents, files, keys, found.name);
}

}  // namespace

bool ForeignRuntime::IsOfNvidia() const {
  return FileName(program).starts_with(kNvidiaProgram);
}

StatusOr<std::optional<ForeignRuntime>> FindForeignRuntime(const Engine& engine,
                                                           const EngineFiles& files,
                                                           const Request& request) {
  std::vector<NamedText> texts = files.others;
  if (engine.kind != Kind::kCrio) {  // its others include the main file
    texts.insert(texts.begin(), {engine.config_file, files.main.value_or("")});
  }
  const auto later = std::ranges::find_if(texts, [&](const NamedText& text) {
    return engine.kind == Kind::kCrio && IsLaterDropIn(text.path, files.drop_in_path);
  });
  texts.insert(later, {files.drop_in_path, files.drop_in.value_or("")});
  std::vector<Document> documents;
  for (const NamedText& text : texts) {
    ASSIGN_OR_RETURN(Document document, Document::Open(text.text, text.path, SyntaxOf(engine)));
    documents.push_back(std::move(document));
  }
  const std::vector<RuntimeKeys> keys = KeysOf(engine.kind);
  ForeignRuntime named = ProgramOf(documents, texts, keys, request.named.name);
  if (!named.program.empty() && named.program != request.named.path &&
      FileName(named.program) != kShimId) {
    return std::optional(std::move(named));
  }
  if (request.set_default) {
    ForeignRuntime usual = DefaultRuntime(documents, texts, keys);
    if (usual.IsOfNvidia()) {
      return std::optional(std::move(usual));
    }
  }
  return std::optional<ForeignRuntime>();
}

StatusOr<bool> NvidiaAcceptsEnv(const sys::Root& host) {
  ASSIGN_OR_RETURN(const std::optional<std::string> text,
                   ReadIfThere(host, std::string(kNvidiaConfig)));
  ASSIGN_OR_RETURN(const Document document,
                   Document::Open(text.value_or(""), kNvidiaConfig, edit::Syntax::kToml));
  const json::value* accepts =
      document.Find({"accept-nvidia-visible-devices-envvar-when-unprivileged"});
  return accepts == nullptr || !accepts->is_bool() || accepts->get_bool();
}

}  // namespace kgpu::engine
