#include "src/container/cri/runtime_facts.h"

#include <boost/json/value.hpp>

#include <compare>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"

namespace kgpu::cri {
namespace {

namespace json = boost::json;

// The first two numbers of "v1.7.24~ds1": absent ones are 0.
struct Release {
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const Release&) const = default;
};

unsigned LeadingNumber(std::string_view& text) {
  unsigned number = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9' && number < 100'000) {
    number = number * 10 + static_cast<unsigned>(text.front() - '0');
    text.remove_prefix(1);
  }
  return number;
}

Release ReleaseOf(std::string_view version) {
  if (version.starts_with('v')) {
    version.remove_prefix(1);
  }
  Release release;
  release.major = LeadingNumber(version);
  if (version.starts_with('.')) {
    version.remove_prefix(1);
    release.minor = LeadingNumber(version);
  }
  return release;
}

const json::value* Find(const json::value* value, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) {
    const json::object* object = value == nullptr ? nullptr : value->if_object();
    value = object == nullptr ? nullptr : object->if_contains({key.data(), key.size()});
  }
  return value;
}

std::string Text(const json::value* value) {
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

bool IsNvidia(std::string_view program) {
  return program.substr(program.rfind('/') + 1).starts_with("nvidia-container-runtime");
}

void JudgeContainerd(const json::value* config, RuntimeFacts& facts) {
  const json::value* containerd = Find(config, {"containerd"});
  facts.default_runtime = Text(Find(containerd, {"defaultRuntimeName"}));
  facts.is_nvidia_default = IsNvidia(
      Text(Find(containerd, {"runtimes", facts.default_runtime, "options", "BinaryName"})));
  if (const json::value* all = Find(containerd, {"runtimes"}); all && all->is_object()) {
    for (const auto& runtime : all->get_object()) {
      facts.runtimes.emplace_back(runtime.key().data(), runtime.key().size());
    }
  }
  if (const json::value* folders = Find(config, {"cdiSpecDirs"}); folders && folders->is_array()) {
    for (const json::value& folder : folders->get_array()) {
      facts.cdi_folders.push_back(Text(&folder));
    }
  }
  const json::value* enabled = Find(config, {"enableCDI"});
  const bool is_said = enabled != nullptr && enabled->is_bool();
  if (is_said) {
    facts.reads_cdi = enabled->get_bool();
    facts.evidence = fmt::format("containerd {}: enable_cdi is {}", facts.version,
                                 facts.reads_cdi ? "on" : "off");
  } else if (ReleaseOf(facts.version) >= Release{2, 0}) {
    facts.reads_cdi = config != nullptr;
    facts.evidence =
        config != nullptr
            ? fmt::format("containerd {}: CDI enabled by default", facts.version)
            : fmt::format("containerd {} does not show its configuration", facts.version);
  } else {
    facts.evidence = fmt::format(
        "containerd {}: its configuration has no enable_cdi (CDI came in 1.7)", facts.version);
  }
}

void JudgeCrio(const json::value* config, RuntimeFacts& facts) {
  facts.default_runtime = Text(Find(config, {"default_runtime"}));
  facts.reads_cdi = ReleaseOf(facts.version) >= Release{1, 23};
  facts.evidence = fmt::format("CRI-O {}: CDI needs 1.23", facts.version);
}

}  // namespace

RuntimeFacts JudgeRuntime(std::string_view name, std::string_view version,
                          std::string_view config) {
  RuntimeFacts facts;
  facts.name = std::string(name);
  facts.version = std::string(version);
  json::value tree;
  const json::value* root = nullptr;
  if (!config.empty()) {
    auto parsed = doc::Parse(config, doc::Format::kJson, "the runtime's configuration");
    if (parsed.ok()) {
      tree = *std::move(parsed);
      root = &tree;
    }
  }
  if (name == "containerd") {
    JudgeContainerd(root, facts);
  } else if (name == "cri-o") {
    JudgeCrio(root, facts);
  } else {
    facts.evidence = fmt::format("{} {}: CDI support is unknown", name, version);
  }
  return facts;
}

}  // namespace kgpu::cri
