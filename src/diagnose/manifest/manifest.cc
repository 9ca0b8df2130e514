#include "src/diagnose/manifest/manifest.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/diagnose/manifest/documents.h"
#include "src/diagnose/manifest/draft.h"
#include "src/diagnose/manifest/rules.h"
#include "src/diagnose/manifest/words.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

// One document is fixed so often at most: each fix ends a finding, and brings none. It also reads
// the document again, so that of a large one only so many bytes are read altogether.
constexpr size_t kMostFixes = 300;
constexpr size_t kMostBytesRead = size_t{16} << 20;
constexpr size_t kWalkDepth = 64;

constexpr std::array<report::Kind, 19> kRules = {{
    {"api-gone", Severity::kError, "An API version that the cluster does not serve", "yes"},
    {"resource-key-gone", Severity::kError, "`alpha.kubernetes.io/nvidia-gpu`", "yes"},
    {"gpu-fraction", Severity::kError, "A GPU count that is not an integer", "no"},
    {"gpu-request-without-limit", Severity::kError, "A request for GPUs without the limit", "yes"},
    {"gpu-request-differs", Severity::kError, "A GPU request that differs from the limit", "yes"},
    {"host-driver-mount", Severity::kWarning,
     "Driver files or device nodes mounted from the host (needs a manual fix if no GPU is "
     "requested)",
     "yes"},
    {"visible-devices-set", Severity::kWarning,
     "`NVIDIA_VISIBLE_DEVICES` (needs a manual fix if no GPU is requested)", "yes"},
    {"gpu-privileged", Severity::kWarning, "A privileged container that requests GPUs", "no"},
    {"runtime-class-without-gpu", Severity::kWarning,
     "`runtimeClassName: nvidia` without a GPU request", "no"},
    {"node-label-gone", Severity::kError, "Removed node labels (`accelerator` needs a manual fix)",
     "yes"},
    {"taint-gone", Severity::kError, "Removed taints", "yes"},
    {"annotation-gone", Severity::kWarning,
     "Annotations that nothing reads (needs a manual fix unless the value is a plain yes)", "yes"},
    {"feature-gate-gone", Severity::kError, "Removed feature gates", "yes"},
    {"kubelet-flag-gone", Severity::kError, "Removed kubelet flags", "yes"},
    {"image-gone", Severity::kError, "A CUDA image that Docker Hub no longer has", "no"},
    {"image-outdated", Severity::kWarning,
     "NVIDIA's device plugin of 2020 or earlier: `1.0.0-beta…`, `1.8` to `1.12`", "no"},
    {"driver-installer", Severity::kInfo,
     "GKE's or NVIDIA's installer of the driver: who installs it, and where", "no"},
    {"nfd-operator", Severity::kWarning,
     "A `NodeFeatureDiscovery`, which only the operator of NFD reads", "no"},
    {"merge-key", Severity::kInfo, "A YAML merge key, whose fields are not checked", "no"},
}};

class Walker {
 public:
  explicit Walker(const KubernetesVersion& target) : target_(target) {}

  Matches Walk(const json::value& root) {
    Object(root, Path(), 0);
    std::ranges::for_each(matches_, [this](Match& match) { HoldBack(match); });
    return std::move(matches_);
  }

 private:
  // An object of Kubernetes, or a list of them.
  void Object(const json::value& object, const Path& at, size_t depth) {
    const std::string_view kind = TextOf(&object, "kind");
    const json::value* items = FieldOf(&object, "items");
    if (kind.ends_with("List") && items != nullptr && items->is_array() && depth < kWalkDepth) {
      for (size_t i = 0; i < items->get_array().size(); ++i) {
        Object(items->get_array()[i], at.Key("items").Index(i), depth + 1);
      }
      return;
    }
    CheckApi(object, at, target_, matches_);
    CheckOperators(object, at, matches_);
    CheckKubeletConfig(object, at, target_, matches_);
    CheckCounts(object, at, matches_);
    kind_ = kind;
    space_ = TextOf(FieldOf(&object, "metadata"), "namespace");
    Value(object, at, depth);
  }

