#include "src/container/engine/test_edit_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/platform/base/strings.h"

namespace kgpu::engine {
namespace {

const EditCase kCases[] = {
    {"docker-absent", "rdcx"},
    {"docker-bom-crlf", "rdc"},
    {"docker-braces", "r"},
    {"docker-braces-apart", "c"},
    {"docker-broken-comment"},
    {"docker-broken-hash"},
    {"docker-broken-latin1"},
    {"docker-broken-list"},
    {"docker-broken-no-comma"},
    {"docker-broken-single-quotes"},
    {"docker-broken-top"},
    {"docker-broken-trailing-comma"},
    {"docker-broken-truncated"},
    {"docker-broken-twice"},
    {"docker-broken-utf16"},
    {"docker-blank", "r"},
    {"docker-cdi-off", "c"},
    {"docker-configured", "rdc"},
    {"docker-empty", "rdcx"},
    {"docker-escapes", "rc"},
    {"docker-flush-left", "rd"},
    {"docker-kata-named-nvidia"},
    {"docker-kubeadm", "rc"},
    {"docker-many-keys", "rdcx"},
    {"docker-nvidia-args", "r"},
    {"docker-nvidia-ctk", "rd"},
    {"docker-nvidia-docker2", "rdc"},
    {"docker-nvidia-shim", "rd"},
    {"docker-odd-spacing", "rdc"},
    {"docker-one-line", "rdcx"},
    {"docker-other-runtimes", "rd"},
    {"docker-registries", "x"},
    {"docker-tabs", "rdc"},
    {"containerd-1.6-absent", "rdc"},
    {"containerd-1.6-comments", "r"},
    {"containerd-1.6-default-config", "rd"},
    {"containerd-1.6-empty", "r"},
    {"containerd-1.6-v1", "rd"},
    {"containerd-1.6-v1-old-default"},
    {"containerd-1.7-absent", "c"},
    {"containerd-1.7-bom", "rc"},
    {"containerd-1.7-configured", "rdc"},
    {"containerd-1.7-crlf", "rdc"},
    {"containerd-1.7-crun-default", "rcx"},
    {"containerd-1.7-docker-package", "rc"},
    {"containerd-1.7-dotted", "rdc"},
    {"containerd-1.7-drop-in-of-2.1"},
    {"containerd-1.7-eks-like", "rdc"},
    {"containerd-1.7-gke-like", "rc"},
    {"containerd-1.7-imports", "rc"},
    {"containerd-1.7-inline", "rdc"},
    {"containerd-1.7-kata-default", "rd"},
    {"containerd-1.7-kind", "rdcx"},
    {"containerd-1.7-kubeadm", "rd"},
    {"containerd-1.7-no-last-line-end", "rdc"},
    {"containerd-1.7-no-runtimes", "rd"},
    {"containerd-1.7-no-version"},
    {"containerd-1.7-nvidia-ctk", "rdc"},
    {"containerd-1.7-odd-indentation", "rdc"},
    {"containerd-1.7-out-of-order", "rdc"},
    {"containerd-1.7-unknown-keys", "rdcx"},
    {"containerd-2.0-v1"},
    {"containerd-2.0-v3", "rdc"},
    {"containerd-2.1-absent", "rdcx"},
    {"containerd-2.1-docker-package", "r"},
    {"containerd-2.1-cdi-is-on", "c"},
    {"containerd-2.1-drop-in-exists", "rdc"},
    {"containerd-2.1-drop-in-of-other-version"},
    {"containerd-2.1-import-covers", "rd"},
    {"containerd-2.1-import-relative", "r"},
    {"containerd-2.1-imports-in-lines", "rd"},
    {"containerd-2.1-nvidia-later", "rd"},
    {"containerd-2.1-v2", "r"},
    {"containerd-2.1-v3", "rdcx"},
    {"containerd-2.4-v4", "r"},
    {"containerd-broken-header"},
    {"containerd-broken-json"},
    {"containerd-broken-key-twice"},
    {"containerd-broken-list-of-tables"},
    {"containerd-broken-runtimes"},
    {"containerd-broken-string"},
    {"containerd-broken-twice"},
    {"containerd-broken-version-9"},
    {"k3s-v2-absent", "rc"},
    {"k3s-v2-own-template", "rd"},
    {"k3s-v3-base", "r"},
    {"k3s-v3-default", "rd"},
    {"crio-absent", "rdcx"},
    {"crio-nvidia-later"},
    {"crio-package-drop-in", "rd"},
    {"crio-runc-default", "rx"},
    {"podman-absent", "rd"},
    {"podman-cdi", "c"},
    {"podman-exists", "rd"},
};

Settings RequestOf(const EditCase& c) {
  const auto has = [&c](char letter) { return c.settings.find(letter) != std::string_view::npos; };
  Settings settings;
  settings.set_default = has('d');
  if (has('r')) {
    settings.runtime = NamedRuntime();
  }
  if (has('c')) {
    settings.cdi = true;
  }
  const bool is_docker = c.name.starts_with("docker");
  if (has('x') && is_docker) {
    settings.insecure_registries = {"10.0.0.5:5000", "registry.lab:5000"};
    settings.registry_mirrors = {"https://mirror.example"};
  } else if (has('x')) {
    settings.cdi_spec_dirs = {"/etc/cdi", "/opt/cdi"};
    settings.container_annotations = {"kgpu.dev/*"};
  }
  return settings;
}

std::string EngineOf(const EditCase& c) {
  return c.name.substr(0, c.name.find('-'));
}

std::string Base(const EditCase& c) {
  const std::string engine = EngineOf(c);
  return engine == "podman" ? "/etc/containers/" : fmt::format("/etc/{}/", engine);
}

StatusOr<std::vector<FileEdit>> One(std::string path, TextKind kind, StatusOr<TextEdit> edit) {
  if (!edit.ok()) {
    return edit.status();
  }
  return std::vector<FileEdit>{{.path = std::move(path), .kind = kind, .edit = *std::move(edit)}};
}

// All other files of the folder, which an engine reads in this order.
std::vector<NamedText> Others(const EditCase& c, const Texts& texts,
                              const std::vector<std::string>& without) {
  std::vector<NamedText> others;
  for (const auto& [path, text] : texts) {
    if (std::ranges::find(without, path) == without.end()) {
      others.push_back({.path = Base(c) + path, .text = text});
    }
  }
  return others;
}

StatusOr<std::vector<FileEdit>> EditContainerdCase(const EditCase& c, const Texts& texts) {
  const std::string drop_in = "conf.d/99-kgpu.toml";
  ContainerdInput input;
  const std::vector<std::string_view> words = Split(c.name, '-');
  const std::vector<std::string_view> numbers = Split(words[1], '.');
  const bool is_broken = numbers.size() != 2;
  input.version.major = is_broken ? 1 : static_cast<int>(ParseUint(numbers[0]).value_or(0));
  input.version.minor = is_broken ? 7 : static_cast<int>(ParseUint(numbers[1]).value_or(0));
  input.main.text = TextAt(texts, "config.toml");
  input.drop_in.text = TextAt(texts, drop_in);
  input.imported = Others(c, texts, {"config.toml", drop_in});
  return EditContainerd(input, RequestOf(c));
}

}  // namespace

void PrintTo(const EditCase& c, std::ostream* out) {
  *out << c.name;
}

std::vector<EditCase> EditCases() {
  return {std::begin(kCases), std::end(kCases)};
}

Texts ReadInputs(const EditCase& c) {
  const auto folder = std::filesystem::path(KGPU_SOURCE_DIR) / kEditsFolder / c.name / "in";
  Texts texts;
  if (!std::filesystem::exists(folder)) {
    return texts;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      std::ifstream in(entry.path(), std::ios::binary);
      texts[entry.path().lexically_relative(folder).string()] = {std::istreambuf_iterator<char>(in),
                                                                 std::istreambuf_iterator<char>()};
    }
  }
  return texts;
}

