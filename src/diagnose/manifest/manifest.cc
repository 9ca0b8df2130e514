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

// One document is mended so often at most: each mend ends a finding, and brings none. It also reads
// the document anew, so that of a large one only so many bytes are read altogether.
constexpr size_t kMostMends = 300;
constexpr size_t kMostBytesRead = size_t{16} << 20;
constexpr size_t kWalkDepth = 64;

constexpr std::array<RuleEntry, 15> kRules = {{
    {"api-gone", "An API version that the cluster does not serve", true},
    {"resource-key-gone", "`alpha.kubernetes.io/nvidia-gpu`", true},
    {"gpu-fraction", "A GPU count that is not whole", false},
    {"gpu-request-without-limit", "A request for GPUs without the limit", true},
    {"gpu-request-differs", "A request for GPUs that is not the limit", true},
    {"host-driver-mount",
     "Files or nodes of the driver mounted from the host (left to a person where no GPU is asked "
     "for)",
     true},
    {"visible-devices-set", "`NVIDIA_VISIBLE_DEVICES` (left to a person where no GPU is asked for)",
     true},
    {"gpu-privileged", "A privileged container that asks for GPUs", false},
    {"runtime-class-without-gpu", "`runtimeClassName: nvidia` without a GPU asked for", false},
    {"node-label-gone", "Labels of nodes that are gone (`accelerator` is left to a person)", true},
    {"taint-gone", "Taints that are gone", true},
    {"annotation-gone",
     "Annotations that nothing reads (left to a person where they say more than yes)", true},
    {"feature-gate-gone", "Feature gates that components no longer know", true},
    {"kubelet-flag-gone", "Flags that the kubelet no longer knows", true},
    {"merge-key", "A merge key of YAML: what it brings is not looked at", false},
}};

class Walker {
 public:
  explicit Walker(const KubernetesVersion& target) : target_(target) {}

  Findings Walk(const json::value& root) {
    Object(root, Path(), 0);
    std::ranges::for_each(findings_, [this](Finding& finding) { HoldBack(finding); });
    return std::move(findings_);
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
    CheckApi(object, at, target_, findings_);
    CheckKubeletConfig(object, at, target_, findings_);
    CheckCounts(object, at, findings_);
    kind_ = kind;
    space_ = TextOf(FieldOf(&object, "metadata"), "namespace");
    Value(object, at, depth);
  }

  // Pods stand at many places, in objects of any kind: what has containers is one's spec.
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
    CheckMergeKey(value, at, findings_);
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
    CheckAnnotations(*metadata, at.Key("metadata"), is_pod ? &pod : nullptr, findings_);
  }

  void Pod(const PodSpec& pod) {
    CheckResources(pod, findings_);
    CheckDriverMounts(pod, findings_);
    CheckAccounting(pod, findings_);
    CheckPlacement(pod, target_, findings_);
    CheckArguments(pod, target_, findings_);
  }

  // What takes the place of the old has to be there.
  void HoldBack(Finding& finding) const {
    const auto gone_by = KubernetesVersion::Parse(finding.gone_by);
    if (gone_by.ok() && target_ < *gone_by && finding.severity == Severity::kError) {
      finding.severity = Severity::kWarning;
    }
    const KubernetesVersion from =
        finding.mend_from.value_or(gone_by.ok() ? *gone_by : KubernetesVersion());
    if (target_ < from && !finding.fix.empty()) {
      finding.fix.clear();
      finding.mend += fmt::format("; from Kubernetes {} on", from.str());
    }
  }

  KubernetesVersion target_;
  std::string_view kind_;
  std::string_view space_;
  Findings findings_;
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

// Of the key of a field, since that is what is named; of an item itself.
doc::Position PositionOf(const doc::Located& located, const Path& path) {
  const doc::Place* place = FindPlace(located, path);
  if (place == nullptr || path.empty()) {
    return {};
  }
  return path.last().is_index ? place->value : place->key;
}

std::vector<FoundFinding> Locate(Findings findings, const doc::Located& located,
                                 const Document& document) {
  std::vector<FoundFinding> found;
  found.reserve(findings.size());
  for (Finding& finding : findings) {
    FoundFinding entry;
    entry.document = document.number;
    entry.position = PositionOf(located, finding.path);
    entry.position.line += document.lines_before;
    entry.object = ObjectAt(located.root, finding.path);
    entry.finding = std::move(finding);
    found.push_back(std::move(entry));
  }
  return found;
}

// Applies what can be mended: words at once, then one finding at a time, for a mend may move what
// others speak of.
Findings MendAll(Draft& draft, const KubernetesVersion& target) {
  (void)draft.ApplyWords(WordChanges(Walker(target).Walk(draft.located().root), draft.located()));
  const size_t most = std::clamp(kMostBytesRead / (draft.text().size() + 1), size_t{1}, kMostMends);
  for (size_t i = 0; i < most; ++i) {
    Findings findings = Walker(target).Walk(draft.located().root);
    bool is_changed = false;
    for (const Finding& finding : findings) {
      for (const Change& change : finding.fix) {
        is_changed = draft.Apply(change) || is_changed;
      }
      if (is_changed) {
        break;
      }
    }
    if (!is_changed) {
      return findings;
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
  return MakeStatus(
      status.code(),
      fmt::format("{}{}", Message(again.ok() ? status : again),
                  is_template ? "; a chart's template is no manifest: helm template CHART | kgpu "
                                "doctor manifest -"
                              : ""));
}

Status CheckDocument(const Document& document, const KubernetesVersion& target, Report& report) {
  auto draft = Draft::Parse(std::string(document.text), report.file);
  if (!draft.ok()) {
    return WithLinesOfFile(document, report.file, draft.status());
  }
  std::ranges::move(Locate(Walker(target).Walk(draft->located().root), draft->located(), document),
                    std::back_inserter(report.findings));
  std::ranges::move(Locate(MendAll(*draft, target), draft->located(), document),
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

std::string_view ToString(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      break;
  }
  return "error";
}

StatusOr<Report> CheckManifest(std::string_view text, const std::string& file,
                               const KubernetesVersion& target) {
  if (text.size() > kFileLimit) {
    return InvalidArgument("{}: {} bytes are more than the {} that are read", file, text.size(),
                           kFileLimit);
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

std::span<const RuleEntry> AllRules() {
  return kRules;
}

}  // namespace kgpu::manifest