  // Pods occur in many places, in objects of any kind: a value with containers is a pod's spec.
  void Value(const json::value& value, const Path& at, size_t depth) {
    if (depth >= kWalkDepth) {
      return;
    }
    if (const json::array* list = value.if_array()) {
      for (size_t i = 0; i < list->size(); ++i) {
        Value((*list)[i], at.Index(i), depth + 1);
      }
      return;
    }
    const json::object* fields = value.if_object();
    if (fields == nullptr) {
      return;
    }
    Metadata(value, at);
    CheckMergeKey(value, at, matches_);
    for (const auto& field : *fields) {
      const std::string_view key(field.key().data(), field.key().size());
      if (key == "spec" && IsPod(field.value())) {
        Pod({&field.value(), at.Key(key), kind_, space_});
      } else if (key == "container" && FieldOf(&field.value(), "image") != nullptr) {
        Pod({&value, at, kind_, space_});  // a workflow's step
      }
      Value(field.value(), at.Key(key), depth + 1);
    }
  }

  static bool IsPod(const json::value& value) {
    const json::value* containers = FieldOf(&value, "containers");
    return containers != nullptr && containers->is_array();
  }

  void Metadata(const json::value& value, const Path& at) {
    const json::value* metadata = FieldOf(&value, "metadata");
    if (metadata == nullptr) {
      return;
    }
    const json::value* spec = FieldOf(&value, "spec");
    const PodSpec pod{spec, at.Key("spec"), kind_, space_};
    const bool is_pod = spec != nullptr && IsPod(*spec);
    CheckAnnotations(*metadata, at.Key("metadata"), is_pod ? &pod : nullptr, matches_);
  }

  void Pod(const PodSpec& pod) {
    CheckImages(pod, matches_);
    CheckResources(pod, matches_);
    CheckDriverMounts(pod, matches_);
    CheckAccounting(pod, matches_);
    CheckPlacement(pod, target_, matches_);
    CheckArguments(pod, target_, matches_);
  }

  // No error yet if the target version still has the old form.
  void HoldBack(Match& match) const {
    const auto gone_by = KubernetesVersion::Parse(match.gone_by);
    if (gone_by.ok() && target_ < *gone_by && match.finding.severity == Severity::kError) {
      match.finding.severity = Severity::kWarning;
    }
    const KubernetesVersion from =
        match.works_from.value_or(gone_by.ok() ? *gone_by : KubernetesVersion());
    if (target_ < from && !match.changes.empty()) {
      match.changes.clear();
      match.advice += fmt::format("; from Kubernetes {} on", from.str());
    }
  }

  KubernetesVersion target_;
  std::string_view kind_;
  std::string_view space_;
  Matches matches_;
};

std::string ObjectAt(const json::value& root, const Path& path) {
  const json::value* object = &root;
  if (path.steps().size() > 2 && path.steps()[0].key == "items" && path.steps()[1].is_index) {
    object = Find(root, Path().Key("items").Index(path.steps()[1].index));
  }
  const std::string name =
      fmt::format("{} {}", TextOf(object, "kind"), TextOf(FieldOf(object, "metadata"), "name"));
  return Printable(Trim(name), 120);
}

// The position of a field's key, since that is named, or of a list item itself.
doc::Position PositionOf(const doc::Located& located, const Path& path) {
  const doc::Place* place = FindPlace(located, path);
  if (place == nullptr || path.empty()) {
    return {};
  }
  return path.last().is_index ? place->value : place->key;
}

std::string ChangeText(const Change& change) {
  switch (change.kind) {
    case Change::Kind::kSet:
      return fmt::format("set {} to {}", change.path.str(), Shown(change.value));
    case Change::Kind::kRename:
      return fmt::format("rename {} to {}", change.path.str(), change.key);
    case Change::Kind::kRemove:
      break;
  }
  return fmt::format("remove {}", change.path.str());
}