std::string TextAt(const Texts& texts, const std::string& path) {
  const auto found = texts.find(path);
  return found == texts.end() ? std::string() : found->second;
}

StatusOr<std::vector<FileEdit>> Edit(const EditCase& c, const Texts& texts) {
  const std::string engine = EngineOf(c);
  const Settings settings = RequestOf(c);
  const std::string base = Base(c);
  if (engine == "docker") {
    const NamedText file = {.path = base + "daemon.json", .text = TextAt(texts, "daemon.json")};
    return One(file.path, TextKind::kJson, EditDocker(file, settings));
  }
  if (engine == "containerd") {
    return EditContainerdCase(c, texts);
  }
  if (engine == "k3s") {
    const bool is_v3 = c.name.starts_with("k3s-v3");
    const std::string name = is_v3 ? "config-v3.toml.tmpl" : "config.toml.tmpl";
    const NamedText file = {.path = base + name, .text = TextAt(texts, name)};
    return One(file.path, TextKind::kTomlTemplate, EditK3sTemplate(file, is_v3 ? 3 : 2, settings));
  }
  if (engine == "crio") {
    const std::string name = "crio.conf.d/99-kgpu.conf";
    CrioInput input;
    input.drop_in.text = TextAt(texts, name);
    input.files = Others(c, texts, {name});
    return One(input.drop_in.path, TextKind::kToml, EditCrio(input, settings));
  }
  const std::string name = "containers.conf.d/99-kgpu.conf";
  const NamedText file = {.path = base + name, .text = TextAt(texts, name)};
  return One(file.path, TextKind::kToml, EditPodman(file, settings));
}

std::string Relative(const EditCase& c, const std::string& path) {
  EXPECT_TRUE(path.starts_with(Base(c))) << path;
  return path.substr(Base(c).size());
}

}  // namespace kgpu::engine