// Adds the place and the fix to the finding of a match.
void Notify(const std::string& file, Match& match) {
  report::Finding& finding = match.finding;
  finding.subject = fmt::format("{}:{}:{}", file, match.position.line, match.position.column);
  finding.evidence = {fmt::format("{}: {}: {}", match.object, match.path.str(), match.value)};
  if (!match.gone_by.empty()) {
    finding.evidence.push_back(fmt::format("removed in {}", match.gone_by));
  }
  finding.fix.commands = {
      fmt::format("# {}{}", match.changes.empty() ? "manual fix: " : "", match.advice)};
  if (!match.changes.empty()) {
    report::FileEdit& edit = finding.fix.edits.emplace_back(report::FileEdit{.path = file});
    std::ranges::transform(match.changes, std::back_inserter(edit.changes), ChangeText);
  }
}

Matches Locate(Matches matches, const doc::Located& located, const Document& document,
               const std::string& file) {
  for (Match& match : matches) {
    match.document = document.number;
    match.position = PositionOf(located, match.path);
    match.position.line += document.lines_before;
    match.object = ObjectAt(located.root, match.path);
    Notify(file, match);
  }
  return matches;
}

// Applies what can be fixed: words at once, then one finding at a time, for a fix may move what
// others speak of.
Matches FixAll(Draft& draft, const KubernetesVersion& target) {
  (void)draft.ApplyWords(WordChanges(Walker(target).Walk(draft.located().root), draft.located()));
  const size_t most = std::clamp(kMostBytesRead / (draft.text().size() + 1), size_t{1}, kMostFixes);
  for (size_t i = 0; i < most; ++i) {
    Matches matches = Walker(target).Walk(draft.located().root);
    bool is_changed = false;
    for (const Match& match : matches) {
      for (const Change& change : match.changes) {
        is_changed = draft.Apply(change) || is_changed;
      }
      if (is_changed) {
        break;
      }
    }
    if (!is_changed) {
      return matches;
    }
  }
  return Walker(target).Walk(draft.located().root);
}

// The same error, its place counted from the top of the file.
Status WithLinesOfFile(const Document& document, const std::string& file, const Status& status) {
  const std::string whole =
      fmt::format("{}{}", std::string(document.lines_before, '\n'), document.text);
  const Status again = Draft::Parse(whole, file).status();
  const bool is_template = document.text.find("{{") != std::string_view::npos;
  return MakeStatus(status.code(),
                    fmt::format("{}{}", Message(again.ok() ? status : again),
                                is_template ? "; a chart's template is not a manifest: helm "
                                              "template CHART | kgpu doctor manifest -"
                                            : ""));
}

Status CheckDocument(const Document& document, const KubernetesVersion& target, Report& report) {
  auto draft = Draft::Parse(std::string(document.text), report.file);
  if (!draft.ok()) {
    return WithLinesOfFile(document, report.file, draft.status());
  }
  std::ranges::move(
      Locate(Walker(target).Walk(draft->located().root), draft->located(), document, report.file),
      std::back_inserter(report.findings));
  std::ranges::move(Locate(FixAll(*draft, target), draft->located(), document, report.file),
                    std::back_inserter(report.left));
  if (draft->is_reprinted()) {
    report.reprinted.push_back(document.number);
    // "--- {a: b}": what begins the document went with its text.
    report.modern += document.text.starts_with("---") ? "---\n" : "";
  }
  report.modern += draft->text();
  return OkStatus();
}

}  // namespace

StatusOr<Report> CheckManifest(std::string_view text, const std::string& file,
                               const KubernetesVersion& target) {
  if (text.size() > kFileLimit) {
    return InvalidArgument("{}: {} bytes exceed the limit of {}", file, text.size(), kFileLimit);
  }
  Report report;
  report.file = file;
  for (const Document& document : SplitDocuments(text)) {
    report.modern += document.before;
    if (document.number == 0) {
      report.modern += document.text;
      continue;
    }
    if (document.number > kDocumentLimit) {
      return InvalidArgument("{}: more than {} documents", file, kDocumentLimit);
    }
    ++report.documents;
    RETURN_IF_ERROR(CheckDocument(document, target, report));
  }
  return report;
}

std::span<const report::Kind> AllRules() {
  return kRules;
}

}  // namespace kgpu::manifest
